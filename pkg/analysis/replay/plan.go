package replay

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// plan is scenarios made ready for the names of a trace: what each change is about.
type plan struct {
	n       int // scenarios
	names   []name
	globs   []string // that names were asked for
	changes []applied
	byName  [][]int32   // ranges and calls: changes by code of the name
	around  []int32     // changes of ranges by their path alone
	calls   []int32     // changes of all calls that launch
	units   [][]float64 // factor of units by code of the name
	ofRank  []applied   // changes of units of one rank
	host    []float64   // factor of all host time
	system  []bool      // and it is that of the operating system's calls, too
	keep    []bool      // waits for other threads keep their length
	others  []bool      // without waits but those that bring tokens back
	ahead   []bool      // without those that bring tokens back
	asked

	graphCall, nodeGap int64 // what launching a graph takes, and the time between its kernels
	paths              *paths
	whys               whys
	even               []bool // by scenario: host time is even over ranks, nil for none
}

// asked is what changes are about at all: what none asks for need not be followed.
type asked struct {
	plain   bool // no scenario changes host time
	classed bool // changes are about classes of rows
	loads   bool // and about code that is loaded
	loses   bool // or about lost CPUs
	graphs  bool // or about forward passes without a graph
}

// applied is a change in a scenario.
type applied struct {
	Change
	scenario int
}

// newPlan makes scenarios ready.
func newPlan(known *names, scenarios []Scenario) *plan {
	n, names := len(scenarios), known.all
	p := &plan{n: n, names: names, globs: known.globs, asked: asked{plain: true}, host: make([]float64, n), system: make([]bool, n), keep: make([]bool, n), others: make([]bool, n), ahead: make([]bool, n)}
	all := slices.Repeat([]float64{1}, n)
	for s := range scenarios {
		p.host[s], p.keep[s] = 1, scenarios[s].Keep
		for _, c := range scenarios[s].Changes {
			p.add(c, s, all)
		}
	}
	p.paths = newPaths(names, p.changes)
	p.whys.factors, p.whys.names = map[idle.Why][]float64{}, names
	p.byName, p.units = make([][]int32, len(names)), make([][]float64, len(names))
	for code := range names {
		p.units[code] = all
		p.name(code, all)
	}
	return p
}

// add adds a change; all are the factors of all units.
func (p *plan) add(c Change, s int, all []float64) {
	k := int32(len(p.changes))
	p.changes = append(p.changes, applied{c, s})
	p.plain = p.plain && (c.what == gpuTime || c.what == kernelTime)
	switch {
	case c.what == hostTime:
		p.host[s] *= c.Factor
	case c.what == allHost:
		p.host[s], p.system[s] = 0, true
	case c.what == gpuTime && c.rank == nil:
		all[s] *= c.Factor
	case c.what == gpuTime:
		p.ofRank = append(p.ofRank, applied{c, s})
	case c.what == classTime:
		p.classed, p.loads = true, p.loads || slices.Contains(c.classes, event.Load)
	case c.what == lostTime:
		p.loses = true
	case c.what == graphTime:
		p.graphs = true
	case c.what == whyHost:
		p.whys.changes = append(p.whys.changes, whyChange{s, c.glob, c.rank, c.Factor, false})
	case c.what == limitTime:
		p.whys.changes = append(p.whys.changes, whyChange{s, "", c.rank, 0, true})
	case c.what == evenTime:
		if p.even == nil {
			p.even = make([]bool, p.n)
		}
		p.even[s] = true
	case c.what == otherWaits:
		p.others[s] = true
	case c.what == aheadOfTokens:
		p.ahead[s] = true
	case c.what == launchTime:
		p.calls = append(p.calls, k)
	case c.what == rangeTime && c.placed && c.glob == "":
		p.around = append(p.around, k)
	}
}

// name finds the changes that are about a name.
func (p *plan) name(code int, all []float64) {
	for k := range p.changes {
		c := &p.changes[k]
		switch {
		case c.glob == "" || c.what == whyHost || !p.fits(&c.Change, c.glob, code):
		case c.what == kernelTime:
			if &p.units[code][0] == &all[0] {
				p.units[code] = slices.Clone(all)
			}
			p.units[code][c.scenario] *= c.Factor
		default:
			p.byName[code] = append(p.byName[code], int32(k))
		}
	}
}

// fits reports whether a change is about a name.
func (p *plan) fits(c *Change, glob string, code int) bool {
	n := &p.names[code]
	if c.folded {
		return n.text == glob
	}
	for k, g := range p.globs {
		if g == glob && n.fits>>k&1 != 0 {
			return true
		}
	}
	return false
}

// about reports whether a change of rows of this name is about this row.
func (p *plan) about(k int32, o *openRow) bool {
	c := &p.changes[k]
	if c.placed && p.paths.of[k] != o.thread.path() || !c.on(o.thread.rank) {
		return false
	}
	switch c.what {
	case rangeTime:
		return o.kind == event.NVTX
	case callTime:
		return o.kind != event.NVTX
	case noWait:
		return o.kind == event.API && (c.within == "" || p.inside(o.thread, c))
	}
	return false
}

// inside reports whether a range is open that a change is about.
func (p *plan) inside(th *thread, c *applied) bool {
	return slices.ContainsFunc(th.ranges, func(r openRange) bool { return p.fits(&c.Change, c.within, int(r.name)) })
}

// enter makes changes count that are about a row from its start on.
func (p *plan) enter(o *openRow) {
	th := o.thread
	if o.kind == event.OS && waitsInOS(o.class) {
		th.waiting++
	}
	for _, k := range p.byName[o.name] {
		if p.about(k, o) {
			p.count(o, k)
		}
	}
	if p.classed {
		p.enterClass(o)
	}
	if o.kind == event.NVTX {
		for _, k := range p.around {
			if at := th.path(); p.paths.of[k] == at && at >= 0 && p.changes[k].on(th.rank) {
				p.count(o, k)
			}
		}
	}
	if o.kind == event.API && (o.class == event.Launch || o.class == event.GraphLaunch) {
		for _, k := range p.calls {
			p.count(o, k)
		}
	}
	p.refactor(th)
}

// count makes a change count from a row on.
func (p *plan) count(o *openRow, k int32) {
	th, c := o.thread, &p.changes[k]
	if c.what == noWait {
		o.left = append(o.left, k)
		if o.class != event.APISync || c.spare {
			return // what else the call does remains
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

// leave makes changes count no more that are about a row.
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

// refactor finds the factors of the host time that follows on a thread.
func (p *plan) refactor(th *thread) {
	for s := range th.factor {
		if th.factor[s] = p.host[s]; th.waiting > 0 && !p.system[s] {
			th.factor[s] = 1
		}
		if p.even != nil && p.even[s] {
			th.factor[s] *= p.evenFactor(th)
		}
	}
	for k, depth := range th.depth {
		switch c := &p.changes[k]; {
		case c.what == bareTime && th.launches && c.on(th.rank) && len(th.ranges)+len(th.calls)+th.waiting == 0:
			th.factor[c.scenario] *= c.Factor
		case depth == 0:
		case c.what == noWait:
			th.factor[c.scenario] = 0
		case c.Amount == 0:
			th.factor[c.scenario] *= c.Factor
		}
	}
}
