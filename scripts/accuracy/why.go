package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// hostCause is a way to lose time on the host, and how it must be named.
type hostCause struct {
	kind    string // of sim.HostCause
	why     string // as gaps names it, "" for what only samples show
	pattern string // of the first finding, "" if the cause is not the host's fault, and a warning names it
	says    string // words of the finding or warning
	twin    string // kind of sim.HostCause that takes as long, but is not this cause
}

var hostCauses = []hostCause{
	{"lock", "blocked:lock", "SERIALIZE", "lock that another thread holds", "running"},
	{"gil", "blocked:wait", "GIL_CONTENTION", "", "running"},
	{"descheduled", "descheduled", "AFFINITY", "", "running"},
	{"sleep", "blocked:sleep", "SLEEP", "", "running"},
	{"file", "blocked:file", "IO", "file I/O", "running"},
	{"jit", "load", "JIT", "", "running"},
	{"profiler", "profiler", "", "profiler", "running"},
	{"queue", "queue_full", "", "full queue", "running"},
	{"gc", "", "GC_MGMT", "samples", "running"},
	{"requests", "blocked:io", "LOW_LOAD", "for the rank, which fetches them", "fetching"},
}

// collected is the cause that only samples show.
var collected = hostCause{kind: "gc", pattern: "GC_MGMT"}

// whyRow counts the results for one cause.
type whyRow struct {
	runs, named, first, sized, near, held, silent int
}

// gilDoing is what the thread that holds the GIL does in the simulation: it synchronises.
const gilDoing = "sync cudaDeviceSynchronize"

// runWhy counts causes of lost host time that are named, with their time, and causes
// named although the host keeps running.
func runWhy(w io.Writer, o options) error {
	rows := make([]whyRow, len(hostCauses))
	var names []string
	for _, c := range hostCauses {
		names = append(names, c.kind)
	}
	err := eachRun(names, o, func(dir string, i, seed int) (func(), error) {
		c := &hostCauses[i]
		with, truth, err := whyRun(dir, sim.HostCause{Kind: c.kind, US: 700}, seed, 0)
		if err != nil {
			return nil, err
		}
		without, _, err := whyRun(dir, sim.HostCause{Kind: c.twin, US: 700}, seed, 0)
		if err != nil {
			return nil, err
		}
		clean, _, err := whyRun(dir, sim.HostCause{}, seed, 0)
		if err != nil {
			return nil, err
		}
		return func() {
			rows[i].add(c, with, without, truth, seed, o.verbose)
			rows[i].size(c, with, clean, seed, o.verbose)
		}, nil
	})
	fmt.Fprintf(w, "| the host | runs | named | first | first, within a quarter | time within 5 %% | in its interval | silent where it runs on |\n|:--|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, r := range rows {
		near, held := count{r.near, r.runs}.String(), "-"
		if hostCauses[i].why == "" {
			near, held = "-", count{r.held, r.runs}.String()
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s | %s |\n", hostCauses[i].kind, r.runs, count{r.named, r.runs}, count{r.first, r.runs}, count{r.sized, r.runs}, near, held, count{r.silent, r.runs})
	}
	if err != nil {
		return err
	}
	return runCollections(w, o)
}

// collections are ways in which garbage is collected and sampled.
var collections = func() (all []collection) {
	for _, c := range []collection{
		{"one per step", sim.HostCause{US: 700}, 0}, {"many short ones", sim.HostCause{US: 600, Bursts: 8}, 0},
		{"few long ones", sim.HostCause{US: 9000, OneIn: 7}, 0}, {"clustered", sim.HostCause{US: 1500, OneIn: 3, Together: true}, 0},
	} {
		for _, s := range []struct {
			name string
			us   float64
		}{{"at random", 0}, {"10 kHz", 100}, {"1 kHz", 1000}, {"200 Hz", 5000}} {
			of := c
			of.name, of.why.Kind, of.why.SampleUS = of.name+", "+s.name, "gc", s.us
			all = append(all, of)
		}
	}
	for _, c := range heldOut {
		c.why.Kind = "gc"
		all = append(all, c)
	}
	return all
}()

type collection struct {
	name  string
	why   sim.HostCause
	steps int // 0: as many as other runs
}

// heldOut are ways on which no choice of the method was based.
var heldOut = []collection{
	{"one per step, 1 kHz that jitters", sim.HostCause{US: 700, SampleUS: 1000, Jitter: 1}, 0},
	{"one per step, 10 kHz that jitters", sim.HostCause{US: 700, SampleUS: 100, Jitter: 0.5}, 0},
	{"one per step, 2 kHz that is held back", sim.HostCause{US: 700, SampleUS: 500, SamplerOff: 0.3}, 0},
	{"one per step of 12, 5 kHz", sim.HostCause{US: 900, SampleUS: 200}, 12},
	{"shorter than the distance, 3 kHz", sim.HostCause{US: 500, Bursts: 6, SampleUS: 333}, 0},
	{"a single one, 1 kHz", sim.HostCause{US: 30000, OneIn: 64, SampleUS: 1000}, 0},
	{"short ones and a few long, at random", sim.HostCause{US: 300, Bursts: 4, LongIn: 9}, 0},
	{"short ones and a few long, 4 kHz", sim.HostCause{US: 300, Bursts: 4, LongIn: 9, SampleUS: 250}, 0},
	{"short ones and a few long, 1 kHz", sim.HostCause{US: 300, Bursts: 4, LongIn: 9, SampleUS: 1000}, 0},
}

// collectionRuns is the number of runs of a way per seed: coverage needs many.
const collectionRuns = 5

// runCollections counts how often the interval of the collector's time contains the
// truth.
func runCollections(w io.Writer, o options) error {
	type row struct {
		runs, shown, held int
		width             float64
	}
	rows, names := make([]row, len(collections)), []string{}
	for _, c := range collections {
		names = append(names, c.name)
	}
	o.seeds *= collectionRuns
	err := eachRun(names, o, func(dir string, i, seed int) (func(), error) {
		rep, truth, err := whyRun(dir, collections[i].why, seed, collections[i].steps)
		if err != nil {
			return nil, err
		}
		_, low, high := collected.time(rep)
		return func() {
			r := &rows[i]
			if r.runs++; high > low {
				r.shown++
				r.held += one(low <= truth && truth <= high)
				r.width += (high - low) / truth
			}
		}, nil
	})
	fmt.Fprintf(w, "\n| collections, samples | runs | with an interval | it holds the truth | its width |\n|:--|--:|--:|--:|--:|\n")
	for i, r := range rows {
		fmt.Fprintf(w, "| %s | %d | %d | %s | %.0f %% |\n", names[i], r.runs, r.shown, count{r.held, r.shown}, 100*r.width/float64(max(1, r.shown)))
	}
	return err
}

// whyRun simulates a run whose hosts lose time for a cause, and reports on it. truth is
// the time that they lose in the benchmark windows, in us. steps is the number of steps,
// 0 for 40 to 72.
func whyRun(dir string, cause sim.HostCause, seed, steps int) (rep *gap.Report, truth float64, err error) {
	c := sim.Default()
	c.Seed, c.Steps = uint64(seed+1), 40+seed%5*8
	if steps > 0 {
		c.Steps = steps
	}
	c.Layers = 12 + seed%4*6
	c.Noise = noises[seed%len(noises)]
	c.Why = cause
	c.Why.US *= 1 + float64(seed%7)/7
	traces, true, err := sim.SimulateTruth(c, false)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range true.Ranks {
		n := len(r.Steps) - 1 // the last step loses time after the window
		first := slices.IndexFunc(r.Steps, func(s sim.TrueStep) bool { return s.Segment == r.Steps[n].Segment })
		if cause.Kind == "requests" || cause.Kind == "fetching" { // time is lost before the kernels, the first step's before the window
			first, n = first+1, n+1
		}
		for _, s := range r.Steps[first:n] {
			truth += float64(s.Lost) / 1e3
		}
	}
	path, err := writeTrace(dir, traces[0])
	if err != nil {
		return nil, 0, err
	}
	rep, err = readGaps([]string{path})
	return rep, truth, err
}

func (r *whyRow) add(c *hostCause, with, without *gap.Report, truth float64, seed int, verbose io.Writer) {
	r.runs++
	named, first := c.named(with)
	r.named += one(named)
	r.first += one(first)
	falsely, _ := c.named(without)
	r.silent += one(!falsely)
	got, low, high := c.time(with)
	r.near += one(math.Abs(got-truth) <= 0.05*truth)
	r.held += one(low <= truth && truth <= high)
	if !first || falsely || c.why != "" && math.Abs(got-truth) > 0.05*truth || c.why == "" && (truth < low || truth > high) {
		remark(verbose, "%s, seed %d: %.0f us of %.0f [%.0f, %.0f], findings %s, warnings %v; without %s", c.kind, seed, got, truth, low, high, said(with), with.Warnings, said(without))
	}
}

// size compares the predicted gain of the first finding, if it names the cause, with how
// much shorter a step is without the cause.
func (r *whyRow) size(c *hostCause, with, clean *gap.Report, seed int, verbose io.Writer) {
	if _, first := c.named(with); !first || c.pattern == "" {
		return
	}
	truth, said := stepUs(with)-stepUs(clean), gainOf(with)
	near := math.Abs(said-truth) <= quarter*math.Abs(truth)
	r.sized += one(near)
	if !near {
		remark(verbose, "%s, seed %d: a step takes %.0f us less without it, said are %.0f", c.kind, seed, truth, said)
	}
}

// named reports whether a report names the cause, and whether it does so first.
func (c *hostCause) named(rep *gap.Report) (named, first bool) {
	if c.pattern == "" {
		named = slices.ContainsFunc(rep.Warnings, func(text string) bool { return strings.Contains(text, c.says) })
		largest := gap.Why{}
		for _, cause := range rep.Idle.Causes {
			for _, why := range cause.Why {
				if why.Why != "running" && why.Ns > largest.Ns {
					largest = why
				}
			}
		}
		return named, named && largest.Why == c.why
	}
	k := slices.IndexFunc(rep.Findings, func(f findings.Finding) bool { return f.Pattern == c.pattern && strings.Contains(f.Text, c.says) })
	if k >= 0 && c.kind == "gil" && !holderNamed(rep) {
		k = -1
	}
	return k >= 0, k == 0
}

// holderNamed reports whether most of the time in which threads wait for the GIL is
// attributed to a thread in a synchronisation.
func holderNamed(rep *gap.Report) bool {
	for _, cause := range rep.Idle.Causes {
		if len(cause.Holders) > 0 {
			h := &cause.Holders[0]
			return h.Thread != nil && h.Doing == gilDoing
		}
	}
	return false
}

// time returns the idle time of the cause, in us, and its interval if it is sampled.
func (c *hostCause) time(rep *gap.Report) (us, low, high float64) {
	for _, cause := range rep.Idle.Causes {
		for _, why := range cause.Why {
			if why.Why == c.why && (c.kind != "gil" || cause.Cause == "gil") {
				us += why.Us
			}
		}
	}
	if r := rep.Idle.Running; r != nil && c.why == "" {
		for _, f := range r.Families {
			if f.Family == "gc" {
				return f.Us, f.Low * r.SampledUs, f.High * r.SampledUs
			}
		}
	}
	return us, us, us
}
