package idle

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// TestBesideAgainstReference looks at every nanosecond of random traces: when threads ran,
// how often they changed their CPU, and, from the whys of the idle time, what they did while
// launching threads waited.
func TestBesideAgainstReference(t *testing.T) {
	defer func(n int) { few = n }(few)
	var seen Beside
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 21))
		few = []int{1, 4, 1 << 13}[seed%3]
		var rows []eventtest.Row
		// One GPU, thread 1 launches: each kernel ends a gap that thread 1 is the cause of.
		for at, n := int64(5), int64(0); at < 400; n++ {
			call := eventtest.New(event.API, 0, at, at+2, "cudaLaunchKernel")
			call.Thread, call.Class, call.Correlation = 1, event.Launch, n
			k := eventtest.New(event.Kernel, 0, at+2, at+5, "k")
			k.Device, k.Stream, k.Correlation, k.LaunchStart, k.LaunchEnd, k.LaunchThread = 0, 7, n, at, at+2, 1
			rows = append(rows, call, k)
			at += 6 + rng.Int64N(60)
		}
		for thread := range int64(3) {
			for at := rng.Int64N(20); at < 420; {
				run := eventtest.New(event.Run, 0, at, at+1+rng.Int64N(30), "")
				run.Thread, run.CPU = thread+1, int32(rng.IntN(4)-1)
				rows = append(rows, run)
				at = run.End + rng.Int64N(25)
			}
		}
		for range 30 {
			call := eventtest.New(event.OS, 0, rng.Int64N(400), 0, "poll")
			call.End, call.Thread = call.Start+rng.Int64N(30), 1
			call.Class = []event.Class{event.OSIO, event.OSWait, event.OSJoin, event.OSSleep, event.OSFile}[rng.IntN(5)]
			rows = append(rows, call)
		}
		slices.SortStableFunc(rows, func(a, b eventtest.Row) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
		cuts := []int64{0, 60 + rng.Int64N(100), 200 + rng.Int64N(100), 330 + rng.Int64N(20)}
		got := besidesOf(t, rows, cuts)
		want := map[[2]int64]Beside{}
		for g := range len(cuts) - 1 {
			for at := cuts[g]; at < cuts[g+1]; at++ {
				besideAtInstant(rows, at, int64(g), want)
			}
		}
		for key, w := range want {
			if got[key] != w {
				t.Fatalf("seed %d, group and thread %v: %+v, want %+v", seed, key, got[key], w)
			}
			seen.Add(w)
			delete(got, key)
		}
		if len(got) > 0 {
			t.Fatalf("seed %d: more than there is: %v", seed, got)
		}
	}
	if seen.OnCPU < 400 || seen.Waited < 400 || seen.Moves < 400 || seen.Ran < 400 || seen.Crossings < 400 || seen.Far < 400 {
		t.Errorf("the traces show too little: %+v", seen)
	}
}

// besidesOf runs a rank over the rows; all groups but the first are pending for long.
func besidesOf(t *testing.T, rows []eventtest.Row, cuts []int64) map[[2]int64]Beside {
	t.Helper()
	r := NewRank(NewSites(), Options{Store: spill.NewStore(1 << 20), Why: true, OSCalls: true, Beside: true, Places: Places{[]int32{7, 7, 3}, []int32{0, 2}, []int32{2}}})
	h := eventtest.Header(rows)
	h.Columns |= event.HostCols
	b, err := eventtest.Source(h, rows, 8192).Next()
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for g, cut := range cuts {
		j := i
		for j < b.Len && b.Start.Values[j] < cut {
			j++
		}
		r.Observe(b, i, j)
		i = j
		group := g
		switch {
		case g == len(cuts)-1:
			group = NoGroup
			r.SettleEach(func(slice int) int { return slice - 1 })
		case g > 0:
			group = Pending
		}
		r.Cut(cut, group)
	}
	r.Observe(b, i, b.Len)
	r.Close()
	all := map[[2]int64]Beside{}
	r.EachBeside(func(t ThreadBeside) { all[[2]int64{int64(t.Group), t.Thread}] = t.Beside })
	return all
}

// besideAtInstant adds what is so at one nanosecond.
func besideAtInstant(rows []eventtest.Row, at, group int64, sums map[[2]int64]Beside) {
	add := func(thread int64, one Beside) {
		if one != (Beside{}) {
			sum := sums[[2]int64{group, thread}]
			sum.Add(one)
			sums[[2]int64{group, thread}] = sum
		}
	}
	on := map[int64]int32{} // the CPU that a thread is on
	last := map[int64]int32{1: -1, 2: -1, 3: -1}
	for _, r := range rows {
		if r.Kind != event.Run || r.CPU < 0 || r.Start > at {
			continue
		}
		if r.Start == at && last[r.Thread] >= 0 && last[r.Thread] != r.CPU {
			add(r.Thread, Beside{Moves: 1, Crossings: int64(max(last[r.Thread], r.CPU) / 2)}) // CPU 2 is in another socket
		}
		if last[r.Thread] = r.CPU; at < r.End {
			on[r.Thread] = r.CPU
		}
	}
	for thread, cpu := range on {
		add(thread, Beside{Ran: 1, Far: int64(1 - min(cpu, 1))}) // CPU 0 is in another node than the GPU
	}
	why := whyOfLauncher(rows, at)
	for thread := int64(1); thread <= 3; thread++ {
		_, running := on[thread]
		switch {
		case thread == 1 && why == "waits":
			add(1, Beside{Waited: 1})
		case thread != 1 && running && why == "waits":
			add(thread, Beside{OnCPU: 1})
		}
	}
}

// whyOfLauncher says whether the GPU is idle because thread 1 waits for others.
func whyOfLauncher(rows []eventtest.Row, at int64) string {
	next := false
	for _, r := range rows {
		if r.Kind == event.Kernel && r.Start <= at && at < r.End {
			return ""
		}
		next = next || r.Kind == event.Kernel && r.Start > at
	}
	if !next {
		return ""
	}
	divided = true
	defer func() { divided = false }()
	switch whyAt(rows, 1, at) {
	case " blocked:io", " blocked:wait", " blocked:join":
		return "waits"
	}
	return ""
}
