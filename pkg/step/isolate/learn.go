package isolate

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// learner holds back the rows of a rank without markers, from a collective on,
// until it is known how to identify steps: to the end of the segment, or where
// that is long as far as enough is known.
type learner struct {
	clock         // as if the rows that are held were used
	held   output // copies of the rows
	rows   int    // how many there are
	retry  int    // the number of rows at which to try
	run    run
	marked bool  // there is a marker after all
	ended  bool  // no GPU activity since the end of a segment
	tried  int   // rows when the structure was last looked for
	rule   *rule // what was found then
	whole  int   // replays that begin with an embedding: each is a forward pass
}

// unmarked is a rank whose steps are learned, from replays or from collectives without markers.
type unmarked struct{ *rank }

// learns says whether the steps of the rank have to be learned before its next
// collective is used.
func (r unmarked) learns() bool {
	switch {
	case r.rule != nil, r.replaying:
		return false
	case r.plan.method == step.Graph:
		return true
	}
	return r.plan.method == step.Allreduce && !r.plan.gapsAlone && !r.marked && r.markers.ids == 0
}

// learn begins to learn with row k, a collective, or by graph any row.
func (r unmarked) learn(b *event.Batch, k int) {
	if r.device < 0 && r.plan.method == step.Allreduce {
		r.device = b.Device.Values[k]
	}
	r.put(k)
	r.context.reset()
	r.learner = &learner{retry: minHeld, clock: r.clock, held: output{pool: &pool{columns: b.Columns}}}
}

// hold holds rows i to j as far as they belong to the segment. It returns the
// first that does not, and whether it is time to decide.
func (r unmarked) hold(b *event.Batch, i, j int) (next int, done bool) {
	l := r.learner
	starts, ends, kinds := b.Start.Values[:j], b.End.Values[:j], b.Kind.Values[:j]
	from := i
	for ; i < j && !done; i++ {
		t := starts[i]
		if !l.ended && (l.rows > 0 && t-r.plan.segmentGap > l.frontier || t >= l.border) {
			if done = l.decides(r.rank); done {
				break
			}
			l.ended = true
			l.passBorders(t)
		}
		if r.plan.busy>>uint32(kinds[i])&1 != 0 && ends[i] > t {
			l.frontier, l.ended = max(l.frontier, ends[i]), false
		}
		r.row(b, i)
		l.rows++
		done = l.marked || l.rows >= maxHeld || len(l.run.ends) == 0 && l.rows >= minHeld
	}
	l.held.seal(event.BatchRows)
	l.held.add(b, from, i)
	if !done && l.rows >= l.retry {
		l.retry *= 2
		done = l.decides(r.rank)
	}
	return i, done
}

// decides says whether what was seen is enough. A segment that is too short to
// learn from waits for those after it.
func (l *learner) decides(r *rank) bool {
	if float64(l.rows) < growth*float64(l.tried) {
		return false
	}
	l.find(r)
	u := l.rule
	// Where there is no evidence of a cycle in fewer replays, there may be a longer one.
	silent := r.plan.method == step.Graph && u.silent && len(l.run.ends) >= minRepetitions*maxLag
	return silent || u.why == "" && u.groups >= minGroups
}

// find looks for the rule.
func (l *learner) find(r *rank) {
	l.tried, l.rule = l.rows, l.run.rule(&r.context.names)
	l.rule.whole = float64(l.whole) >= minCover*float64(len(l.run.ends))
}

// row uses row k. What is inside a replay says nothing about where it stands among others.
func (r unmarked) row(b *event.Batch, k int) {
	l, kind := r.learner, b.Kind.Values[k]
	class, classed := b.Class.Get(k)
	replay := r.plan.method == step.Graph && (kind == event.Kernel || kind == event.Graph) && isReplay(b, k)
	if replay && r.device < 0 {
		r.device = b.Device.Values[k]
	}
	switch {
	case kind == event.NVTX:
		if r.plan.method != step.Graph && (classed && class == event.StepMarker || r.plan.custom) {
			_, l.marked = r.plan.marker.Parse(string(b.Name.Get(k)))
		}
	case replay:
		launch, ok := b.Correlation.Get(k)
		if !ok || b.Device.Values[k] != r.device || !r.context.begun(launch) {
			return
		}
		l.whole += b2n(kind == event.Kernel && isEmbedding(string(b.Name.Get(k))))
		fallthrough
	case r.isUnit(b, k):
		r.unit(b, k)
		l.run.collective()
	default:
		r.between(b, k)
	}
}

// learned ends the learning: it sets the rule, and uses the rows that were held.
func (r unmarked) learned() error {
	l := r.learner
	r.learner = nil
	if r.marked = l.marked; !r.marked && len(l.run.ends) > 0 {
		if l.rule == nil || l.tried < l.rows {
			l.find(r.rank)
		}
		r.setRule(l.rule)
	}
	r.context.reset()
	r.begins = false
	r.replaying = true
	defer func() { r.replaying = false }()
	for _, b := range l.held.batches {
		for i := 0; i < b.Len; {
			k, err := r.use(b, i, b.Len)
			if err != nil {
				return err
			}
			i = k
		}
		r.out.pool.put(b)
	}
	return nil
}

// isReplay says whether a graph launch ran row k of the GPU.
func isReplay(b *event.Batch, k int) bool {
	if b.Kind.Values[k] == event.Graph {
		return b.End.Values[k] > b.Start.Values[k]
	}
	return b.GraphNode.Valid.Get(k)
}

// isUnit says whether row k is a collective that steps are made of.
func (r unmarked) isUnit(b *event.Batch, k int) bool {
	return r.plan.method == step.Allreduce && b.Kind.Values[k] == event.Kernel && (r.device < 0 || b.Device.Values[k] == r.device) &&
		b.Class.Valid.Get(k) && b.Class.Values[k] == event.Allreduce
}
