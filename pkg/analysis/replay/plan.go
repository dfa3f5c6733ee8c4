package replay

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// plan is the scenarios prepared for the names of a trace: which rows each change
// applies to.
type plan struct {
	n       int // scenarios
	names   []name
	globs   []string // that scenarios ask for
	changes []applied
	byName  [][]int32      // by code of a name: indexes of changes that may apply to its rows
	units   [][]float64    // factors of units, by scenario: by code of the name, if ranked for each process
	ranked  bool           // factors of units differ between ranks
	asks    [numWhats]bool // whether some scenario has such a change: what none asks for is not followed
	plain   bool           // no change of host time
	keep    []bool         // by scenario: waits for other threads keep their length
	isAhead []bool         // by scenario: it is without the waits that bring tokens back
	ahead   bool           // some scenario is
	know    *known
	paths
	whys whys
}

// applied is a change in a scenario.
type applied struct {
	Change
	scenario int
	at       int32 // the path where it is placed: -1 for outside all ranges, nowhere until a thread has been there
	met      *bool // whether something in the trace has its name or why, or was stopped by a CPU limit
}

// newPlan prepares scenarios for a trace.
func newPlan(t *Trace, scenarios []Scenario, know *known) *plan {
	p := &plan{n: len(scenarios), names: t.names.all, globs: t.names.globs, plain: true, know: know}
	for s := range scenarios {
		p.keep = append(p.keep, scenarios[s].Keep)
		p.isAhead = append(p.isAhead, slices.ContainsFunc(scenarios[s].Changes, func(c Change) bool { return c.tokens == forTokens }))
		p.ahead = p.ahead || p.isAhead[s]
		for _, c := range scenarios[s].Changes {
			p.add(applied{c, s, nowhere, new(bool)})
		}
	}
	p.whys.n, p.whys.factors, p.whys.names = p.n, map[idle.Why][]float64{}, p.names
	p.byName = make([][]int32, len(p.names))
	for code := range p.names {
		for k := range p.changes {
			if c := &p.changes[k]; c.what >= rangeTime && c.what <= noWait && c.what != unitTime && p.fits(c, c.glob, code) {
				p.byName[code] = append(p.byName[code], int32(k))
			}
		}
	}
	if p.units = make([][]float64, len(p.names)); p.ranked {
		p.units = make([][]float64, len(p.names)*len(t.processes))
	}
	return p
}

// add adds a change.
func (p *plan) add(c applied) {
	if c.path == "" {
		c.at = -1
	}
	p.asks[c.what] = true
	p.plain = p.plain && c.what == unitTime
	p.ranked = p.ranked || c.what == unitTime && c.rank != nil
	if p.placed = p.placed || c.placed; p.placed && p.ids == nil {
		p.ids = map[pathStep]int32{}
	}
	if c.what == whyHost || c.what == limitTime || c.what == lostTime {
		p.whys.changes = append(p.whys.changes, c)
	}
	p.changes = append(p.changes, c)
}

// unmet returns a change of a scenario that applies to nothing in the trace, "" for
// none.
func (p *plan) unmet(scenario int) string {
	for _, c := range p.changes {
		if c.scenario == scenario && !*c.met && (c.glob != "" || c.what == limitTime) {
			return c.String()
		}
	}
	return ""
}

// fits reports whether a glob of a change matches the name code.
func (p *plan) fits(c *applied, glob string, code int) bool {
	n := &p.names[code]
	if c.folded || glob == "" {
		return glob == "" || n.text == glob
	}
	for k, g := range p.globs {
		if g == glob && n.fits>>k&1 != 0 {
			return true
		}
	}
	return false
}

// unit returns the factors, by scenario, of units named code in a process, which is that
// of rank.
func (p *plan) unit(process, rank, code int32) []float64 {
	at := int(code)
	if p.ranked {
		at += int(process) * len(p.names)
	}
	if p.units[at] == nil {
		p.units[at] = slices.Repeat([]float64{1}, p.n)
		for k := range p.changes {
			if c := &p.changes[k]; c.what == unitTime && c.on(rank) && p.fits(c, c.glob, int(code)) {
				*c.met = true
				p.units[at][c.scenario] *= c.Factor
			}
		}
	}
	return p.units[at]
}

// about reports whether a change that may apply to rows of this name applies to this
// open row.
func (p *plan) about(k int32, o *openRow) bool {
	c, th := &p.changes[k], o.thread
	if c.placed && c.at != th.path() || !c.on(th.rank) {
		return false
	}
	switch c.what {
	case rangeTime:
		return o.kind == event.NVTX && (c.glob != "" || c.at >= 0)
	case callTime:
		return o.kind != event.NVTX
	case noWait:
		inside := func(r openRange) bool { return p.fits(c, c.within, int(r.name)) }
		return o.kind == event.API && (c.within == "" || slices.ContainsFunc(th.ranges, inside))
	}
	if !slices.Contains(c.classes, o.class) {
		return false
	}
	switch o.kind {
	case event.OS:
		return th.launches
	case event.NVTX:
		return o.class == event.GC || p.names[o.name].flags&waitsForGIL != 0
	}
	return true
}

// enter starts the changes that apply to a row, at its start.
func (p *plan) enter(o *openRow) {
	if o.kind == event.OS && waitsInOS(o.class) {
		o.thread.waiting++
	}
	for _, k := range p.byName[o.name] {
		if p.about(k, o) {
			p.count(o, k)
		}
	}
	p.refactor(o.thread)
}

// count starts a change at a row.
func (p *plan) count(o *openRow, k int32) {
	th, c := o.thread, &p.changes[k]
	*c.met = true
	if c.what == noWait {
		o.left = append(o.left, k)
		if o.class != event.APISync || c.tokens != anyWait {
			return // only the wait is left out, not what else the call does
		}
	}
	o.changes = append(o.changes, k)
	th.depth[k]++
	if c.Amount == 0 || th.depth[k] > 1 {
		return
	}
	if c.Amount > 0 {
		th.now[c.scenario] += c.Amount
		return
	}
	if th.credit == nil {
		th.credit = make([]int64, p.n)
	}
	th.credit[c.scenario] -= c.Amount
}

// leave stops the changes that apply to a row, at its end.
func (p *plan) leave(o *openRow) {
	th := o.thread
	if o.kind == event.OS && waitsInOS(o.class) {
		th.waiting--
	}
	for _, k := range o.changes {
		if th.depth[k]--; th.depth[k] == 0 && th.credit != nil && p.changes[k].Amount < 0 {
			th.credit[p.changes[k].scenario] = 0
		}
	}
	p.refactor(th)
}

// refactor computes the factors of the host time that follows on a thread.
func (p *plan) refactor(th *thread) {
	for s := range th.factor {
		th.factor[s] = 1
	}
	for k, depth := range th.depth {
		c := &p.changes[k]
		switch {
		case c.what == hostTime && th.waiting == 0:
			th.factor[c.scenario] *= c.Factor
		case c.what == evenTime:
			th.factor[c.scenario] *= p.evenFactor(th)
		case c.what == bareTime && th.launches && c.on(th.rank) && len(th.ranges)+len(th.calls)+th.waiting == 0:
			th.factor[c.scenario] *= c.Factor
		case c.what == allHost, depth > 0 && c.what == noWait:
			th.factor[c.scenario] = 0
		case depth > 0 && c.Amount == 0:
			th.factor[c.scenario] *= c.Factor
		}
	}
}

// spend adds d ns of host time to a thread's new times.
func (p *plan) spend(th *thread, d int64) {
	for s := range th.now {
		th.now[s] += scaled(d, th.factor[s])
	}
	for s, c := range th.credit {
		if c > 0 {
			use := min(c, scaled(d, th.factor[s]))
			th.now[s] -= use
			th.credit[s] -= use
		}
	}
}

// paths are the nestings of ranges, from the outermost in, that threads were seen in.
// Ranges of the interpreter lock and the garbage collector are not part of any.
type paths struct {
	placed bool // some change names a path; otherwise paths are not followed
	ids    map[pathStep]int32
	texts  []string
}

// pathStep is the last range of a path and the path before it, -1 for none.
type pathStep struct{ parent, name int32 }

// nowhere is a path that no thread was in.
const nowhere = int32(-2)

// pathSeparator separates the ranges of a path as text, see idle.Sites.PathText.
const pathSeparator = " > "

// child returns the path that extends parent by a range.
func (p *plan) child(parent, name int32) int32 {
	if !p.placed || parent == nowhere {
		return nowhere
	}
	s := pathStep{parent, p.names[name].same}
	if id, ok := p.ids[s]; ok {
		return id
	}
	if len(p.texts) >= maxPaths {
		return nowhere
	}
	id, text := int32(len(p.texts)), p.names[name].text
	if parent >= 0 {
		text = p.texts[parent] + pathSeparator + text
	}
	p.ids[s], p.texts = id, append(p.texts, text)
	for k := range p.changes {
		if c := &p.changes[k]; c.placed && c.path == text {
			c.at = id
		}
	}
	return id
}

// openRange is an open range of a thread, and its path. If the range is not part of
// paths (around), it is the path around it.
type openRange struct {
	name, path int32
	around     bool
}

// path returns the path of the open ranges of a thread, -1 for none.
func (th *thread) path() int32 {
	if n := len(th.ranges); n > 0 {
		return th.ranges[n-1].path
	}
	return -1
}

// enterRange opens a range.
func (p *plan) enterRange(o *openRow) {
	if th := o.thread; p.names[o.name].flags&(waitsForGIL|holdsGIL) == 0 {
		th.ranges = append(th.ranges, openRange{name: o.name, around: o.class == event.GC})
		p.repath(th, len(th.ranges)-1)
	}
}

// leaveRange closes the latest open range of a name.
func (p *plan) leaveRange(th *thread, name int32) {
	k := len(th.ranges) - 1
	for k >= 0 && th.ranges[k].name != name {
		k--
	}
	if k >= 0 {
		th.ranges = append(th.ranges[:k], th.ranges[k+1:]...)
		p.repath(th, k)
	}
}

// repath computes the paths of the open ranges from k on. There are several if ranges
// overlap.
func (p *plan) repath(th *thread, k int) {
	for ; k < len(th.ranges); k++ {
		r := &th.ranges[k]
		r.path = -1
		if k > 0 {
			r.path = th.ranges[k-1].path
		}
		if !r.around {
			r.path = p.child(r.path, r.name)
		}
	}
}
