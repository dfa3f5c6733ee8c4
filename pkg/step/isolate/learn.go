package isolate

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// rule identifies the steps of a rank without markers.
type rule struct {
	begins []bool // by token: a step begins at the collective or replay that it precedes
	groups int    // whole steps that it was learned from
	single bool   // each graph replay is a step
	silent bool   // there was no evidence at all
	why    string // what was ambiguous, "" for nothing
}

// learner holds back the rows of a rank without markers, from a collective on. It does
// so until it is known how to identify steps, or to the end.
type learner struct {
	held  output // copies of the rows
	rows  int    // how many are held
	retry int    // number of rows at which to try again
	run   run
	rule  *rule // result of the last try
	whole int   // replays that begin with an embedding: each is a forward pass
}

// learns reports whether the steps of the rank have to be learned before its next
// collective is processed.
func (s *structure) learns() bool {
	return s.rule == nil && s.learner == nil && !s.replaying &&
		(s.plan.method == step.Graph || s.plan.method == step.Allreduce && !s.plan.gapsAlone && !s.marked)
}

// learn holds rows i to j and learns from them, until it is time to decide. The first
// one is a collective, or for graph any row.
func (r *rank) learn(b *event.Batch, i, j int) error {
	r.put(i)
	if r.learner == nil {
		if r.device < 0 && r.plan.method == step.Allreduce {
			r.device = b.Device.Values[i]
		}
		r.context.reset()
		r.learner = &learner{retry: minHeld, held: output{pool: &pool{columns: b.Columns}}}
	}
	l := r.learner
	l.held.add(b, i, j)
	l.held.seal(event.BatchRows)
	l.rows += j - i
	r.from = j
	for ; i < j; i++ {
		r.read(b, i)
	}
	switch {
	case r.marked && r.plan.method == step.Allreduce:
	case l.rows >= maxHeld, l.run.units == 0 && l.rows >= minHeld:
		l.rule = l.run.rule(r.context.words.all)
	case l.rows >= l.retry:
		l.retry *= 2
		if l.rule = l.run.rule(r.context.words.all); l.rule.why != "" || l.rule.groups < minGroups {
			return nil
		}
	default:
		return nil
	}
	return r.learned()
}

// read learns from row k. What runs inside a replay does not say where the replay stands
// among others.
func (s *structure) read(b *event.Batch, k int) {
	l, kind, graph := s.learner, b.Kind.Values[k], s.plan.method == step.Graph
	switch {
	case kind == event.NVTX:
		if class, ok := b.Class.Get(k); !graph && !s.marked && (ok && class == event.StepMarker || s.plan.custom) {
			_, s.marked = s.plan.marker.Parse(string(b.Name.Get(k)))
		}
		return
	case graph && (kind == event.Kernel || kind == event.Graph) && isReplay(b, k):
		if s.device < 0 {
			s.device = b.Device.Values[k]
		}
		launch, ok := b.Correlation.Get(k)
		if !ok || b.Device.Values[k] != s.device || !s.context.begun(launch) {
			return
		}
		l.whole += b2n(kind == event.Kernel && isEmbedding(string(b.Name.Get(k))))
	case !s.isUnit(b, k):
		s.between(b, k)
		return
	}
	s.launched(b, k)
	l.run.units++
}

// learned ends the learning: it sets the rule and processes the rows that were held.
func (r *rank) learned() (err error) {
	l := r.learner
	if u := l.rule; !r.marked && l.run.units > 0 {
		if r.plan.method == step.Graph { // each replay is a step, unless the period has several
			u.single = u.why != ""
			switch {
			case u.silent && float64(l.whole) >= step.Enough*float64(l.run.units):
				u.why = ""
			case u.why != "":
				u.why = "a step may span several graph replays; a forward pass without a replay joins the step before it"
			}
		}
		r.rule, r.want = u, u.wants(r.plan.want, r.context.words.all)
	}
	r.learner = nil
	r.context.reset()
	r.begins = false
	in, from := r.in, r.from
	r.replaying = true
	for _, b := range l.held.batches {
		if err == nil && b.Len > 0 {
			err = r.use(b, 0, b.Len)
		}
		r.out.pool.put(b)
	}
	r.replaying = false
	r.in, r.from = in, from
	return err
}

// wants returns the rows to stop at: want, and the rows whose tokens begin a step.
func (u *rule) wants(want [event.MaxKinds]uint32, all []token) [event.MaxKinds]uint32 {
	for t, begins := range u.begins {
		switch t := int32(t); {
		case !begins:
		case t == tokenSync:
			want[event.API] |= 1 << event.APISync
		case t < firstName:
			want[event.Memcpy] = ^uint32(0)
		case all[t].class >= 0:
			want[event.Kernel] |= 1 << uint32(all[t].class)
		}
	}
	return want
}
