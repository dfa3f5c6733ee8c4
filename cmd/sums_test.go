package cmd

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestVerdictAddsUp wants what the report of verdict says to people to follow from the
// figures that it gives programs, and from the steps that phase writes.
func TestVerdictAddsUp(t *testing.T) {
	t.Parallel()
	node := generate(t, "--layers", "96", "--set", `{"ContextEvery":5}`)
	for _, c := range []struct {
		args            []string
		graphs, signals string
	}{
		{[]string{node}, "CUDA graphs are used", "2 independent signals: idle GPUs, input preparation."},
		{[]string{node, "--threshold", "host_prep_exposed_ratio=1", "--threshold", "host_prep_perf_impact=1"}, "CUDA graphs are used", "1 independent signal: idle GPUs."},
		{[]string{generate(t, "--layers", "4", "--mode", "eager")}, "CUDA graphs are not used", "2 independent signals: idle GPUs, input preparation."},
	} {
		text := string(must(t, nil, "verdict", append(c.args, "--report")...))
		has := func(want string) {
			t.Helper()
			if !strings.Contains(text, want) {
				t.Errorf("%q: no %q in\n%s", c.args, want, text)
			}
		}
		has(c.signals)
		benchmark, phases := verdictFigures(t, c.args)
		meaning := func(title string, f scopeFigures) {
			t.Helper()
			idle := f.Metrics["gpu_idle_ratio"]
			has(fmt.Sprintf("## %s: %s, %d of %d over the limit", title, f.Verdict, f.Crossed, f.Applicable))
			if f.Verdict == "NO" && f.Crossed > 0 {
				has(fmt.Sprintf("- %s: %d metric over the limit (YES needs 2). The GPUs are idle %.1f %% of the time", title, f.Crossed, 100*idle))
				return
			}
			if f.Verdict == "NO" {
				has(fmt.Sprintf("- %s: healthy. The GPUs are idle %.1f %% of the time", title, 100*idle))
				return
			}
			removing, lost := "Removing all idle time", idle
			if w := f.Reported.Waits; w != nil && *w >= 0.01 {
				lost += *w
				removing = fmt.Sprintf("They spend another %.1f %% waiting in collectives for a late rank. Removing both", 100**w)
			}
			has(fmt.Sprintf("- %s: the GPUs are idle %.1f %% of the time. Input preparation accounts for %.1f %% of that. %s would give at most %s times the tokens/s",
				title, 100*idle, 100*f.Metrics["host_prep_idle_attribution"], removing, threeDigits(1/(1-lost))))
		}
		meaning("Benchmark window", benchmark)
		walls, from, to := stepsOf(t, c.args[0])
		has(fmt.Sprintf("The benchmark window is %s ms long, from %.3f s to %.3f s of the recording", threeDigits((to-from)*1e3), from, to))
		for title, phase := range map[string]string{"Context steps": "context", "Generation steps": "generation"} {
			meaning(title, phases[phase])
			w := walls[phase]
			slices.Sort(w)
			median := (w[(len(w)-1)/2] + w[len(w)/2]) / 2
			has(fmt.Sprintf("- %s: P50 %s ms, P90 ", title, threeDigits(median)))
			graphs := c.graphs
			if graphs == "CUDA graphs are used" && title == "Context steps" { // by the replay that follows alone
				graphs = `CUDA graphs replay \d\.\d % of the kernels, the host launches the others`
			}
			said := regexp.MustCompile(title + `: P50 \S+ ms, P90 (\S+) ms per step; ` + graphs).FindStringSubmatch(text)
			if said == nil {
				t.Errorf("%q: %s: no P90, or not %q, in\n%s", c.args, title, graphs, text)
				continue
			}
			p90, err := strconv.ParseFloat(said[1], 64)
			if least, most := w[len(w)*8/10], w[len(w)-1]; err != nil || p90 < least*0.995 || p90 > most*1.005 {
				t.Errorf("%q: %s: P90 is %v of %v, %v", c.args, title, p90, w, err)
			}
		}
	}
}

// threeDigits is a number as people are given it.
func threeDigits(v float64) string {
	return strconv.FormatFloat(v, 'f', max(0, 3-len(strconv.Itoa(int(v)))), 64)
}

// scopeFigures are what verdict says of a scope to programs.
type scopeFigures struct {
	Verdict    string
	Crossed    int                `json:"crossed_count"`
	Applicable int                `json:"applicable_count"`
	Metrics    map[string]float64 `json:"metrics"`
	Reported   struct {
		Waits *float64 `json:"collective_wait_ratio"`
	}
}

// verdictFigures returns what verdict says of the benchmark window, and of the phases.
func verdictFigures(t *testing.T, args []string) (benchmark scopeFigures, phases map[string]scopeFigures) {
	t.Helper()
	var all struct {
		scopeFigures
		Metrics map[string]float64      `json:"aggregate_metrics"`
		Details map[string]*bool        `json:"crossed_details"`
		Phases  map[string]scopeFigures `json:"phases"`
	}
	if err := json.Unmarshal(must(t, nil, "verdict", append(args, "--format", "json")...), &all); err != nil {
		t.Fatal(err)
	}
	benchmark = scopeFigures{Verdict: "NO", Metrics: all.Metrics, Reported: all.Reported}
	for _, over := range all.Details {
		if over != nil {
			benchmark.Applicable++
			if *over {
				benchmark.Crossed++
			}
		}
	}
	if benchmark.Crossed >= 2 {
		benchmark.Verdict = "YES"
	}
	return benchmark, all.Phases
}

// stepsOf returns how many milliseconds pass from the beginning of each step of the last
// segment to that of the next on its rank, by phase, and when the segment is, in seconds.
func stepsOf(t *testing.T, trace string) (walls map[string][]float64, from, to float64) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(string(must(t, nil, "phase", trace, "--kind", "step", "--format", "csv")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(row []string, column string) float64 {
		v, err := strconv.ParseFloat(row[slices.Index(rows[0], column)], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	walls = map[string][]float64{}
	last, before := number(rows[len(rows)-1], "segment"), map[float64][]string{}
	for _, row := range rows[1:] {
		if number(row, "segment") != last {
			continue
		}
		start, rank := number(row, "start"), number(row, "rank")
		if b := before[rank]; b != nil {
			phase := b[slices.Index(rows[0], "phase")]
			walls[phase] = append(walls[phase], (start-number(b, "start"))/1e6)
		} else if from == 0 {
			from = start / 1e9
		}
		from, to, before[rank] = min(from, start/1e9), max(to, number(row, "end")/1e9), row
	}
	return walls, from, to
}

// TestIdleTimeOfRanks wants idle time of a whole trace to be that of a rank, as what there is to gain is.
func TestIdleTimeOfRanks(t *testing.T) {
	if text := string(must(t, nil, "gaps", "--by", "none", filepath.Join(root, "testdata", "llama_tp2.sqlite"))); !strings.Contains(text, "**HOST_WORK**, 300 ms: The GPU is idle 300 ms in the trace (83.3 % of its idle time)") {
		t.Errorf("the idle time of two ranks is no mean:\n%s", text)
	}
}
