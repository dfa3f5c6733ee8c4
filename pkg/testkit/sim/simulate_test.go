package sim

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

// formatted is all of a trace as text, to compare.
func formatted(t *testing.T, tr *Trace) string {
	t.Helper()
	var b bytes.Buffer
	if err := formatText(&b, tr, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSimulateIsDeterministic(t *testing.T) {
	one, two := formatted(t, mustSimulate(t, nil)), formatted(t, mustSimulate(t, nil))
	if one != two {
		t.Error("the same Config gave different traces")
	}
	if one == formatted(t, mustSimulate(t, func(c *Config) { c.Seed = 2 })) {
		t.Error("the seed changes nothing")
	}
}

// TestMachine wants of every mode what holds for any machine: a kernel starts
// after its call, the kernels of a stream one after the other, collectives end
// together.
func TestMachine(t *testing.T) {
	changes := map[string]func(*Config){
		"node":    nil,
		"eager":   func(c *Config) { c.Mode = Eager },
		"graph":   func(c *Config) { c.Mode = Whole },
		"devices": func(c *Config) { c.Devices = 2 },
		"one":     func(c *Config) { c.Ranks = 1 },
		"overlap": func(c *Config) { c.Overlap = true },
		"vllm":    func(c *Config) { c.Markers, c.Host = VLLM, HostOps(VLLM) },
		"sglang":  func(c *Config) { c.Markers, c.Host = SGLang, HostOps(SGLang) },
		"gil":     func(c *Config) { c.GIL, c.GCEvery = 100, 3 },
		"bound":   func(c *Config) { c.KernelScale = 20 },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) { checkMachine(t, mustSimulate(t, change)) })
	}
}

type callKey struct {
	process int32
	corr    uint32
}

func checkMachine(t *testing.T, tr *Trace) {
	t.Helper()
	called := map[callKey]*Call{}
	for c := range tr.Calls.All() {
		if c.End < c.Start {
			t.Fatalf("a call ends before it starts: %+v", *c)
		}
		if called[callKey{c.Process, c.Corr}] != nil {
			t.Fatalf("correlation id %d occurs twice in process %d", c.Corr, c.Process)
		}
		called[callKey{c.Process, c.Corr}] = c
	}
	free := map[int32]int64{}
	ends := map[int32][]int64{}
	for k := range tr.Kernels.All() {
		c := called[callKey{k.Process, k.Corr}]
		if c == nil || k.Start < c.Start || k.End <= k.Start || k.Start < free[k.Device] {
			t.Fatalf("kernel %+v: called %+v, queue free at %d", *k, c, free[k.Device])
		}
		free[k.Device] = k.End
		if short, _ := tr.KernelText(k.Name); strings.HasPrefix(short, "allreduce") {
			ends[k.Device] = append(ends[k.Device], k.End)
		}
	}
	for r := range tr.Replays.All() {
		if c := called[callKey{r.Process, r.Corr}]; c == nil || r.Start < c.Start || r.End <= r.Start {
			t.Fatalf("replay %+v: called %+v", *r, c)
		}
	}
	for device, list := range ends {
		if !slices.Equal(list, ends[0]) {
			t.Errorf("the collectives of device %d do not end with those of device 0", device)
		}
	}
}

// TestModes counts what each mode records.
func TestModes(t *testing.T) {
	const steps, contexts = 30, 4 // of 8, from the first on
	cases := []struct {
		name                      string
		change                    func(*Config)
		allreduce, graphs, nodes  int // for each rank
		launches                  bool
		wantMode, forbiddenMarker string
	}{
		{"node", func(c *Config) { c.Mode = Node }, 33 * steps, 0, (steps - contexts) * (9*16 + 4), false, "Node", ""},
		{"graph", func(c *Config) { c.Mode = Whole }, 33 * contexts, steps - contexts, 0, false, "Graph", ""},
		{"eager", func(c *Config) { c.Mode = Eager }, 33 * steps, 0, 0, true, "Node", ""},
		{"dropped", func(c *Config) { c.Dropped = 1 }, 33 * contexts, 0, 0, false, "Node", ""},
		{"dropped graph", func(c *Config) { c.Mode, c.Dropped = Whole, 1 }, 33 * contexts, 0, 0, false, "Graph", ""},
		{"one rank", func(c *Config) { c.Ranks = 1 }, 0, 0, (steps - contexts) * (9*16 + 3), false, "Node", ""},
		{"fused", func(c *Config) { c.Fused = true }, 33 * steps, 0, (steps - contexts) * (7*16 + 4), false, "Node", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var ranks int
			tr := mustSimulate(t, func(cfg *Config) {
				cfg.Warmup = 0
				c.change(cfg)
				ranks = cfg.Ranks
			})
			allreduce, nodes := 0, 0
			for k := range tr.Kernels.All() {
				if short, _ := tr.KernelText(k.Name); strings.HasPrefix(short, "allreduce") {
					allreduce++
				}
				if k.Node != 0 {
					nodes++
				}
			}
			if allreduce != c.allreduce*ranks || tr.Replays.Len() != c.graphs*ranks || nodes != c.nodes*ranks {
				t.Errorf("%d allreduces, %d replays, %d nodes; want %d, %d, %d of %d ranks",
					allreduce, tr.Replays.Len(), nodes, c.allreduce, c.graphs, c.nodes, ranks)
			}
			graphs := 0
			for call := range tr.Calls.All() {
				if tr.Text(call.Name) == apiGraph {
					graphs++
				}
			}
			if want := (steps - contexts) * ranks; !c.launches && graphs != want {
				t.Errorf("%d graph launches, want %d", graphs, want)
			}
			if tr.Capture.GraphMode != c.wantMode {
				t.Errorf("mode %q", tr.Capture.GraphMode)
			}
		})
	}
}

// hostMeans are the mean durations of ranges by name, in microseconds.
func hostMeans(tr *Trace) map[string]float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	for row := range tr.NVTX.All() {
		if !row.Open {
			name := tr.Text(row.Text)
			sum[name] += float64(row.End-row.Start) / 1e3
			n[name]++
		}
	}
	for name := range sum {
		sum[name] /= n[name]
	}
	return sum
}

// TestHostCosts plants a change and finds it, and nothing else changed.
func TestHostCosts(t *testing.T) {
	base := hostMeans(mustSimulate(t, nil))
	slow := hostMeans(mustSimulate(t, func(c *Config) {
		if !c.SetHost("_schedule", 420) || c.SetHost("no such thing", 1) {
			t.Error("SetHost mistook a name")
		}
	}))
	if math.Abs(base["_schedule"]-120) > 6 || math.Abs(slow["_schedule"]-420) > 20 {
		t.Errorf("_schedule: %.1f and %.1f us", base["_schedule"], slow["_schedule"])
	}
	for _, name := range []string{"prepare_resources", "_prepare_inputs", "_sample_async", "_handle_responses"} {
		if base[name] != slow[name] || base[name] == 0 {
			t.Errorf("%s: %.3f, then %.3f us", name, base[name], slow[name])
		}
	}
	if Default().Host[2].Mean != 120 {
		t.Error("SetHost changed the defaults")
	}
}

// TestNesting wants nested operations inside their parents.
func TestNesting(t *testing.T) {
	tr := mustSimulate(t, nil)
	find := func(name string) []NVTXEvent {
		var list []NVTXEvent
		for n := range tr.NVTX.All() {
			if n.Process == 0 && strings.Contains(tr.Text(n.Text), name) && !n.Open {
				list = append(list, *n)
			}
		}
		return list
	}
	for child, parent := range map[string]string{
		"broadcast_requests": "_fetch_new_requests", "_prepare_inputs": "_forward_step",
		"_process_requests": "_sample_async", "_write_finish_reasons": "_process_requests",
	} {
		inner, outer := find(child), find(parent)
		if len(inner) != len(outer) || len(inner) != 34 {
			t.Fatalf("%d %s in %d %s", len(inner), child, len(outer), parent)
		}
		for i := range inner {
			if inner[i].Start < outer[i].Start || inner[i].End > outer[i].End || inner[i].TID != outer[i].TID {
				t.Errorf("%s %d is not inside %s", child, i, parent)
			}
		}
	}
}

func TestPauseAfterWarmup(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Ranks = 1 })
	var last int64
	pauses := 0
	for k := range tr.Kernels.All() {
		if last != 0 && k.Start-last > 100e6 {
			pauses++
		}
		last = k.End
	}
	if pauses != 1 {
		t.Errorf("%d pauses of more than 100 ms, want 1", pauses)
	}
}

func TestSlowRank(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Ranks, c.SlowRank, c.Slow = 3, 1, 700 })
	sum := make([]float64, 3)
	for n := range tr.NVTX.All() {
		if tr.Text(n.Text) == "_prepare_inputs" {
			sum[n.Process] += float64(n.End-n.Start) / 1e3 / 34
		}
	}
	if d := sum[1] - sum[0]; math.Abs(d-700) > 40 || math.Abs(sum[2]-sum[0]) > 40 {
		t.Errorf("_prepare_inputs takes %.0f us", sum)
	}
}

// TestReports wants the clocks of the reports apart by the offsets, and equal
// once the session starts are taken into account.
func TestReports(t *testing.T) {
	c := Default()
	c.Ranks = 3
	whole, err := SimulateReports(c)
	if err != nil {
		t.Fatal(err)
	}
	c.ClockOffset, c.ClockError = []float64{0, 0, 1500}, []float64{0, 20}
	apart, err := SimulateReports(c)
	if err != nil {
		t.Fatal(err)
	}
	first := func(tr *Trace) int64 {
		for k := range tr.Kernels.All() {
			return k.Start
		}
		return 0
	}
	for i, want := range []struct{ local, utc int64 }{{0, 0}, {0, 20_000}, {1_500_000, 0}} {
		local := first(apart[i]) - first(whole[i])
		utc := local + apart[i].Session.UTC - whole[i].Session.UTC
		if local != want.local || utc != want.utc {
			t.Errorf("report %d: late by %d, in all by %d ns", i, local, utc)
		}
		if len(apart[i].Processes) != 1 {
			t.Errorf("report %d has %d processes", i, len(apart[i].Processes))
		}
	}
}

// TestExtras counts what the other switches add.
func TestExtras(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) {
		c.GCEvery, c.GIL, c.AllocEvery, c.Frontend, c.Overheads = 5, 80, 2, true, true
	})
	counts := map[string]int{}
	for n := range tr.NVTX.All() {
		if n.Kind == NVTXStartEnd && (n.RangeID == 0 || n.EndTID != n.TID) {
			t.Errorf("a start/end range without id: %+v", *n)
		}
		counts[tr.Text(n.Text)]++
	}
	for c := range tr.Calls.All() {
		counts[tr.Text(c.Name)]++
	}
	for name, want := range map[string]int{
		"Python GC": 12, "Waiting for GIL": 68, "Holding GIL": 68 * 3, "GIL Trace": 2, "TensorRT-LLM": 2,
		"tokenize prompt": 40, apiMalloc: 16 + 34, apiFree: 34,
	} {
		if counts[name] != want {
			t.Errorf("%d times %s, want %d", counts[name], name, want)
		}
	}
	if tr.Overheads.Len() != 4 {
		t.Errorf("%d overheads", tr.Overheads.Len())
	}
}

// TestEvents wants the size that was asked for and the mix of a real trace.
func TestEvents(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Events = 50_000 })
	if tr.Rows() < 50_000 || tr.Rows() > 51_000 {
		t.Errorf("%d rows", tr.Rows())
	}
	if share := float64(tr.Kernels.Len()) / float64(tr.Rows()); share < 0.75 || share > 0.85 {
		t.Errorf("%.2f of the rows are kernels", share)
	}
}

func TestConfigErrors(t *testing.T) {
	cases := map[string]func(*Config){
		"ranks":      func(c *Config) { c.Ranks = 0 },
		"mode":       func(c *Config) { c.Mode = "fast" },
		"markers":    func(c *Config) { c.Markers = "mine" },
		"collective": func(c *Config) { c.Collective = "mpi" },
		"no steps":   func(c *Config) { c.Steps = 0 },
		"layers":     func(c *Config) { c.Layers = 0 },
		"batch":      func(c *Config) { c.Batch = 0 },
		"parent":     func(c *Config) { c.Host = []HostOp{{Name: "a", Parent: "b"}} },
		"twice":      func(c *Config) { c.Host = []HostOp{{Name: "a"}, {Name: "a"}} },
		"forward":    func(c *Config) { c.Host = []HostOp{{Name: "a"}} },
		"nested":     func(c *Config) { c.Host = []HostOp{{Name: "f", Role: Forward}, {Name: "w", Parent: "f", Role: Wait}} },
		"after the":  func(c *Config) { c.Host = append(HostOps(TRTLLM4), HostOp{Name: "s", Role: Sample}) },
	}
	for want, change := range cases {
		c := Default()
		change(&c)
		if _, err := Simulate(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, m := range AllMarkers() {
		c := Default()
		c.Markers, c.Host = m, HostOps(m)
		if _, err := Simulate(c); err != nil {
			t.Errorf("%s: %v", m, err)
		}
	}
}

func BenchmarkSimulate(b *testing.B) {
	c := Default()
	c.Events = 200_000
	rows := 0
	for b.Loop() {
		tr, err := Simulate(c)
		if err != nil {
			b.Fatal(err)
		}
		rows += tr.Rows()
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
