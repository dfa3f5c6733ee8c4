package findings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// HostWork is the pattern of a host operation, to begin with if it brings more than any other
// finding.
const HostWork = "HOST_WORK"

// Finding is a pattern at a place, with the gain of treating it.
type Finding struct {
	Pattern string  `json:"pattern"` // Entry.Pattern
	Path    *string `json:"path"`    // ranges around it, the outermost first; null without a place
	Site    *string `json:"site"`    // the call or range; null without a place
	Source  *string `json:"source"`  // function that the innermost known range stands for, null if unknown
	// GainUs is by how much shorter a step would be or, without steps, the trace; null if
	// unknown. CIUs is its 95 % interval, null with too few steps. Gains do not add up.
	GainUs *float64    `json:"gain_us"`
	CIUs   *[2]float64 `json:"ci_us"`
	// Evidence are the numbers and names behind it. Numbers that end in _us are per step or,
	// without steps, per rank; those that end in _share are from 0 to 1.
	Evidence map[string]any `json:"evidence"`
	Title    string         `json:"-"`       // the finding in half a line
	Target   string         `json:"-"`       // as Entry.Target
	Text     string         `json:"text"`    // Evidence as a sentence
	Do       string         `json:"do"`      // as Entry.Do, the braces filled
	Sources  []string       `json:"sources"` // as Entry.Sources
	// Row is the prediction of package replay for the treated finding, nil if there is none.
	Row *replay.Prediction `json:"-"`

	entry     *Entry
	treatment replay.Scenario
}

// Pair is the joint gain of the two findings with the largest gains.
type Pair struct {
	Of     [2]int      `json:"of"`      // their indices in Result.Findings
	GainUs float64     `json:"gain_us"` // as Finding.GainUs
	CIUs   *[2]float64 `json:"ci_us"`   // as Finding.CIUs
}

// Run is the input of Find.
type Run struct {
	Facts  []Fact  // in any order
	Steps  int     // rank-steps of the window, 0 without steps
	IdleUs float64 // idle time in the window, over all GPUs
	GPUs   int     // the most GPUs of any rank
	Ranks  int     // number of ranks with GPU work
	// Replay predicts the gain of each treatment; means skips the intervals.
	Replay func(treatments []replay.Scenario, means bool) (*replay.Report, error)
	// Alone skips intervals and the joint gain of the best two findings.
	Alone bool
}

// Result is the result of Find.
type Result struct {
	Findings []Finding `json:"findings"`  // unknown gains first, then the largest gain first, then those of Entry.Last
	Pair     *Pair     `json:"best_pair"` // null if fewer than two findings have a gain
	// First is what to begin with: the first of Findings with a gain, or the host operation
	// with the largest gain if that is larger and no finding is about it (HostWork). It is null if
	// no host thread bounds the steps.
	First *Finding `json:"first_target"`
	// Unmodelled says what the gains do not account for, a sentence each.
	Unmodelled []string `json:"-"`
	Single     bool     `json:"-"` // there is only one step, so gains are unknown
}

// Find makes findings from the facts of a run. Its errors are those of Run.Replay.
func Find(run Run) (*Result, error) {
	var list []*Finding
	var scenarios []replay.Scenario
	for _, g := range groups(run.Facts) {
		f := g.finding(&run)
		list, scenarios = append(list, f), append(scenarios, f.treatment)
	}
	res := &Result{Findings: []Finding{}}
	if len(list) == 0 {
		return res, nil
	}
	gains, err := run.Replay(scenarios, run.Alone)
	if err != nil {
		return nil, err
	}
	var operations, found, last []*Finding
	for k, f := range list {
		idle, _ := f.Evidence["idle_us"].(float64)
		switch {
		case f.entry.Last:
			last = append(last, f)
		// If GPUs are hardly idle because of it, the gain is nothing, or due to something else.
		case !f.entry.First && (!f.worth(gains, k) || f.entry.Of == Idle && idle < Least*gains.StepUs):
		case f.Pattern == HostWork:
			operations = append(operations, f)
		default:
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, (*Finding).compare)
	slices.SortStableFunc(operations, (*Finding).compare)
	n := map[string]int{}
	for _, f := range append(found, last...) {
		if n[f.Pattern]++; n[f.Pattern] <= maxOfPattern {
			res.Findings = append(res.Findings, *f)
		}
	}
	res.first(operations)
	res.Unmodelled, res.Single = gains.Warnings, gains.Single
	switch {
	case res.Single:
		res.forget()
	case !run.Alone:
		err = res.pair(&run)
	}
	return res, err
}

// worth sets the gain of f to that of scenario k, and reports whether it is worth a finding.
func (f *Finding) worth(gains *replay.Report, k int) bool {
	g := &gains.Scenarios[k]
	f.Row = g
	if g.OlderUs != nil { // which waits bring tokens back depends on the older record of an event
		gain := gains.StepUs - *g.OlderUs
		f.Evidence["otherwise_us"], f.CIUs = g.GainUs, &[2]float64{min(g.GainUs, gain), max(g.GainUs, gain)}
		f.GainUs, f.Text = &gain, f.Text+Text(older, f.Evidence)
		return gain >= Least*gains.StepUs
	}
	f.GainUs, f.CIUs = &g.GainUs, g.CIUs
	return g.GainUs >= Least*gains.StepUs
}

// Named returns a name of the finding for a list of things to do: pattern and place.
func (f *Finding) Named() string {
	var at []string
	if f.Site != nil {
		at = append(at, *f.Site)
	}
	if f.Path != nil && Innermost(*f.Path) != *cmp.Or(f.Site, new(string)) {
		at = append(at, Innermost(*f.Path))
	}
	if len(at) == 0 {
		return f.Pattern
	}
	return f.Pattern + " (" + strings.Join(at, ", in ") + ")"
}

// older is added to a sentence if the gain depends on which record of an event a wait is for.
const older = "; the recording does not say whether the events waited for are of the step before, as in engines that run a step ahead: if not, the gain is {otherwise_us}"

// compare orders findings: those without a known gain first, then the largest gain first.
func (f *Finding) compare(o *Finding) int {
	switch {
	case f.GainUs == nil && o.GainUs == nil:
		return 0
	case f.GainUs == nil:
		return -1
	case o.GainUs == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(*o.GainUs, *f.GainUs), strings.Compare(f.Text, o.Text))
}

// first sets r.First. operations are findings of HostWork, the largest gain first.
func (r *Result) first(operations []*Finding) {
	for k := range r.Findings {
		if r.Findings[k].GainUs != nil {
			r.First = &r.Findings[k]
			break
		}
	}
	for _, f := range operations {
		if r.First != nil && !f.leads(r.First) {
			continue
		}
		if !slices.ContainsFunc(r.Findings, func(g Finding) bool { return g.about(f) }) {
			r.First = f
			return
		}
	}
}

// forget drops the gains, which have served to order the findings.
func (r *Result) forget() {
	for k := range r.Findings {
		r.Findings[k].GainUs, r.Findings[k].CIUs = nil, nil
	}
	if r.First != nil {
		r.First.GainUs, r.First.CIUs = nil, nil
	}
}

// leads reports whether an operation goes before finding o: if even the lower end of its gain is
// larger. If both may bring as much, o is preferred because it comes with its own remedy.
func (f *Finding) leads(o *Finding) bool {
	switch {
	case f.entry.Before == o.Pattern:
		return f.own(*f.GainUs) > most**o.GainUs
	case f.CIUs != nil:
		return f.own(f.CIUs[0]) > *o.GainUs
	}
	return f.own(*f.GainUs) > *o.GainUs
}

// own returns the part of a gain that is due to the operation itself. Without its range,
// everything inside would go, too, such as a garbage collection or a wait, and these are
// findings of their own.
func (f *Finding) own(gain float64) float64 {
	if idle, ok := f.Evidence["idle_us"].(float64); ok {
		other, _ := f.Evidence["other_us"].(float64)
		return min(gain, idle-other)
	}
	return gain
}

// about reports whether f is about an operation: directly in its range, or about its call.
func (f *Finding) about(operation *Finding) bool {
	name := *cmp.Or(operation.Site, new(string))
	return f.Path != nil && name == Innermost(*f.Path) || f.Site != nil && *f.Site == name
}

// Innermost returns the last range of a path, as package idle writes paths.
func Innermost(path string) string {
	if i := strings.LastIndex(path, " > "); i >= 0 {
		return path[i+3:]
	}
	return path
}

// pair sets r.Pair to the joint gain of the two best findings.
func (r *Result) pair(run *Run) error {
	var of []int
	for k := range r.Findings {
		if r.Findings[k].GainUs != nil && len(of) < 2 {
			of = append(of, k)
		}
	}
	if len(of) < 2 {
		return nil
	}
	a, b := &r.Findings[of[0]].treatment, &r.Findings[of[1]].treatment
	both, typical := replay.Scenario{Changes: slices.Concat(a.Changes, b.Changes)}, StepSet{}
	typical.addAll(a.Typical)
	typical.addAll(b.Typical)
	if len(typical) > 0 {
		both.Typical = typical
	}
	gains, err := run.Replay([]replay.Scenario{both}, false)
	if err == nil {
		r.Pair = &Pair{[2]int(of), gains.Scenarios[0].GainUs, gains.Scenarios[0].CIUs}
	}
	return err
}

// finding makes the finding of a group, without its gain.
func (g *group) finding(run *Run) *Finding {
	call, path, source := g.place()
	f := &Finding{Pattern: g.entry.Pattern, Evidence: g.evidence(run, call, path), Target: g.entry.Target, Sources: g.entry.Sources, entry: g.entry, treatment: g.treatment()}
	f.Site, f.Path, f.Source = report.OrNull(call), report.OrNull(path), report.OrNull(source)
	f.Title, f.Text, f.Do = Text(g.entry.Title, f.Evidence), Text(g.entry.Say, f.Evidence), Text(g.entry.Do, f.Evidence)
	return f
}

// treatment returns the changes of the run that treat the group's facts.
func (g *group) treatment() (s replay.Scenario) {
	add := func(all ...replay.Change) { s.Changes = append(s.Changes, all...) }
	var classes []event.Class
	for _, name := range g.entry.Classes {
		classes = append(classes, event.Class(slices.Index(event.Classes[:], name)))
	}
	sites := g.facts[:min(maxSites, len(g.facts))]
	for _, how := range g.entry.Treat {
		switch how {
		case "every":
			add(replay.Class(0, classes...))
		case "loading":
			add(replay.Loading(0))
		case "lost":
			add(replay.Lost(0))
		case "ahead":
			add(replay.Ahead())
		case "copies":
			add(replay.Units("memcpy HtoD", 0))
		case "graph":
			add(replay.Graph())
		case "share":
			add(replay.Host(1 - g.numbers["share"]))
		case "operation": // of this name at any place, as in a row of whatif's table
			switch first := g.facts[0]; {
			case slices.Contains(first.Is, "host"):
				add(replay.Range(first.Call, 0))
			case slices.Contains(first.Is, "untraced"):
				add(replay.Bare(0))
			default:
				add(replay.Call(first.Call, 0))
			}
		case "steps":
			if len(g.steps) > 0 {
				s.Typical = g.steps
			}
		}
		for _, f := range sites {
			add(f.treated(how, classes)...)
		}
	}
	return s
}

// treated returns the changes for one fact, for the treatments of places.
func (f *Fact) treated(how string, classes []event.Class) []replay.Change {
	switch {
	case how == "wait":
		return []replay.Change{replay.Wait(f.Call).At(f.Path).SparingTokens()}
	case how == "call" && f.Of == Calls:
		return []replay.Change{replay.Call(f.Call, 0).At(f.Path)}
	case how == "lost" && slices.Contains(f.Is, "free"):
		return []replay.Change{replay.Class(f.Numbers["rest_share"], event.GIL)}
	case how == "launch":
		return []replay.Change{replay.Class(f.Numbers["rest"], event.Launch).At(f.Path)}
	case how == "class" && f.Of == Idle:
		c := replay.Class(0, classes...).At(f.Path)
		if f.Rank != nil {
			c = c.On(*f.Rank)
		}
		return []replay.Change{c}
	case how == "range":
		return []replay.Change{replay.Range(Innermost(f.Path), 0)}
	case how == "host": // spend as much on the operation as the other ranks do
		return []replay.Change{replay.Range(f.Call, f.Numbers["factor"]).On(*f.Rank)}
	case how == "gpu":
		return []replay.Change{replay.GPU(f.Numbers["factor"]).On(*f.Rank)}
	}
	return nil
}
