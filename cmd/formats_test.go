package cmd

import (
	"path/filepath"
	"reflect"
	"testing"
)

// recorded is what is the same of a run, whoever recorded it.
type recorded struct {
	Verdict string
	Metrics map[string]float64 `json:"aggregate_metrics"`
	Phases  map[string]any
	Steps   struct {
		Method  string
		PerRank []map[string]any `json:"per_rank"`
	}
}

// idleTime is idle time by cause.
type idleTime struct {
	Idle struct {
		Total  float64 `json:"total_us"`
		Causes []struct {
			Cause string
			Us    float64
		}
	}
}

func (i *idleTime) causes() map[string]float64 {
	us := map[string]float64{}
	for _, c := range i.Idle.Causes {
		us[c.Cause] = c.Us
	}
	return us
}

// TestSameRunTwoFormats has one run as an export of nsys and as traces of PyTorch's
// profiler: the same steps, metrics and verdict, and the same idle time by cause, but
// for what the latter do not record. That is
//
//   - garbage collection: its time is that of the range that it comes in
//   - waits for the interpreter lock, outside of ranges here: nobody knows of them
//   - the first forward step, which is no evidence and no step
func TestSameRunTwoFormats(t *testing.T) {
	t.Parallel()
	run := []string{"--set", `{"GIL":80,"GCEvery":5}`}
	export := generate(t, append(run, "--schema", "3.25.0")...)
	pattern := filepath.Join(t.TempDir(), "rank%d.json")
	must(t, nil, "gentrace", append(run, "--kineto", "2.7", "-o", pattern)...)
	traces := reports(pattern, 2)

	var a, b recorded
	answer(t, &a, "verdict", export)
	answer(t, &b, "verdict", traces...)
	for _, rank := range b.Steps.PerRank {
		outside := rank["outside"].(map[string]any)
		rank["total"] = rank["total"].(float64) + 1
		outside["steps"], outside["of"] = outside["steps"].(float64)+1, rank["total"]
	}
	if a.Verdict != "YES" || !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\nof the traces %+v", a, b)
	}

	var of, other idleTime
	answer(t, &of, "gaps", export)
	answer(t, &other, "gaps", traces...)
	near(t, "idle time", other.Idle.Total, of.Idle.Total)
	const collected = "host:_prepare_inputs"
	want, got := of.causes(), other.causes()
	if want["gc"] == 0 || want["gil"] == 0 || want[collected] == 0 {
		t.Fatalf("nothing to miss: %v", want)
	}
	want[collected] += want["gc"]
	want["untraced"] += want["gil"]
	delete(want, "gc")
	delete(want, "gil")
	sameKeys(t, "idle causes", got, want)
	for cause, us := range want {
		near(t, cause, got[cause], us)
	}
}

// TestSameRunRocpd has one run on AMD's GPUs as traces of PyTorch's profiler and as databases of
// rocprofv3: the same metrics, verdict, and idle time by cause, in every mode of graphs. The
// first forward step is evidence only in the latter, where the profiler started long before.
func TestSameRunRocpd(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"eager", "node"} {
		run := []string{"--mode", mode, "--set", `{"GIL":80,"GCEvery":5}`}
		dir := t.TempDir()
		must(t, nil, "gentrace", append(run, "--rocpd", "-o", filepath.Join(dir, "rank%d.db"))...)
		must(t, nil, "gentrace", append(run, "--kineto", "2.7", "--rocm", "-o", filepath.Join(dir, "rank%d.json"))...)
		databases, traces := reports(filepath.Join(dir, "rank%d.db"), 2), reports(filepath.Join(dir, "rank%d.json"), 2)

		var a, b recorded
		answer(t, &a, "verdict", databases...)
		answer(t, &b, "verdict", traces...)
		if a.Verdict != "YES" || a.Verdict != b.Verdict || len(a.Metrics) < 7 || a.Steps.Method != b.Steps.Method {
			t.Errorf("%s: %+v\nof the traces %+v", mode, a, b)
		}
		sameKeys(t, mode, a.Metrics, b.Metrics)
		for phase, of := range b.Phases {
			figures, _ := of.(map[string]any)["metrics"].(map[string]any)
			mine, _ := a.Phases[phase].(map[string]any)["metrics"].(map[string]any)
			if len(figures) == 0 || len(mine) != len(figures) {
				t.Errorf("%s: phase %s: %v, want %v", mode, phase, mine, figures)
			}
			for name, want := range figures {
				if want, is := want.(float64); is {
					near(t, mode+" "+phase+" "+name, mine[name].(float64), want)
				}
			}
		}

		var of, other idleTime
		answer(t, &of, "gaps", databases...)
		answer(t, &other, "gaps", traces...)
		near(t, "idle time", of.Idle.Total, other.Idle.Total)
		sameKeys(t, mode+" idle causes", of.causes(), other.causes())
	}
}
