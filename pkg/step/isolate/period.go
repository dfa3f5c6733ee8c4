package isolate

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
)

// kind is a kind of evidence for where a step begins. Every step has each kind once, or
// the run does not have it.
type kind int

const (
	byEmbedding kind = iota // the kernel that looks up embeddings
	byInput                 // copies to the GPU
	bySync                  // the host waits for the GPU
	byHead                  // kernels that turn logits into tokens
	byOutput                // copies from the GPU
	numKinds
)

// lastOnset is the last kind that stands at the beginning of a step. For the kinds after
// it the place in the step is unknown.
const lastOnset = bySync

// run is what precedes the collectives, or replays, of a device in a stretch without
// markers.
type run struct {
	units  int32     // how many collectives or replays
	places [][]int32 // by token: the units that it precedes, by index, sorted
}

// add records that a token precedes the next unit. What precedes the first one was not
// seen in full, and does not count.
func (s *run) add(t int32) {
	for int(t) >= len(s.places) {
		s.places = append(s.places, nil)
	}
	at := s.places[t]
	if n := len(at); s.units > 0 && (n == 0 || at[n-1] != s.units) {
		s.places[t] = append(at, s.units)
	}
}

// evidence is, by kind, the units that evidence of the kind precedes.
type evidence [numKinds][]int32

// evidence returns the evidence in the run.
func (s *run) evidence(all []token) (e evidence) {
	for t, places := range s.places {
		for k := range e {
			if all[t].of>>k&1 != 0 {
				e[k] = union(e[k], places)
			}
		}
	}
	return e
}

// fit is a candidate period of a run.
type fit struct {
	at    []int32 // the units with which its repetitions begin, by index
	kinds []kind  // of evidence that occurs once in each repetition
	score int     // number of kinds, less the kinds that recur otherwise
}

// fits returns the periods that cover the run. It tries the sequence of evidence before
// each unit, first of all kinds, then without the kinds that end a step. A draft model
// may have these any number of times. Units without evidence before them, as inside
// layers, are left out.
func (s *run) fits(e *evidence, tokens []token) (all []fit) {
	for _, kinds := range [...]kind{numKinds, lastOnset + 1} {
		before := make([]int32, s.units+1) // one more for what follows the last unit
		for k, places := range e[:kinds] {
			for _, at := range places {
				before[at] |= 1 << k
			}
		}
		var at, symbols []int32
		for i, v := range before {
			if v != 0 {
				at, symbols = append(at, int32(i)), append(symbols, v)
			}
		}
		merge(symbols)
		for _, r := range step.RepeatCandidates(symbols, maxLag) {
			if f := fitOf(at, symbols, r); f != nil {
				f.weigh(e, s, tokens)
				all = append(all, *f)
			}
		}
	}
	return all
}

// weigh finds the kinds of evidence that each repetition has once. It suffices that one
// token of a kind occurs once: making tokens may extend across a collective of the
// sampler.
func (f *fit) weigh(e *evidence, s *run, all []token) {
	for k, places := range e {
		is := once(f.at, places) >= step.Enough
		for t, places := range s.places {
			is = is || all[t].of>>k&1 != 0 && once(f.at, places) >= step.Enough
		}
		switch {
		case len(places) < minRepetitions:
		case is:
			f.kinds = append(f.kinds, kind(k))
			f.score++
		default:
			f.score--
		}
	}
}

// merge makes symbols (sets of kinds of evidence) equal that share half of their
// elements, by replacing each with the most frequent one. This makes an eager pass equal
// to a replayed one.
func merge(symbols []int32) {
	var counts [1 << numKinds]int
	for _, v := range symbols {
		counts[v]++
	}
	for i, v := range symbols {
		for other, n := range counts {
			if n > counts[symbols[i]] && stat.MostOf(bits.OnesCount(uint(other)&uint(v)), bits.OnesCount(uint(other)|uint(v))) {
				symbols[i] = int32(other)
			}
		}
	}
}

// fitOf returns the period of a repeat, nil if it is too short or does not cover the
// sequence.
func fitOf(at, symbols []int32, r step.Repeat) *fit {
	if r.To-r.From < minRepetitions*r.Lag {
		return nil
	}
	from := r.Unit(symbols)
	a := step.Align(symbols, symbols[from:from+r.Lag])
	a.Keep(r.Lag)
	if a.Repetitions < minRepetitions || float64(a.Aligned) < step.Enough*float64(len(symbols)) {
		return nil
	}
	f := &fit{}
	for i, turn := a.Prologue, -1; i < len(symbols)-a.Epilogue; i++ {
		if a.Turn[i] != turn {
			turn = a.Turn[i]
			f.at = append(f.at, at[i])
		}
	}
	return f
}

// rule learns from the run how to identify its steps. They are the repetitions of the
// period with the best score. A step begins where the first kind of evidence stands that
// each repetition has once.
func (s *run) rule(all []token) *rule {
	e := s.evidence(all)
	u := &rule{silent: !slices.ContainsFunc(e[:], func(at []int32) bool { return len(at) >= minRepetitions })}
	best, rival := s.best(&e, all)
	if best == nil {
		u.why = fmt.Sprintf("no repeating period covers %.0f %% of the work", 100*step.Enough)
		return u
	}
	at, kinds := best.at, best.kinds
	onset := len(kinds) > 0 && kinds[0] <= lastOnset
	if onset {
		at = e[kinds[0]]
	}
	u.groups = max(0, len(at)-1)
	clear := u.beginAt(at, s.places)
	switch {
	case rival != nil:
		u.why = fmt.Sprintf("a period of %d of them fits as well as one of %d", int(s.units)/len(rival.at), int(s.units)/len(best.at))
	case best.score < 0 && len(kinds) <= 1, !onset, !clear:
		u.why = "it is not clear which once-per-step work comes first"
	}
	return u
}

// best returns the period with the highest score, and another one with the same score
// that gives other steps; nil if there is none.
func (s *run) best(e *evidence, tokens []token) (best, rival *fit) {
	all := s.fits(e, tokens)
	for i := range all {
		if best == nil || all[i].score > best.score {
			best = &all[i]
		}
	}
	for i := range all {
		if f := &all[i]; f.score == best.score && once(best.at, f.at) < step.Enough && once(f.at, best.at) < step.Enough {
			rival = f
		}
	}
	return best, rival
}

// beginAt selects the tokens that begin steps: those that occur where steps begin and
// hardly anywhere else. It takes the most frequent first, as many as are needed for
// nearly all steps. It reports whether they suffice.
func (u *rule) beginAt(at []int32, places [][]int32) bool {
	var tokens []int
	for t, places := range places {
		if both := common(at, places); both > 0 && both >= (1-maxStray)*float64(len(places)) {
			tokens = append(tokens, t)
		}
	}
	slices.SortStableFunc(tokens, func(a, b int) int { return cmp.Compare(common(at, places[b]), common(at, places[a])) })
	u.begins = make([]bool, len(places))
	var covered []int32
	for _, t := range tokens {
		if more := union(covered, places[t]); common(at, more) > common(at, covered) {
			covered, u.begins[t] = more, true
		}
	}
	return common(at, covered) >= (1-maxStray)*float64(len(at))
}
