package sim

import (
	"path/filepath"
	"testing"
)

// TestRandom wants of a few hundred traces that each can be written, is the
// same again, and that together they hold every oddity they are made for.
func TestRandom(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(300) {
		tr, opt := Random(seed)
		if tr.Rows() > 1000 {
			t.Errorf("seed %d: %d rows", seed, tr.Rows())
		}
		if seed%10 == 0 {
			w := write(t, tr, opt)
			if w.has("StringIds") != (len(tr.strings) > 0) {
				t.Errorf("seed %d: strings are missing", seed)
			}
			again, _ := Random(seed)
			if formatted(t, tr) != formatted(t, again) {
				t.Errorf("seed %d: not the same again", seed)
			}
			roundTrip(t, tr, opt)
		}
		for _, oddity := range oddities(tr, opt) {
			seen[oddity]++
		}
	}
	for _, want := range []string{
		"nothing", "negative start", "empty kernel", "equal starts", "orphan", "launch without kernel", "kernel before call",
		"overlap in a stream", "several devices", "several threads", "process without GPU", "node", "whole graph",
		"no times", "open range", "start/end range", "JSON text", "literal text", "reduced", "empty tables", "dropped", "negative id",
		"id twice", "schema 2020",
	} {
		if seen[want] < 3 {
			t.Errorf("only %d of 300 traces have: %s", seen[want], want)
		}
	}
}

// oddities names what is odd about a trace.
func oddities(tr *Trace, opt Options) []string {
	var list []string
	count := func(name string, is bool) {
		if is {
			list = append(list, name)
		}
	}
	count("nothing", tr.Rows() == 0)
	count("reduced", opt.Reduced)
	count("empty tables", opt.EmptyTables)
	count("dropped", len(opt.Drop) > 0)
	count("schema 2020", opt.Schema == Schema2020)
	calls, kernels := map[callKey]*Call{}, map[callKey]bool{}
	threads, busy := map[uint32]bool{}, map[int32]bool{}
	for c := range tr.Calls.All() {
		key := callKey{c.Process, c.Corr}
		count("id twice", calls[key] != nil)
		calls[key] = c
		threads[c.TID] = true
	}
	starts, free := map[int64]bool{}, map[[2]int64]int64{}
	devices := map[[2]int32]bool{}
	for k := range tr.Kernels.All() {
		key := callKey{k.Process, k.Corr}
		queue := [2]int64{int64(k.Process)<<32 | int64(k.Device), int64(k.Stream)}
		count("negative start", k.Start < 0)
		count("empty kernel", k.Start == k.End)
		count("equal starts", starts[k.Start])
		count("orphan", k.Node == 0 && calls[key] == nil)
		count("kernel before call", calls[key] != nil && k.Start < calls[key].Start)
		count("overlap in a stream", k.Start < free[queue])
		count("node", k.Node != 0)
		starts[k.Start], kernels[key], busy[k.Process] = true, true, true
		free[queue] = max(free[queue], k.End)
		devices[[2]int32{k.Process, k.Device}] = true
	}
	for key, c := range calls {
		count("launch without kernel", !kernels[key] && eventClass(tr.Text(c.Name)) == 0)
	}
	for r := range tr.Replays.All() {
		count("whole graph", true)
		count("no times", r.End == 0)
	}
	for n := range tr.NVTX.All() {
		count("open range", n.Open && n.Kind == NVTXPushPop)
		count("start/end range", n.Kind == NVTXStartEnd)
		count("JSON text", n.Form == JSON)
		count("literal text", n.Form == Literal)
	}
	for i, p := range tr.Processes {
		count("negative id", p.globalPid() < 0)
		count("process without GPU", !busy[int32(i)])
	}
	count("several threads", len(threads) > 1)
	count("several devices", len(devices) > len(busy))
	return list
}

// TestRandomParquet writes some of them as directories.
func TestRandomParquet(t *testing.T) {
	for seed := range uint64(20) {
		tr, opt := Random(seed)
		if err := tr.WriteParquetDir(filepath.Join(t.TempDir(), "x_pqtdir"), opt); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
