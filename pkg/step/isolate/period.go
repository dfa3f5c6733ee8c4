package isolate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/hostbound/hostbound/pkg/step"
)

// kind is a kind of evidence for where a step begins. A step has each once, or does not
// have it.
type kind int

const (
	byEmbedding kind = iota // the kernel that looks up embeddings
	byInput                 // copies to the GPU
	byReplay                // another graph replay
	bySync                  // the host waits for the GPU
	byHead                  // the kernels that make tokens of the logits
	byOutput                // copies from the GPU
	numKinds
)

// lastOnset is the last of the kinds of what stands at the beginning of a step; of what
// comes after them it is not known where in a step it stands.
const lastOnset = bySync

// run is the sequence of a device's collectives, or replays, in a stretch without markers: what
// lies before each of them.
type run struct {
	tokens []int32 // of all collectives, each token once a collective
	ends   []int   // where those of each collective end in tokens
	at     []int   // of each token, the number of the collective it lay before last, plus 1
}

// add notes that a token lies before the next collective.
func (s *run) add(t int32) {
	for int(t) >= len(s.at) {
		s.at = append(s.at, 0)
	}
	if n := len(s.ends) + 1; s.at[t] != n {
		s.at[t] = n
		s.tokens = append(s.tokens, t)
	}
}

// evidence is where in a run what a step has once lies.
type evidence struct {
	tokens []token           // that are known
	places [][]int32         // of each, the collectives that it lies before
	kinds  [numKinds][]int32 // of each kind
}

// evidence returns what there is in the run. What came before the first collective was not seen.
func (s *run) evidence(all []token) *evidence {
	e := &evidence{places: make([][]int32, max(len(s.at), int(firstName)))}
	e.tokens = all[:len(e.places)]
	for i := 1; i < len(s.ends); i++ {
		for _, t := range s.tokensOf(int32(i)) {
			e.places[t] = append(e.places[t], int32(i))
		}
	}
	for t, one := range e.tokens {
		for k := range numKinds {
			if one.of>>k&1 != 0 {
				e.kinds[k] = union(e.kinds[k], e.places[t])
			}
		}
	}
	return e
}

// fit is a period that a run may have.
type fit struct {
	at    []int32 // the collectives with which its repetitions begin, by their number
	kinds []kind  // of evidence that each repetition has once
	score int     // how many of them, less those that recur otherwise
}

// fits returns the periods that cover the run. What repeats is looked for from the shortest
// period on: what repeats by itself, as layers do, is left out of what is longer, and so are
// its kernels, as they do not tell one collective from another.
func (s *run) fits(e *evidence) (all []fit) {
	inner := make([]bool, len(e.tokens))
	inner[tokenReplay] = true // an eager pass is a step as one that is replayed
	own := func(t int32) int32 {
		if inner[t] {
			return int32(len(inner))
		}
		return t
	}
	parts := make([]int32, len(s.ends))
	for i := range parts {
		parts[i] = int32(i)
	}
	kind := func(t int32) int32 { return int32(bits.TrailingZeros8(e.tokens[t].of)) }
	all = fitsOf(s.symbols(parts, kind, int32(numKinds)))
	for len(parts) >= minRepetitions {
		var symbols []int32
		parts, symbols = s.symbols(parts, own, int32(len(inner)))
		all = append(all, fitsOf(parts, symbols)...)
		n := len(parts)
		if parts = s.collapse(parts, symbols, inner, e); len(parts) == n {
			break
		}
	}
	for i := range all {
		f := &all[i]
		for k := range numKinds {
			// It is enough that one token of a kind is there once: what makes tokens stretches over a
			// collective of the sampler.
			is := once(f.at, e.kinds[k]) >= minCover
			for t, one := range e.tokens {
				is = is || one.of>>k&1 != 0 && once(f.at, e.places[t]) >= minCover
			}
			switch {
			case len(e.kinds[k]) < minRepetitions:
			case is:
				f.kinds = append(f.kinds, k)
				f.score++
			default:
				f.score--
			}
		}
	}
	return all
}

// fitsOf returns the periods that cover a sequence of symbols.
func fitsOf(parts, symbols []int32) (all []fit) {
	for _, r := range step.RepeatCandidates(symbols, maxLag) {
		if f := fitOf(parts, symbols, r); f != nil {
			all = append(all, *f)
		}
	}
	return all
}

// fitOf returns the period of a run of a lag, nil where the run is too short for one, or it does
// not cover the sequence, or repeats a shorter one.
func fitOf(parts, symbols []int32, r step.Repeat) *fit {
	if r.To-r.From < minRepetitions*r.Lag {
		return nil
	}
	at := r.Unit(symbols)
	unit := symbols[at : at+r.Lag]
	for part := 1; part < r.Lag; part++ {
		if r.Lag%part == 0 && slices.Equal(unit[part:], unit[:r.Lag-part]) {
			return nil
		}
	}
	has, n := make([]bool, slices.Max(symbols)+1), 0
	for _, v := range unit {
		has[v] = true
	}
	for _, v := range symbols {
		n += b2n(has[v])
	}
	if float64(n) < minCover*float64(len(symbols)) { // no alignment covers more
		return nil
	}
	a := step.Align(symbols, unit)
	a.Keep(r.Lag)
	if a.Repetitions < minRepetitions || float64(a.Aligned) < minCover*float64(len(symbols)) {
		return nil
	}
	f := &fit{}
	for i, turn := a.Prologue, -1; i < len(symbols)-a.Epilogue; i++ {
		if a.Turn[i] != turn {
			turn = a.Turn[i]
			f.at = append(f.at, parts[i])
		}
	}
	return f
}

// collapse leaves out what repeats with the shortest lag, and notes its tokens: what holds
// least evidence of a step first, as the layers of one step may repeat with the lag with which
// others do.
func (s *run) collapse(parts, symbols []int32, inner []bool, e *evidence) (kept []int32) {
	var runs []step.Repeat
	for kinds := 0; kinds <= int(numKinds) && len(runs) == 0; kinds++ {
		for lag := 1; lag <= min(maxLag, len(symbols)/2) && len(runs) == 0; lag++ {
			runs = slices.DeleteFunc(step.Repeats(symbols, lag), func(r step.Repeat) bool {
				return s.kindsIn(parts[r.From:r.From+lag], e) > kinds
			})
		}
	}
	from := 0
	for _, r := range runs {
		if r.From < from { // it begins inside the one before
			continue
		}
		kept = append(kept, parts[from:r.From]...)
		for _, part := range parts[r.From:r.To] {
			for _, t := range s.tokensOf(part) {
				inner[t] = true
			}
		}
		from = r.To
	}
	return append(kept, parts[from:]...)
}

// kindsIn is how many kinds of evidence lie before some collectives.
func (s *run) kindsIn(parts []int32, e *evidence) int {
	kinds := uint8(0)
	for _, part := range parts {
		for _, t := range s.tokensOf(part) {
			kinds |= e.tokens[t].of
		}
	}
	return bits.OnesCount8(kinds)
}

// tokensOf returns what lies before a collective.
func (s *run) tokensOf(i int32) []int32 {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.tokens[from:s.ends[i]]
}

// symbols numbers collectives by what lies before them, as of has it where that is below most: but
// for what repeats inside a step, and for how it was launched: an eager pass is a step as one
// that is replayed. Two that share half of what they have are the same, and those are left out
// that have nothing.
func (s *run) symbols(parts []int32, of func(t int32) int32, most int32) (kept, symbols []int32) {
	type signature struct {
		set    []int32
		n      int // how often it is there
		symbol int32
	}
	known := map[string]*signature{}
	var signatures []*signature // the kept
	var set []int32
	var key []byte
	for _, part := range parts {
		set = set[:0]
		for _, t := range s.tokensOf(part) {
			if v := of(t); v < most {
				set = append(set, v)
			}
		}
		if len(set) == 0 {
			continue
		}
		slices.Sort(set)
		set = slices.Compact(set)
		key, _ = binary.Append(key[:0], binary.NativeEndian, set)
		one := known[string(key)]
		if one == nil {
			one = &signature{set: slices.Clone(set)}
			known[string(key)] = one
		}
		one.n++
		kept, signatures = append(kept, part), append(signatures, one)
	}
	// The most frequent ones come first: the others are like them.
	order := slices.SortedFunc(maps.Values(known), func(a, b *signature) int {
		return cmp.Or(b.n-a.n, slices.Compare(a.set, b.set))
	})
	var leaders []*signature
	for i, one := range order {
		one.symbol = int32(i)
		k := slices.IndexFunc(leaders, func(other *signature) bool {
			both := int(common(one.set, other.set))
			return mostOf(both, len(one.set)+len(other.set)-both)
		})
		if k >= 0 {
			one.symbol = leaders[k].symbol
		} else if len(leaders) < maxLag {
			leaders = append(leaders, one)
		}
	}
	for _, one := range signatures {
		symbols = append(symbols, one.symbol)
	}
	return kept, symbols
}

// rule learns from the run how to identify its steps: they are the repetitions of the period
// with which most kinds of evidence go, which also say where in it a step begins: where the first
// kind stands that each repetition has once.
func (s *run) rule(all []token) *rule {
	e := s.evidence(all)
	u := &rule{silent: !slices.ContainsFunc(e.kinds[:], func(at []int32) bool { return len(at) >= minRepetitions })}
	best, rival := s.best(e)
	if best == nil {
		u.embed, u.why = true, fmt.Sprintf("no repeating period covers %.0f %% of the work", 100*minCover)
		return u
	}
	at, kinds := best.at, best.kinds
	onset := len(kinds) > 0 && kinds[0] <= lastOnset
	if onset {
		at = e.kinds[kinds[0]]
	}
	u.copies = slices.Contains(kinds, byOutput)
	u.groups = max(0, len(at)-1)
	u.each = float64(len(s.ends)-1-len(at)) <= maxStray*float64(len(s.ends))
	clear := u.beginAt(at, e)
	switch {
	case best.score < 0 && len(kinds) < 2 || !slices.ContainsFunc(kinds, func(k kind) bool { return k != byReplay }):
		u.why = "no once-per-step work recurs with the period"
	case rival != nil:
		u.why = fmt.Sprintf("a period of %d of them fits as well as one of %d", len(s.ends)/len(rival.at), len(s.ends)/len(best.at))
	case !onset:
		u.why = "it is not clear which once-per-step work comes first"
	case !clear:
		u.why = "the work that begins a step also occurs inside steps"
	}
	return u
}

// best returns the period with which most kinds of evidence go, and one of other steps with
// which as many do; nil where there is none.
func (s *run) best(e *evidence) (best, rival *fit) {
	all := s.fits(e)
	for i := range all {
		if best == nil || all[i].score > best.score {
			best = &all[i]
		}
	}
	for i := range all {
		if f := &all[i]; f.score == best.score && once(best.at, f.at) < minCover && once(f.at, best.at) < minCover {
			rival = f
		}
	}
	return best, rival
}

// beginAt has the rule begin steps with tokens that lie where steps begin and hardly anywhere else: of
// them those that are needed for nearly all of the steps, the most frequent first. It says whether
// there are enough.
func (u *rule) beginAt(at []int32, e *evidence) bool {
	var tokens []int
	for t, places := range e.places {
		if both := common(at, places); both > 0 && both >= (1-maxStray)*float64(len(places)) {
			tokens = append(tokens, t)
		}
	}
	slices.SortStableFunc(tokens, func(a, b int) int { return cmp.Compare(common(at, e.places[b]), common(at, e.places[a])) })
	u.begins = make([]bool, len(e.places))
	var covered []int32
	for _, t := range tokens {
		if more := union(covered, e.places[t]); common(at, more) > common(at, covered) {
			covered, u.begins[t] = more, true
			u.embed = u.embed || e.tokens[t].of>>byEmbedding&1 != 0
		}
	}
	return common(at, covered) >= (1-maxStray)*float64(len(at))
}
