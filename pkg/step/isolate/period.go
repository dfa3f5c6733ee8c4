package isolate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
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

// evidence is where in a run what a step has once lies.
type evidence struct {
	places [][]int32         // of each token, the collectives that it lies before
	kinds  [numKinds][]int32 // of each kind
	of     []uint8           // of each token, the bits of the kinds that it is of
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
	inner := make([]bool, max(len(s.at), int(firstName)))
	own := func(t int32) int32 {
		if t == tokenReplay || inner[t] {
			return int32(len(inner))
		}
		return t
	}
	parts := make([]int32, len(s.ends))
	for i := range parts {
		parts[i] = int32(i)
	}
	kind := func(t int32) int32 { return int32(bits.TrailingZeros8(e.of[t])) }
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
		all[i].support(e)
	}
	return all
}

// fitsOf returns the periods that cover a sequence of symbols.
func fitsOf(parts, symbols []int32) (all []fit) {
	for _, r := range stat.RepeatCandidates(symbols, maxLag) {
		if f := fitOf(parts, symbols, r); f != nil {
			all = append(all, *f)
		}
	}
	return all
}

// fitOf returns the period of a run of a lag, nil where the run is too short for one, or it does
// not cover the sequence, or repeats a shorter one.
func fitOf(parts, symbols []int32, r stat.Repeat) *fit {
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
	a := stat.Align(symbols, unit)
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

// support fills in the evidence that each repetition has once, and what speaks for the period.
// Of a kind it is enough that one of its tokens is there once: what makes tokens stretches over
// a collective of the sampler.
func (f *fit) support(e *evidence) {
	for k := range numKinds {
		is := once(f.at, e.kinds[k]) >= minCover
		for t := range e.of {
			is = is || e.of[t]>>k&1 != 0 && once(f.at, e.places[t]) >= minCover
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

// collapse leaves out what repeats with the shortest lag, and notes its tokens: what holds
// least evidence of a step first, as the layers of one step may repeat with the lag with which
// others do.
func (s *run) collapse(parts, symbols []int32, inner []bool, e *evidence) (kept []int32) {
	var runs []stat.Repeat
	for kinds := 0; kinds <= int(numKinds) && len(runs) == 0; kinds++ {
		for lag := 1; lag <= min(maxLag, len(symbols)/2) && len(runs) == 0; lag++ {
			runs = slices.DeleteFunc(stat.Repeats(symbols, lag), func(r stat.Repeat) bool {
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
			kinds |= e.of[t]
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
		key = key[:0]
		for _, v := range set {
			key = binary.AppendVarint(key, int64(v))
		}
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
		if k := slices.IndexFunc(leaders, func(other *signature) bool { return alike(one.set, other.set) }); k >= 0 {
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

// alike says whether two sets of tokens share half of what they have together.
func alike(a, b []int32) bool {
	both := int(common(a, b))
	return mostOf(both, len(a)+len(b)-both)
}

// rule learns from the run how to identify its steps: they are the repetitions of the period
// with which most kinds of evidence go, which also say where in it a step begins.
func (s *run) rule(n *names) *rule {
	e := s.evidence(n)
	best, rival := s.best(e)
	if best == nil {
		return &rule{embed: true, silent: e.silent(), why: fmt.Sprintf("no repeating period covers %.0f %% of the work", 100*minCover)}
	}
	why := ""
	switch {
	case best.score < 0 && len(best.kinds) < 2 || !slices.ContainsFunc(best.kinds, func(k kind) bool { return k != byReplay }):
		why = "no once-per-step work recurs with the period"
	case rival != nil:
		why = fmt.Sprintf("a period of %d of them fits as well as one of %d", len(s.ends)/len(rival.at), len(s.ends)/len(best.at))
	}
	if !best.setOnset(e) && why == "" {
		why = "it is not clear which once-per-step work comes first"
	}
	u := s.ruleFor(best.at, e.places, n)
	if why != "" {
		u.why = why
	}
	u.copies = slices.Contains(best.kinds, byOutput)
	u.silent = e.silent()
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

// evidence returns what there is in the run, whose names n has.
func (s *run) evidence(n *names) *evidence {
	places := s.places()
	e := &evidence{places: places, of: make([]uint8, len(places))}
	add := func(k kind, t int) {
		e.kinds[k], e.of[t] = union(e.kinds[k], places[t]), e.of[t]|1<<k
	}
	for i, name := range n.list[:len(places)-int(firstName)] {
		t := i + int(firstName)
		if isEmbedding(name) {
			add(byEmbedding, t)
		}
		if isHead(name, s.classes[t]) {
			add(byHead, t)
		}
	}
	add(bySync, int(tokenSync))
	add(byInput, int(tokenHtoD))
	add(byOutput, int(tokenDtoH))
	add(byReplay, int(tokenReplay))
	return e
}

// silent says whether no kind of evidence recurs.
func (e *evidence) silent() bool {
	return !slices.ContainsFunc(e.kinds[:], func(at []int32) bool { return len(at) >= minRepetitions })
}

// setOnset moves the beginnings to where the first kind stands that each repetition has once,
// and says whether there is any.
func (f *fit) setOnset(e *evidence) bool {
	if len(f.kinds) == 0 || f.kinds[0] > lastOnset {
		return false
	}
	f.at = e.kinds[f.kinds[0]]
	return true
}

// ruleFor makes a rule of the tokens that lie where steps begin and hardly anywhere else: of
// them those that are needed for nearly all of the steps, the most frequent first.
func (s *run) ruleFor(at []int32, places [][]int32, n *names) *rule {
	u := &rule{begins: make([]bool, len(places)), classes: s.classes, groups: max(0, len(at)-1)}
	u.each = float64(len(s.ends)-1-len(at)) <= maxStray*float64(len(s.ends))
	var tokens []int
	for t := range places {
		if both := common(at, places[t]); both > 0 && both >= (1-maxStray)*float64(len(places[t])) {
			tokens = append(tokens, t)
		}
	}
	slices.SortStableFunc(tokens, func(a, b int) int { return cmp.Compare(common(at, places[b]), common(at, places[a])) })
	var covered []int32
	for _, t := range tokens {
		if more := union(covered, places[t]); common(at, more) > common(at, covered) {
			covered = more
			u.begins[t] = true
			u.embed = u.embed || t >= int(firstName) && isEmbedding(n.list[t-int(firstName)])
		}
	}
	if common(at, covered) < (1-maxStray)*float64(len(at)) {
		u.why = "the work that begins a step also occurs inside steps"
	}
	return u
}
