package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// outcome is the result of one run.
type outcome int

const (
	rightSteps  outcome = iota // as the engine made them, and no warning
	rightWarned                // as the engine made them, with a warning
	refused                    // an error instead of steps
	wrongWarned                // other steps, with a warning
	wrongSilent                // other steps, without a warning
	outcomes
)

// stepTally counts the outcomes of runs.
type stepTally [outcomes]int

func (t *stepTally) runs() (n int) {
	for _, k := range t {
		n += k
	}
	return n
}

func (t *stepTally) share(o outcome) count { return count{t[o], t.runs()} }

// stepRun is one run to check.
type stepRun struct {
	p      *pattern
	seed   int
	marked bool
}

// stepBoard holds the outcomes by pattern, without and with markers.
type stepBoard struct {
	mu    sync.Mutex
	by    map[string]*[2]stepTally
	total [2]stepTally
	err   error
}

// runSteps is the section steps.
func runSteps(w io.Writer, o options) error {
	list := chosen(o)
	b, err := countSteps(list, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d kinds of runs × %d seeds, with markers and without. Right: as many steps as iterations, within 2 %%, each covering one iteration and no part of another, and the benchmark window of each rank covering the iterations that it is to and no others.\n\n", len(list), o.seeds)
	fmt.Fprintln(w, "| run | markers: right | right, warned | refused | wrong, warned | silently wrong | none: right | right, warned | refused | wrong, warned | silently wrong |")
	fmt.Fprintln(w, "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, p := range list {
		row(w, p.name, b.by[p.name], func(t *stepTally, o outcome) string { return count{t[o], 0}.plain() })
	}
	row(w, "all", &b.total, func(t *stepTally, o outcome) string { return t.share(o).String() })
	if o.only != "" {
		return nil
	}
	o.seeds = max(1, o.seeds/5)
	if b, err = countSteps(mixed(mixtures), o); err != nil {
		return err
	}
	row(w, fmt.Sprintf("%d mixtures of two kinds × %d seeds", mixtures, o.seeds), &b.total, func(t *stepTally, o outcome) string { return t.share(o).String() })
	return nil
}

// mixtures is the number of patterns that combine two others.
const mixtures = 100

func row(w io.Writer, name string, t *[2]stepTally, cell func(*stepTally, outcome) string) {
	fmt.Fprintf(w, "| %s |", name)
	for _, marked := range []int{1, 0} {
		for o := range outcomes {
			fmt.Fprintf(w, " %s |", cell(&t[marked], o))
		}
	}
	fmt.Fprintln(w)
}

// countSteps runs all patterns.
func countSteps(list []*pattern, o options) (*stepBoard, error) {
	b := &stepBoard{by: map[string]*[2]stepTally{}}
	var runs []stepRun
	for _, p := range list {
		b.by[p.name] = &[2]stepTally{}
		for seed := range o.seeds {
			runs = append(runs, stepRun{p, seed, true}, stepRun{p, seed, false})
		}
	}
	forEach(runs, func(r stepRun) { b.add(r, o) })
	return b, b.err
}

// add counts the outcome of one run.
func (b *stepBoard) add(r stepRun, o options) {
	result, why, err := r.outcome()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.err = fmt.Errorf("%s, seed %d: %w", r.p.name, r.seed, err)
		return
	}
	at := one(r.marked)
	b.by[r.p.name][at][result]++
	b.total[at][result]++
	if o.verbose != nil && result != rightSteps {
		fmt.Fprintf(o.verbose, "%s, seed %d, markers %v: %s: %s\n", r.p.name, r.seed, r.marked, result, why)
	}
}

func (o outcome) String() string {
	return []string{"right", "right, warned", "refused", "wrong, warned", "SILENTLY WRONG"}[o]
}

// outcome simulates a run, finds its steps and compares them with the truth.
func (r *stepRun) outcome() (outcome, string, error) {
	c := r.p.trial(r.seed, r.marked, false)
	traces, truth, err := sim.SimulateTruth(c, r.p.split)
	if err != nil {
		return 0, "", err
	}
	dir, files, err := export(traces, written(r.seed, r.marked))
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return 0, "", err
	}
	found := stepsOf(files, step.Auto)
	if found.refused != "" {
		return refused, found.refused, nil
	}
	wrong := difference(&found, truth)
	why := fmt.Sprintf("by %s: %s [%s %s]", found.method, wrong, found.verdict, strings.Join(found.about(), "; "))
	switch {
	case wrong == "" && found.warned():
		return rightWarned, why, nil
	case wrong == "":
		return rightSteps, why, nil
	case found.warned():
		return wrongWarned, why, nil
	}
	return wrongSilent, why, nil
}

// difference says what is wrong with the steps found, "" if nothing is.
func difference(found *isolation, truth *sim.Truth) string {
	if n := len(found.steps); n > len(truth.Ranks) {
		return fmt.Sprintf("%d ranks instead of %d", n, len(truth.Ranks))
	}
	for i := range truth.Ranks {
		if wrong := compareSteps(found.method, found.steps[int32(i)], truth.Ranks[i].Steps); wrong != "" {
			return fmt.Sprintf("rank %d: %s", i, wrong)
		}
		if wrong := compareWindow(found.method, found.windows[int32(i)], truth.Ranks[i].Steps); wrong != "" {
			return fmt.Sprintf("rank %d: %s", i, wrong)
		}
	}
	return ""
}

// trueSpan is an iteration as a method can see it. Times are in ns.
type trueSpan struct {
	start, end int64
	ctx, gen   int64
	optional   bool // the method may omit it
	partial    bool // only part of it was recorded
	found      int
	miscounted bool // found, but with the wrong requests
}

// visible returns the iterations that a method can see, as it sees them.
func visible(method string, steps []sim.TrueStep) []trueSpan {
	var spans []trueSpan
	for _, s := range steps {
		t := trueSpan{ctx: int64(s.Ctx), gen: int64(s.Gen)}
		switch {
		case method == step.NVTX:
			t.start, t.end = s.HostStart, s.HostEnd
		case method == step.Allreduce && s.Reduces > 0:
			t.start, t.end = s.ReduceStart, s.ReduceEnd
		case method == step.Graph && s.Recorded:
			t.start, t.end = s.Start, s.End
		default:
			continue
		}
		t.optional, t.partial = t.optional || s.Partial, s.Partial
		spans = append(spans, t)
	}
	return spans
}

// tolerance is the share of steps that may be wrong.
const tolerance = 0.02

// compareSteps says what is wrong with the steps of one rank, "" if nothing is.
func compareSteps(method string, found []foundStep, steps []sim.TrueStep) string {
	spans := visible(method, steps)
	bad, from := 0, 0
	for _, f := range found {
		for from < len(spans) && spans[from].end <= f.start {
			from++
		}
		if !covers(f, spans[from:]) {
			bad++
		}
	}
	missing, wanted, miscounted := 0, 0, 0
	for _, s := range spans {
		miscounted += one(s.miscounted)
		if !s.optional {
			wanted++
			missing += one(s.found == 0)
		}
		bad += max(0, s.found-1)
	}
	if allowed := int(tolerance * float64(wanted)); bad > allowed || missing > allowed {
		return fmt.Sprintf("%d steps for %d iterations, %d wrong, %d not found", len(found), wanted, bad, missing)
	}
	if miscounted > int(tolerance*float64(wanted)) {
		return fmt.Sprintf("%d of %d steps have other requests than the iteration had", miscounted, wanted)
	}
	return ""
}

// covers reports whether a step covers one iteration and no significant part of another,
// and counts the step for that iteration. The first span must be the first that ends
// after the step's start.
func covers(f foundStep, spans []trueSpan) bool {
	var mine *trueSpan
	for i := range spans {
		s := &spans[i]
		if s.start >= f.end {
			break
		}
		length := float64(max(1, s.end-s.start))
		switch part := float64(min(f.end, s.end)-max(f.start, s.start)) / length; {
		case part >= 0.8 && (mine == nil || mine.partial), mine == nil && s.partial:
			mine = s
		case s.partial: // the rest of a cut step may belong to its neighbour
		case part > 0.05:
			return false
		}
	}
	if mine == nil {
		return false
	}
	mine.found++
	// SGLang's mixed batches state only their total number of requests.
	mixed := mine.ctx > 0 && mine.gen > 0 && f.ctx+f.gen == mine.ctx+mine.gen
	mine.miscounted = f.ctx >= 0 && f.gen >= 0 && !mixed && (f.ctx != mine.ctx || f.gen != mine.gen)
	return true
}
