package hotspot_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/hotspot"
)

// madeReport is a profile of 100 steps: a loop that calls three functions, of which prepare
// takes 2, update 6 and helper, which update calls, 3 ms per step.
func madeReport() *hotspot.Report {
	fn := func(name string, ms float64, lines ...lineprof.Line) *lineprof.Function {
		return &lineprof.Function{Name: name, File: "engine.py", Ns: int64(ms * 100e6), Lines: lines, Calls: -1, SelfNs: -1}
	}
	line := func(ms float64, source string) lineprof.Line {
		return lineprof.Line{Hits: 100, Ns: int64(ms * 100e6), Source: source}
	}
	p := &lineprof.Profile{Runs: 1, Functions: []*lineprof.Function{
		fn("loop", 9, line(2, "self._prepare_tp_inputs(batch)"), line(6, "self.update(batch)"), line(1, "x = 'helper(1)'  # helper(2)")),
		fn("_prepare_tp_inputs", 2, line(2, "ids = torch.tensor(ids)")),
		fn("update", 6, line(3, "helper(batch)"), line(3, "y = work(batch)")),
		fn("helper", 3, line(3, "z = work(batch)")),
	}}
	rep := hotspot.Analyze([]*lineprof.Profile{p}, hotspot.Options{Steps: 100})
	rep.Hotspots = nil
	for _, h := range []struct {
		fn string
		ms float64
	}{{"update", 3}, {"helper", 3}, {"_prepare_tp_inputs", 2}, {"loop", 1}} {
		us := h.ms * 1000
		rep.Hotspots = append(rep.Hotspots, hotspot.Hotspot{Function: h.fn, Cost: hotspot.Cost{TimeUs: 100 * us, UsPerStep: &us},
			Options: []hotspot.Option{{SavingsUs: &[2]float64{us / 2, us}, SavingsPct: [2]float64{us / 200, us / 100}, SavingsOf: [2]float64{0.5, 1}}}})
	}
	return rep
}

// weighed returns the hotspots' functions in their order, with exposed us per step.
func weighed(t *testing.T, evidence string) (order []string, us map[string]float64, remarks []string) {
	t.Helper()
	trace, err := hotspot.Read(strings.NewReader(evidence))
	if err != nil {
		t.Fatal(err)
	}
	rep := madeReport()
	remarks = trace.Weigh(rep)
	us = map[string]float64{}
	for _, h := range rep.Hotspots {
		order = append(order, h.Function)
		us[h.Function] = math.NaN()
		if h.ExposedUsPerStep != nil {
			us[h.Function] = *h.ExposedUsPerStep
			if s := h.Options[0].SavingsUs; s[1] > us[h.Function] {
				t.Errorf("%s: saves %v of %v us exposed", h.Function, s[1], us[h.Function])
			} else if s[1] > 0 && s[0] > 0.51*s[1] { // of its own time half is the least, all the most
				t.Errorf("%s: a range of %v", h.Function, *s)
			}
			for k, s := range h.Options[0].SavingsUs { // a step of 10 ms
				if o := h.Options[0]; math.Abs(o.SavingsPct[k]-s/100) > 1e-9 || math.Abs(o.SavingsOf[k]*h.TimeUs/100-s) > 1e-6 {
					t.Errorf("%s: saves %v us, %v %%, %v of its time", h.Function, o.SavingsUs, o.SavingsPct, o.SavingsOf)
				}
			}
		}
	}
	return order, us, remarks
}

func TestGaps(t *testing.T) {
	order, us, remarks := weighed(t, `{"idle": {"causes": [
		{"cause": "host:_prepare_tp_inputs", "us": 90000, "us_per_step": 900, "sites": [{"site": "x", "path": "[Executor] _forward_step #: # reqs > _prepare_tp_inputs", "us": 90000}]},
		{"cause": "launch", "us": 60000, "us_per_step": 600, "sites": [{"site": "cudaLaunchKernel", "path": "update", "us": 40000}, {"site": "cudaLaunchKernel", "path": "", "us": 20000}]},
		{"cause": "tail", "us": 10, "us_per_step": null}]},
		"optimization_handoff": {"verdict": null, "recommended_first_target": "PyTorchModelEngine._prepare_inputs", "wall_time_per_step_us": 9000}}`)
	if got := strings.Join(order, " "); got != "_prepare_tp_inputs helper update loop" && got != "_prepare_tp_inputs update helper loop" {
		t.Errorf("order %s", got)
	}
	// helper has no range: half of update's time, and so half of what waits in it
	if us["_prepare_tp_inputs"] != 900 || us["update"] != 200 || us["helper"] != 200 || !math.IsNaN(us["loop"]) {
		t.Errorf("exposed %v", us)
	}
	if len(remarks) != 1 || !strings.Contains(remarks[0], "begin with PyTorchModelEngine._prepare_inputs.") {
		t.Errorf("remarks %q", remarks)
	}
}

func TestDiff(t *testing.T) {
	order, us, _ := weighed(t, `{"operations": [
		{"name": "update", "exposed": {"baseline_us": 700, "target_us": 0}},
		{"name": "loop", "exposed": {"baseline_us": 100, "target_us": 50}},
		{"name": "helper", "exposed": {"baseline_us": 600, "target_us": null}},
		{"name": "prep", "source_function": "Engine._prepare_tp_inputs", "exposed": {"baseline_us": 90, "target_us": 40}}], "idle": [], "optimization_handoff": {}}`)
	if us["update"] != 0 || us["helper"] != 0 || us["_prepare_tp_inputs"] != 40 || us["loop"] != 10 {
		t.Errorf("exposed %v", us)
	}
	if got := strings.Join(order, " "); got != "_prepare_tp_inputs loop update helper" {
		t.Errorf("order %s: what is hidden comes last", got)
	}
}

func TestVerdict(t *testing.T) {
	order, us, remarks := weighed(t, `{"verdict": "NO", "aggregate_metrics": {"host_prep_perf_impact": 0.1},
		"optimization_handoff": {"recommended_first_target": "launch", "wall_time_per_step_us": 5000}}`)
	if us["_prepare_tp_inputs"] != 500 || order[0] != "_prepare_tp_inputs" {
		t.Errorf("exposed %v, order %v", us, order)
	}
	if len(remarks) != 2 || !strings.Contains(remarks[0], "NO") || !strings.Contains(remarks[1], "begin with launch: what the CPU does") {
		t.Errorf("remarks %q", remarks)
	}
}

// A range of the profiler or an operator is nothing that line_profiler takes.
func TestTargetIsNoFunction(t *testing.T) {
	for target, want := range map[string]string{"ProfilerStep##": "a range that is no function", "aten::mm": "a range that is no function", "Sampler.<locals>.f_2": "which is not in the profile"} {
		_, _, remarks := weighed(t, `{"verdict": "YES", "aggregate_metrics": {"host_prep_perf_impact": 0.1}, "optimization_handoff": {"recommended_first_target": "`+target+`", "wall_time_per_step_us": 5000}}`)
		if !strings.Contains(strings.Join(remarks, "\n"), target+", "+want) {
			t.Errorf("%s: %q", target, remarks)
		}
	}
}

func TestNoEvidence(t *testing.T) {
	for _, bad := range []string{"", "[]", "{}", "null", "7", `{"idle": []}`, `{"idle": {"causes": 3}}`, "Timer unit: 1e-06 s"} {
		if _, err := hotspot.Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is evidence", bad)
		}
	}
}
