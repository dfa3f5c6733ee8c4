package idle

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// divided makes run divide idle time by why, and the reference likewise.
var divided bool

// hostRows makes rows about the host threads 1 to 3: calls of the system, runs that do
// not overlap, and overheads. Of thread 3 nobody knows when it runs.
func hostRows(rng *rand.Rand) []eventtest.Row {
	var rows []eventtest.Row
	add := func(kind event.Kind, thread, start, length int64, name string, class event.Class, cpu int32) {
		r := eventtest.New(kind, 0, start, start+length, name)
		r.Thread, r.Class, r.CPU = thread, class, cpu
		rows = append(rows, r)
	}
	for range 10 + rng.IntN(60) {
		k := rng.IntN(3)
		add(event.OS, 1+rng.Int64N(3), 1+rng.Int64N(400), rng.Int64N(45)-5, []string{"read", "poll", "ioctl"}[k],
			[]event.Class{event.OSFile, event.OSIO, event.OSDriver}[k], -1)
	}
	for range rng.IntN(12) {
		k := rng.IntN(4)
		add(event.Overhead, 1+rng.Int64N(3), 1+rng.Int64N(400), rng.Int64N(30), "overhead",
			[]event.Class{event.ByProfiler, event.QueueFull, event.Load, -1}[k], -1)
	}
	for thread := range int64(2) {
		for at := rng.Int64N(60); at < 450; {
			length := rng.Int64N(50)
			add(event.Run, thread+1, at, length, "", -1, int32(rng.IntN(5)-1))
			at += max(1, length+rng.Int64N(3)*rng.Int64N(20)-rng.Int64N(2)*rng.Int64N(40))
		}
	}
	return rows
}

// whyAt returns why a thread does not go on at t, by the definition; "" where nobody asks.
func whyAt(rows []eventtest.Row, thread, t int64) string {
	if !divided {
		return ""
	}
	var call, cuda, run *eventtest.Row
	var profiler, full, load bool
	for i := range rows {
		r := &rows[i]
		if r.Thread != thread {
			continue
		}
		if r.Kind == event.Run && r.Start <= t {
			run = r
		}
		if t < r.Start || t >= r.End {
			continue
		}
		switch {
		case r.Kind == event.OS:
			call = r // later ones start later, or end no later
		case r.Kind == event.API && (cuda == nil || r.Start > cuda.Start || r.End < cuda.End || callCauses[r.Class] <= callCauses[cuda.Class]):
			cuda = r
		}
		profiler = profiler || r.Class == event.ByProfiler
		full = full || r.Class == event.QueueFull
		load = load || r.Class == event.Load
	}
	off := run != nil && t >= run.End
	on := run != nil && !off && run.CPU >= 0
	switch {
	case profiler:
		return " profiler"
	case full:
		return " queue_full"
	case load:
		return " load"
	case off && call != nil:
		return " blocked:" + call.Class.String()
	case off && cuda != nil:
		return " blocked:cuda"
	case off:
		return " descheduled"
	case on && call != nil:
		return " os:" + call.Name
	case on && cuda != nil && cuda.Class == event.APISync:
		return " spin"
	case on:
		return " running"
	case call != nil:
		return " in:" + call.Class.String()
	}
	return " unknown"
}

// followed returns the rows without the runs of which nothing is known: of a thread's runs before
// its first other row, all but the last, and all runs of a thread with no other row.
func followed(rows []eventtest.Row) []eventtest.Row {
	before := map[int64]int{} // by thread: its last run before its first other row, -1 for none
	last := map[int64]int{}
	for i, r := range rows {
		if _, ok := before[r.Thread]; ok || r.Kind.IsGPU() {
			continue
		}
		if r.Kind == event.Run {
			last[r.Thread] = i + 1
		} else {
			before[r.Thread] = last[r.Thread] - 1
		}
	}
	var known []eventtest.Row
	for i, r := range rows {
		if k, ok := before[r.Thread]; r.Kind != event.Run || ok && i >= k {
			known = append(known, r)
		}
	}
	return known
}

// evidence is the stacks that run found: how long those of calls, how many samples.
var evidence map[string]int64

// stackRows makes samples and stacks of calls of the threads 1 to 3.
func stackRows(rng *rand.Rand) (rows []eventtest.Row) {
	for range rng.IntN(200) {
		r := eventtest.New(event.Sample, 0, 1+rng.Int64N(440), 0, "")
		r.End = r.Start
		if r.Thread, r.Stack = 1+rng.Int64N(3), rng.Int32N(5)-1; rng.IntN(3) == 0 {
			r.Kind, r.End = event.Backtrace, r.Start+rng.Int64N(40)
		}
		rows = append(rows, r)
	}
	return rows
}

// evidenceOf is the stacks that are to be found, by the definition.
func evidenceOf(rows []eventtest.Row, cuts []int64, end int64) map[string]int64 {
	sum := map[string]int64{}
	gpus := map[int32][]*eventtest.Row{}
	for i := range rows {
		if r := &rows[i]; r.Kind == event.Kernel && r.End > r.Start {
			gpus[r.Device] = append(gpus[r.Device], r)
		}
	}
	for _, gpu := range gpus {
		for t := cuts[0]; t < end; t++ {
			key := instant(rows, gpu, nil, nil, t, end)
			next := slices.IndexFunc(gpu, func(r *eventtest.Row) bool { return r.Start > t })
			if key == "" || next < 0 || strings.HasPrefix(key, "queued") || strings.HasPrefix(key, "graph") || gpu[next].Start >= end || gpu[next].LaunchStart < 0 {
				continue
			}
			thread := gpu[next].LaunchThread
			what, why := doing(rows, thread, t), whyAt(rows, thread, t)
			cause, _, _ := strings.Cut(what, " ")
			inCall := slices.Contains([]string{"launch", "sync", "memop", "alloc", "api"}, cause) ||
				strings.HasPrefix(why, " blocked:") && why != " blocked:cuda" || strings.HasPrefix(why, " os:") || strings.HasPrefix(why, " in:")
			onCPU := strings.HasPrefix(why, " os:") || why == " running" || why == " spin"
			called := int32(-2)
			for i := range rows {
				r := &rows[i]
				switch {
				case r.Thread != thread:
				case r.Kind == event.Sample && r.Start == t && onCPU:
					sum[fmt.Sprint(sliceOf(cuts, t), " ", what, why, " ", r.Stack, " false")]++
				case r.Kind == event.Backtrace && r.Start <= t && t < r.End && inCall:
					called = r.Stack // later ones start later
				}
			}
			if called > -2 {
				sum[fmt.Sprint(sliceOf(cuts, t), " ", what, why, " ", called, " true")]++
			}
		}
	}
	return sum
}

// textOf is a key as the reference writes it, without why.
func textOf(sites *Sites, k Key) string {
	return sites.CauseName(k) + " " + sites.Name(k) + "[" + sites.PathText(sites.Path(k)) + "]"
}

// heldText is a holder as the reference writes it.
func heldText(sites *Sites, h Holder) string {
	if h == nobody {
		return " by nobody"
	}
	_, why := sites.Undivided(h.Doing)
	return fmt.Sprint(" by ", h.Thread, " in ", textOf(sites, h.Doing), " ", sites.WhyName(why))
}

// heldAt says who holds the interpreter lock at t, and what that thread does then.
func heldAt(rows []eventtest.Row, waiting, t int64) string {
	by := int64(-1)
	for i := range rows {
		if r := &rows[i]; r.Name == "Holding GIL" && r.Thread != waiting && r.Start <= t && t < r.End {
			by = r.Thread // later ones start later
		}
	}
	if by < 0 {
		return " by nobody"
	}
	return fmt.Sprint(" by ", by, " in ", doing(rows, by, t), whyAt(rows, by, t))
}

// TestWhyAgainstReference divides idle time by why, also where what threads did is folded.
func TestWhyAgainstReference(t *testing.T) {
	divided = true
	defer func() { divided = false }()
	seen := map[string]int64{}
	for seed := range uint64(cases.Few(150, 150, 400)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		rows := append(randomRows(rng, seed%2 > 0), hostRows(rng)...)
		rows = append(rows, stackRows(rng)...)
		slices.SortStableFunc(rows, func(a, b eventtest.Row) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
		cuts := []int64{1 + rng.Int64N(30)}
		for range rng.IntN(6) {
			cuts = append(cuts, cuts[len(cuts)-1]+1+rng.Int64N(90))
		}
		end := cuts[len(cuts)-1] + 1 + rng.Int64N(200)
		known := followed(rows)
		want, stacks := reference(known, cuts, nil, end), evidenceOf(known, cuts, end)
		for key, n := range stacks {
			seen[key[strings.LastIndexByte(key, ' ')+1:]] += n
		}
		var each, totals map[string]int64
		for _, batch := range []int{1, 7, 8192} {
			each, totals = run(rows, cuts, nil, end, batch)
			if d := difference(each, want); d != "" {
				t.Fatalf("seed %d, batches of %d: %s", seed, batch, d)
			}
			if d := difference(evidence, stacks); d != "" {
				t.Fatalf("seed %d, batches of %d, stacks: %s", seed, batch, d)
			}
		}
		all := map[string]int64{}
		for key, ns := range want {
			_, site, _ := strings.Cut(key, " ")
			all[site] += ns
			for why := range strings.FieldsSeq(site[strings.LastIndexByte(site, ']')+1:]) {
				seen[why] += ns
			}
		}
		if d := difference(totals, all); d != "" {
			t.Fatalf("seed %d, totals: %s", seed, d)
		}
	}
	for _, why := range []string{"profiler", "queue_full", "load", "blocked:file", "blocked:cuda", "descheduled", "os:poll", "spin", "running", "in:io", "unknown", "by", "true", "false"} {
		if seen[why] < 50 {
			t.Errorf("%s holds for %d ns: the traces show too little", why, seen[why])
		}
	}
	t.Log(fmt.Sprint(seen))
}
