package hotspot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
)

// weighed is a profiled function to be weighed.
type weighed struct {
	name    string
	us      float64 // total time, including callees
	caller  *weighed
	callees []*weighed

	state    int8 // of the walk to the outermost caller: 0 new, 1 being weighed, 2 done
	own      bool // the trace has a range for it
	known    bool
	exposed  float64 // us per step, including callees
	leftUs   float64 // time without callees that have ranges
	leftIdle float64 // exposed without callees that have ranges
}

// Weigh sets the exposed time of a report's hotspots, limits their options' savings to
// it, and sorts them: first those in the function to begin with, then by exposed time,
// then unknown ones, then hidden ones. It returns remarks about the whole.
func (t *Trace) Weigh(rep *Report) (remarks []string) {
	fns := rep.byLastName()
	for _, f := range fns {
		t.weigh(f)
	}
	for i := range rep.Hotspots {
		h := &rep.Hotspots[i]
		if f := fns[lastName(h.Function)]; f != nil {
			t.expose(h, f)
		}
	}
	first := alias(lastName(t.FirstTarget), func(name string) bool { return fns[name] != nil })
	slices.SortStableFunc(rep.Hotspots, func(a, b Hotspot) int {
		return cmp.Or(
			cmp.Compare(rank(&a, first), rank(&b, first)),
			cmp.Compare(value(b.ExposedUsPerStep, 0), value(a.ExposedUsPerStep, 0)),
			cmp.Compare(b.TimeUs, a.TimeUs))
	})
	return t.remarks(rep, fns[first] != nil)
}

// rank returns the sort class of a hotspot.
func rank(h *Hotspot, first string) int {
	switch e := h.ExposedUsPerStep; {
	case e != nil && *e == 0:
		return 3
	case first != "" && lastName(h.Function) == first:
		return 0
	case e != nil:
		return 1
	}
	return 2
}

// value returns *x, or unknown if x is nil.
func value(x *float64, unknown float64) float64 {
	if x == nil {
		return unknown
	}
	return *x
}

// byLastName returns the profiled functions by the last part of their names, as ranges
// have it. Of several callers, the one whose lines take longest counts.
func (r *Report) byLastName() map[string]*weighed {
	fns := map[string]*weighed{}
	for _, f := range r.fns {
		if fns[f.last()] == nil {
			fns[f.last()] = &weighed{name: f.last()}
		}
		fns[f.last()].us += float64(f.Ns) / 1e3
	}
	most := map[[2]*weighed]int64{}
	for _, f := range r.fns {
		for c, ns := range f.callers {
			most[[2]*weighed{fns[f.last()], fns[c.last()]}] += ns
		}
	}
	for pair, ns := range most {
		f, caller := pair[0], pair[1]
		if old := f.caller; f != caller && (old == nil || ns > most[[2]*weighed{f, old}] || ns == most[[2]*weighed{f, old}] && caller.name < old.name) {
			f.caller = caller
		}
	}
	for _, f := range fns {
		if f.caller != nil {
			f.caller.callees = append(f.caller.callees, f)
		}
	}
	return fns
}

// weigh determines how much idle time is in a function.
func (t *Trace) weigh(f *weighed) {
	if f.state != 0 {
		return // done, or a call cycle
	}
	f.state = 1
	f.exposed, f.own = t.of(f.name)
	f.known = f.own
	if !f.own && f.caller != nil {
		if t.weigh(f.caller); f.caller.known && f.caller.leftUs > 0 {
			f.known, f.exposed = true, f.caller.leftIdle*min(1, f.us/f.caller.leftUs)
		}
	}
	f.leftUs, f.leftIdle = f.us, f.exposed
	for _, c := range f.callees {
		if us, own := t.of(c.name); own {
			f.leftUs -= c.us
			f.leftIdle -= us
		}
	}
	f.leftUs, f.leftIdle = max(0, f.leftUs), max(0, f.leftIdle)
	f.state = 2
}

// expose sets a hotspot's exposed time and limits its options to it.
func (t *Trace) expose(h *Hotspot, f *weighed) {
	if !f.known {
		h.Evidence = append(h.Evidence, fmt.Sprintf("unknown whether a GPU waits here: the trace has no idle time in ranges of %s or its callers", f.name))
		return
	}
	h.within, h.part = t.partOf(h, f)
	share := 1.0
	if f.leftUs > 0 {
		share = min(1, h.TimeUs/f.leftUs)
	}
	us := f.leftIdle * share
	if h.UsPerStep != nil {
		us = min(us, *h.UsPerStep)
	}
	if us < resolution {
		us = 0
	}
	h.ExposedUsPerStep = &us
	if us == 0 {
		h.Evidence = append(h.Evidence, fmt.Sprintf("hidden: no GPU waits in %s, so changing it does not shorten a step", f.name))
	} else {
		h.Evidence = append(h.Evidence, fmt.Sprintf("a GPU waits %.1f us per step here, its share of the idle time in %s", us, f.name))
	}
	for i := range h.Options {
		limit(&h.Options[i], us, h.UsPerStep)
	}
}

// partOf returns the range that contains a hotspot's time, and the hotspot's share of
// that range's time.
func (t *Trace) partOf(h *Hotspot, f *weighed) (within string, part float64) {
	for ; f != nil && f.us > 0; f = f.caller {
		if f.own {
			return t.texts[t.alias(f.name)], min(1, h.TimeUs/f.us)
		}
	}
	return "", 0
}

// Within returns the trace range that contains a hotspot's time, as a glob, and the
// share of the range's time that remains without it, 0 to 1; glob is "" if unknown. The
// share is the profile's: it makes lines longer, but usually all of them to a similar
// degree.
func (h *Hotspot) Within() (glob string, left float64) {
	return rangeGlob.Replace(h.within), 1 - h.part
}

// rangeGlob makes a glob from the text of a range, whose digits were folded to #.
var rangeGlob = strings.NewReplacer("#", "*", "[", "?", "]", "?", `\\`, "?")

// Adopt takes over the gains from an earlier JSON report on the same profiles, which
// were found by replaying a trace.
func (r *Report) Adopt(in io.Reader) error {
	var then struct {
		Hotspots []Hotspot `json:"hotspots"`
	}
	if err := json.NewDecoder(in).Decode(&then); err != nil {
		return fmt.Errorf("not the JSON of hotspots: %w", err)
	}
	for _, t := range then.Hotspots {
		for i := range r.Hotspots {
			if h := &r.Hotspots[i]; h.File == t.File && h.Function == t.Function && h.Line == t.Line {
				h.GainUsPerStep, h.GainCIUs, h.ExposedUsPerStep = t.GainUsPerStep, t.GainCIUs, t.ExposedUsPerStep
			}
		}
	}
	r.ByGain()
	return nil
}

// ByGain sorts hotspots by their gain from replaying a trace; those without one come
// last.
func (r *Report) ByGain() {
	slices.SortStableFunc(r.Hotspots, func(a, b Hotspot) int {
		return cmp.Compare(value(b.GainUsPerStep, math.Inf(-1)), value(a.GainUsPerStep, math.Inf(-1)))
	})
}

// limit limits an option's savings to the exposed time us, in us per step: the least as
// if hidden time were saved in proportion, the most as if none of it were hidden.
func limit(o *Option, us float64, perStep *float64) {
	if o.SavingsUs == nil || perStep == nil || *perStep <= 0 {
		return
	}
	s := *o.SavingsUs
	o.SavingsUs = &[2]float64{s[0] * min(1, us / *perStep), min(s[1], us)}
	for k, was := range s {
		if was > 0 { // All three are the same amount.
			o.SavingsPct[k] *= o.SavingsUs[k] / was
			o.SavingsOf[k] *= o.SavingsUs[k] / was
		}
	}
}

// callClasses are first targets that are classes of calls, not functions.
var callClasses = []string{"launch", "graph_launch", "sync", "memop", "alloc", "api", "gil", "gc"}

// dotted matches the name of a Python function.
var dotted = regexp.MustCompile(`^[\pL\pN_.<>]+$`)

// remarks returns what the trace says about the whole.
func (t *Trace) remarks(rep *Report, profiled bool) (remarks []string) {
	switch t.Verdict {
	case "NO":
		remarks = append(remarks, "The trace says NO: the host does not hold the GPUs back. Changes here will not raise throughput.")
	case "INCONCLUSIVE":
		remarks = append(remarks, "The trace is inconclusive: whether the host holds the GPUs back is not known.")
	}
	switch {
	case t.FirstTarget == "":
	case profiled:
		remarks = append(remarks, fmt.Sprintf("The trace says to begin with %s.", t.FirstTarget))
	case t.FirstTarget == "untraced":
		remarks = append(remarks, "The trace does not say in which function the GPUs wait for the host: put ranges around the parts of a step, or record Python stacks.")
	case t.FirstTarget == "descheduled" || strings.HasPrefix(t.FirstTarget, "blocked:"):
		remarks = append(remarks, fmt.Sprintf("The trace says that launching threads do not run while the GPUs wait (%s): no line of Python is slow for it.", t.FirstTarget))
	case slices.Contains(callClasses, t.FirstTarget):
		remarks = append(remarks, fmt.Sprintf("The trace says to begin with %s: what the CPU does in those calls, which no line of Python shows as such.", t.FirstTarget))
	case !dotted.MatchString(t.FirstTarget):
		remarks = append(remarks, fmt.Sprintf("The trace says to begin with %s, a range that is no function: profile what runs in it next.", t.FirstTarget))
	default:
		remarks = append(remarks, fmt.Sprintf("The trace says to begin with %s, which is not in the profile: profile it next.", t.FirstTarget))
	}
	known := slices.ContainsFunc(rep.Hotspots, func(h Hotspot) bool { return h.ExposedUsPerStep != nil })
	if !known && len(rep.Hotspots) > 0 {
		remarks = append(remarks, "No profiled function has a range in the trace: hotspots are sorted by time alone.")
	}
	return remarks
}
