package idle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// randomRows makes the rows of a rank whose times are single nanoseconds, so that the
// reference can look at each instant.
func randomRows(rng *rand.Rand, markers bool) []eventtest.Row {
	var rows []eventtest.Row
	span := 50 + rng.Int64N(400)
	length := func() int64 { return []int64{0, 1, 2, 5, 9, 30}[rng.IntN(6)] }
	row := func(kind event.Kind, name string, class event.Class) eventtest.Row {
		r := eventtest.New(kind, 0, 1+rng.Int64N(span), 0, name)
		r.End, r.Class = r.Start+length(), class
		return r
	}
	for range rng.IntN(30) {
		call := row(event.API, []string{"cudaLaunchKernel", "cudaLaunchKernelExC"}[rng.IntN(2)], event.Launch)
		call.Thread, call.Correlation = 1+rng.Int64N(3), int64(len(rows))
		n, node := 1, int64(-1)
		if rng.IntN(3) == 0 {
			call.Name, call.Class, n, node = "cudaGraphLaunch", event.GraphLaunch, rng.IntN(5), 3
		}
		rows = append(rows, call)
		at := call.Start // a kernel starts after the launch that caused it began
		device := int32(rng.IntN(2))
		for range n {
			k := eventtest.New(event.Kernel, 0, at+1+rng.Int64N(20), 0, fmt.Sprint("k", rng.IntN(4)))
			k.End, k.Device, k.Stream, k.Correlation, k.GraphNode = k.Start+length(), device, 7, call.Correlation, node
			if rng.IntN(12) > 0 {
				k.LaunchStart, k.LaunchEnd, k.LaunchThread = call.Start, call.End, call.Thread
			}
			at = k.End
			rows = append(rows, k)
		}
	}
	for range rng.IntN(30) {
		name := []string{"cudaDeviceSynchronize", "cudaMemcpy", "cudaMalloc", "cuThis"}
		class := []event.Class{event.APISync, event.Memop, event.Alloc, event.Other}
		k := rng.IntN(4)
		r := row(event.API, name[k], class[k])
		r.Thread = 1 + rng.Int64N(3)
		rows = append(rows, r)
	}
	for range rng.IntN(30) {
		k := rng.IntN(8)
		name := append([]string{"Waiting for GIL", "Holding GIL", "Python GC"}, slices.Repeat([]string{"a 1", "a 22", "b"}, 2)...)[k]
		r := row(event.NVTX, name, append([]event.Class{event.GIL, event.GIL, event.GC}, slices.Repeat([]event.Class{event.Range}, 6)...)[k])
		r.Thread, r.End = 1+rng.Int64N(3), r.Start+2*(r.End-r.Start)
		rows = append(rows, r)
	}
	for n := range rng.IntN(10) {
		if markers {
			r := row(event.NVTX, fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 3 gen reqs", 1000*n), event.StepMarker)
			r.Thread, r.End = 1, r.Start+3*(r.End-r.Start)
			rows = append(rows, r)
		}
	}
	eventtest.Sort(rows)
	return rows
}

// reference adds up idle time instant by instant, as "slice key inter".
func reference(rows []eventtest.Row, cuts []int64, pauses [][2]int64, end int64) map[string]int64 {
	gpus := map[int32][]*eventtest.Row{}
	for i := range rows {
		if r := &rows[i]; r.Kind == event.Kernel && r.End > r.Start {
			gpus[r.Device] = append(gpus[r.Device], r)
		}
	}
	sum := map[string]int64{}
	for _, gpu := range gpus {
		first := firsts(rows, gpu)
		for t := cuts[0]; t < end; t++ {
			if slices.ContainsFunc(pauses, func(p [2]int64) bool { return p[0] <= t && t < p[1] }) {
				continue
			}
			if key := instant(rows, gpu, first, pauses, t, end); key != "" {
				sum[fmt.Sprint(sliceOf(cuts, t), " ", key)]++
			}
		}
	}
	return sum
}

func sliceOf(cuts []int64, t int64) int {
	k := len(cuts) - 1
	for cuts[k] > t {
		k--
	}
	return k + 1
}

// firsts returns the GPU's activities that are the first of a marker range.
func firsts(rows []eventtest.Row, gpu []*eventtest.Row) map[*eventtest.Row]bool {
	first := map[*eventtest.Row]bool{}
	seen := map[*eventtest.Row]bool{}
	for _, a := range gpu {
		var around *eventtest.Row
		for i := range rows {
			if m := &rows[i]; m.Class == event.StepMarker && m.Start <= a.LaunchStart && a.LaunchStart < m.End {
				around = m
			}
		}
		if around != nil && !seen[around] {
			seen[around], first[a] = true, true
		}
	}
	return first
}

// instant returns why a GPU is idle at t, "" where it is busy.
func instant(rows []eventtest.Row, gpu []*eventtest.Row, first map[*eventtest.Row]bool, pauses [][2]int64, t, end int64) string {
	before, next, busy := eventtest.Around(gpu, t)
	if busy {
		return ""
	}
	for _, p := range pauses {
		if t < p[0] && (next == nil || next.Start >= p[0]) {
			return "tail [] in"
		}
		if before != nil && before.End < p[1] && t >= p[1] {
			before = nil
		}
	}
	if next == nil || next.Start >= end {
		return "tail [] in"
	}
	where := " in"
	if first[next] {
		where = " inter"
	}
	if eventtest.OneReplay(before, next) {
		return "graph " + next.Name + "[]" + where
	}
	switch {
	case next.LaunchStart < 0:
		return "untraced []" + where
	case t >= next.LaunchEnd:
		return "queued " + next.Name + "[]" + where
	}
	what := doing(rows, next.LaunchThread, t)
	if divided && what == "gil []" {
		what += heldAt(rows, next.LaunchThread, t)
	}
	return what + whyAt(rows, next.LaunchThread, t) + where
}

// doing returns what a thread does at t, with its site.
func doing(rows []eventtest.Row, thread, t int64) string {
	cause, by := eventtest.Doing(rows, thread, t)
	switch {
	case by == nil:
		return cause + " []"
	case cause != "host":
		return cause + " " + by.Name + "[" + path(rows, by) + "]"
	}
	p := path(rows, by)
	if p != "" {
		p += " > "
	}
	return "host:" + fold(by.Name) + " [" + p + fold(by.Name) + "]"
}

func fold(s string) string { return string(marker.AppendFolded(nil, []byte(s))) }

// path returns the path of ranges that were open on the thread of a row when it
// began, as they were then nested: each inside the innermost open one before it.
func path(rows []eventtest.Row, of *eventtest.Row) string {
	var inner *eventtest.Row
	for i := range rows {
		r := &rows[i]
		if r == of {
			break
		}
		named := r.Kind == event.NVTX && r.Class != event.GIL && r.Class != event.GC
		if named && r.Thread == of.Thread && r.End > of.Start && r.End > r.Start {
			inner = r // later ones start later, or end earlier
		}
	}
	if inner == nil {
		return ""
	}
	if p := path(rows, inner); p != "" {
		return p + " > " + fold(inner.Name)
	}
	return fold(inner.Name)
}

// run feeds rows to a rank, which is cut at some times, and returns what it says.
func run(rows []eventtest.Row, cuts []int64, pauses [][2]int64, end int64, batch int) (each, totals map[string]int64) {
	sites := NewSites()
	h := eventtest.Header(rows)
	h.Columns |= event.HostCols | event.StackCols
	r := NewRank(sites, Options{Store: spill.NewStore(1 << 20), Why: divided, Stacks: divided, OSCalls: true})
	src := eventtest.Source(h, rows, batch)
	todo := append(slices.Clone(cuts), end)
	cut := func() {
		r.Cut(todo[0], todo[0] != end)
		todo = todo[1:]
	}
	for {
		b, err := src.Next()
		if err != nil {
			break
		}
		for i := range b.Len {
			for len(todo) > 0 && todo[0] <= b.Start.Values[i] {
				cut()
			}
			for len(pauses) > 0 && pauses[0][0] <= b.Start.Values[i] {
				r.Pause(pauses[0][0], pauses[0][1])
				pauses = pauses[1:]
			}
			r.Observe(b, i, i+1)
		}
	}
	for len(todo) > 0 {
		cut()
	}
	r.Close()
	each, totals = map[string]int64{}, map[string]int64{}
	text := func(k Key, inter bool) string {
		where := " in"
		if inter {
			where = " inter"
		}
		if _, why := sites.Undivided(k); why != None {
			where = " " + sites.WhyName(why) + where
			if h, ok := sites.Holder(k); ok {
				where = heldText(sites, h) + where
			}
		}
		return textOf(sites, k) + where
	}
	r.Each(end, func(s Sample) {
		each[fmt.Sprint(s.Slice, " ", text(s.Key, s.Inter))] += s.Ns
		totals[text(s.Key, s.Inter)] += s.Ns
	})
	evidence = map[string]int64{}
	r.EachEvidence(end, func(e *Evidence) {
		_, why := sites.Undivided(e.Key)
		evidence[fmt.Sprint(e.Slice, " ", textOf(sites, e.Key), " ", sites.WhyName(why), " ", e.Stack, " ", e.Ns > 0)] += max(e.Ns, 1)
	})
	for _, m := range []map[string]int64{each, totals} {
		maps.DeleteFunc(m, func(_ string, ns int64) bool { return ns == 0 })
	}
	return each, totals
}

func TestAgainstReference(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(cases.Few(150, 150, 400)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		rows := randomRows(rng, seed%3 > 0)
		if len(rows) == 0 {
			continue
		}
		// The reference knows no GPU before its first activity: it counts from the first cut.
		cuts := []int64{1 + rng.Int64N(30)}
		for range rng.IntN(6) {
			cuts = append(cuts, cuts[len(cuts)-1]+1+rng.Int64N(90))
		}
		end := cuts[len(cuts)-1] + 1 + rng.Int64N(200)
		var pauses [][2]int64
		if at := pauseOf(rng, rows); at[1] > at[0] && at[0] > cuts[0] && at[1] < end {
			pauses = append(pauses, at)
			seen["pause"]++
		}
		want := reference(rows, cuts, pauses, end)
		var each, totals map[string]int64
		for _, batch := range []int{1, 5, 8192} {
			each, totals = run(rows, cuts, pauses, end, batch)
			if d := difference(each, want); d != "" {
				t.Fatalf("seed %d, batches of %d: %s", seed, batch, d)
			}
		}
		all := map[string]int64{}
		for key, ns := range want {
			_, site, _ := strings.Cut(key, " ")
			all[site] += ns
			cause, _, _ := strings.Cut(site, " ")
			seen[cause]++
			seen[site[strings.LastIndexByte(site, ' ')+1:]]++
		}
		if d := difference(totals, all); d != "" {
			t.Fatalf("seed %d, totals: %s", seed, d)
		}
	}
	for _, what := range []string{
		"graph", "queued", "launch", "sync", "memop", "alloc", "api", "gil", "gc", "untraced", "tail", "host:a", "in", "inter", "pause",
	} {
		if seen[what] < 20 {
			t.Errorf("%s occurs %d times: the traces show too little", what, seen[what])
		}
	}
}

// pauseOf returns the longest stretch in which no row starts and no GPU activity goes
// on.
func pauseOf(rng *rand.Rand, rows []eventtest.Row) (best [2]int64) {
	end := int64(0)
	for i := range rows {
		if i > 0 && rows[i].Start-end > best[1]-best[0] && end > 0 {
			best = [2]int64{end + rng.Int64N(2), rows[i].Start}
		}
		if end = max(end, rows[i].Start); rows[i].Kind == event.Kernel {
			end = max(end, rows[i].End)
		}
	}
	return best
}

func difference(got, want map[string]int64) string {
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if got[key] != want[key] {
			return fmt.Sprintf("%s: %d, want %d", key, got[key], want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			return fmt.Sprintf("%s: %d, want %d", key, got[key], want[key])
		}
	}
	return ""
}
