package step

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// kind is a kind of evidence for where steps begin. Those of one kind depend on
// one another, those of two do not.
type kind int

const (
	byEmbedding kind = iota // the kernel that looks up embeddings
	byInput                 // copies to the GPU
	byReplay                // another graph replay
	bySync                  // the host waits for the GPU
	byGap                   // the longest waits of the device
	byHead                  // the kernels that make tokens of the logits
	byOutput                // copies from the GPU
	byName                  // kernels of a name that there is once a step
	numKinds
)

// weights is how much each kind says. A host that waits copies, and leaves a gap:
// the three say little more than one.
var weights = [numKinds]float64{
	byEmbedding: 3, byHead: 2, byReplay: 1.5, bySync: 1.5, byInput: 1, byOutput: 0.5, byGap: 0.5, byName: 1,
}

// lastOnset is the last of the kinds of what stands at the beginning of a step;
// of what comes after them it is not known where in a step it stands.
const lastOnset = byGap

// borders are the collectives, by their number, that may begin steps.
type borders struct {
	at     []int32 // in order
	kind   kind    // of the evidence that proposed them
	score  float64 // sum of the weights of what agrees, and of equal sizes
	usual  int32   // the most frequent number of collectives between two
	same   float64 // share of steps that have it
	groups int     // whole steps
	kinds  int     // kinds of evidence that agree
	solid  int     // those of them that agree exactly
}

// rule learns from the run how to identify its steps.
//
// What recurs once a step is of several kinds, and each of them proposes where
// steps begin. The proposal that most others agree with is taken; it is clear
// where at least two independent kinds agree and nearly all steps have the same
// number of collectives, or where three do. A rule is then made of tokens that
// are there where a step begins and hardly anywhere else.
func (s *run) rule(n *names) *rule {
	places := s.places()
	kinds := s.kinds(places, n)
	best, rival := s.best(places, &kinds)
	often := max(len(kinds[bySync]), len(kinds[byInput]))
	each, some := 10*often >= 7*len(s.ends), 20*often >= len(s.ends)
	if best == nil {
		return &rule{embed: true, each: each, some: some, why: "nothing recurs between the all-reduce kernels"}
	}
	onset := best.setOnset(&kinds)
	s.vote(best, &kinds)
	u := s.ruleFor(best, places, n)
	switch {
	case u.why != "":
	case best.kinds < 2 && !(best.same >= 0.97 && best.groups >= 8 && (best.kind == byEmbedding || best.kind == byReplay)):
		u.why = "only one kind of evidence says where they begin"
	case best.same < 0.9 && best.solid < 3:
		u.why = "their numbers of all-reduce kernels differ"
	case best.groups < 3:
		u.why = "there are too few of them"
	case !onset:
		u.why = "it is not clear which of what recurs once a step comes first"
	case s.coarser(best, places, &kinds):
		u.why = "what recurs once a step recurs on two levels"
	case rival != nil && rival.score >= 0.8*best.score && rival.kinds >= 2 && 2*rival.same >= best.same:
		u.why = fmt.Sprintf("as much speaks for steps of %d of them as for steps of %d", best.usual, rival.usual)
	}
	u.host = agreement(best.at, kinds[bySync], 0.7) == 1 || agreement(best.at, kinds[byInput], 0.7) == 1
	u.each, u.some = each, some
	u.groups, u.kinds, u.begins = best.groups, best.kinds, best.at
	for _, k := range []kind{byEmbedding, byInput} {
		if exact(best.at, kinds[k]) >= 0.9 {
			u.stray = max(u.stray, len(kinds[k])-int(common(best.at, kinds[k])))
		}
	}
	u.clear = u.why == ""
	return u
}

// kinds returns for each kind the collectives that it says begin steps.
func (s *run) kinds(places [][]int32, n *names) (kinds [numKinds][]int32) {
	for t, at := range places[firstName:] {
		if isEmbedding(n.list[t]) {
			kinds[byEmbedding] = union(kinds[byEmbedding], at)
		}
		if isHead(n.list[t], s.classes[t+int(firstName)]) {
			kinds[byHead] = union(kinds[byHead], at)
		}
	}
	kinds[bySync] = places[tokenSync]
	kinds[byInput], kinds[byOutput] = places[tokenHtoD], places[tokenDtoH]
	kinds[byReplay] = places[tokenReplay]
	kinds[byGap] = s.longGaps()
	return kinds
}

// best returns the proposal that most evidence agrees with, and of those that are
// other steps, not the same ones begun elsewhere, the one that most agrees with;
// nil where there is none.
func (s *run) best(places [][]int32, kinds *[numKinds][]int32) (best, rival *borders) {
	proposals := s.proposals(places, kinds)
	for _, p := range proposals {
		if best == nil || p.score > best.score {
			best = p
		}
	}
	for _, p := range proposals {
		if (rival == nil || p.score > rival.score) && 5*exact(best.at, p.at) < 4 && 5*once(best.at, p.at) < 4 {
			rival = p
		}
	}
	return best, rival
}

// proposals returns each kind's and each name's proposal once.
func (s *run) proposals(places [][]int32, kinds *[numKinds][]int32) []*borders {
	var all []*borders
	seen := map[uint64]bool{}
	propose := func(at []int32, k kind) {
		for _, at := range [][]int32{at, s.joinShort(at)} {
			if h := hash(at); len(at) >= 2 && !seen[h] {
				seen[h] = true
				p := &borders{at: at, kind: k}
				s.weigh(p, places, kinds)
				all = append(all, p)
			}
		}
	}
	for k := range byName {
		propose(kinds[k], k)
	}
	for _, at := range places[firstName:] {
		propose(at, byName)
	}
	return all
}

// weigh fills in what speaks for a proposal.
func (s *run) weigh(p *borders, places [][]int32, kinds *[numKinds][]int32) {
	p.usual, p.same, p.groups = sizesOf(p.at)
	switch {
	case p.same >= 0.9:
		p.score = 2
	case p.same >= 0.7:
		p.score = 1
	}
	for k := range byName {
		part := 0.7
		if k == byReplay {
			part = 0.3 // what is no replay may be eager
		}
		a := agreement(p.at, kinds[k], part)
		if a < 1 {
			a = max(a, agreement(p.at, s.joinShort(kinds[k]), part))
		}
		p.count(k, a)
	}
	named := 0.0
	for _, at := range places[firstName:] {
		if 5*len(at) >= 4*len(p.at) && 4*len(at) <= 5*len(p.at) {
			named = max(named, exact(p.at, at))
		}
	}
	if named >= 0.9 {
		p.count(byName, 1)
	}
}

// count adds what a kind says of the proposal; agreement is as the function has it.
func (p *borders) count(k kind, agreement float64) {
	p.score += weights[k] * agreement
	if agreement > 0 {
		p.kinds++
	}
	if agreement == 1 {
		p.solid++
	}
}

// setOnset moves the proposal to where the first kind stands that there is once in
// each of its steps, and says whether there is any.
func (p *borders) setOnset(kinds *[numKinds][]int32) bool {
	for k := kind(0); k <= lastOnset; k++ {
		if exact(p.at, kinds[k]) >= 0.9 {
			return true
		}
		if len(kinds[k]) > 0 && once(p.at, kinds[k]) >= 0.9 && once(kinds[k], p.at) >= 0.9 {
			p.at = kinds[k]
			return true
		}
	}
	return false
}

// vote makes the proposal that of the kinds that agree with it: a step begins
// where they do by more than half of their weight.
func (s *run) vote(p *borders, kinds *[numKinds][]int32) {
	votes, all := map[int32]float64{}, 0.0
	add := func(at []int32, weight float64) {
		all += weight
		for _, i := range at {
			votes[i] += weight
		}
	}
	add(p.at, 1)
	for k := range byName {
		if exact(p.at, kinds[k]) >= 0.9 {
			add(kinds[k], weights[k])
		}
	}
	p.at = p.at[:0:0]
	for i, v := range votes {
		if 2*v > all {
			p.at = append(p.at, i)
		}
	}
	slices.Sort(p.at)
	p.usual, p.same, p.groups = sizesOf(p.at)
}

// joinShort returns at without what begins a short stretch of collectives, a
// third of most of the collectives' stretches or less: a draft model's, a
// sampler's. It returns nil where there is no such thing.
func (s *run) joinShort(at []int32) []int32 {
	mass := map[int32]int32{}
	usual := int32(0)
	for i := 1; i < len(at); i++ {
		size := at[i] - at[i-1]
		if mass[size] += size; mass[size] > mass[usual] || mass[size] == mass[usual] && size > usual {
			usual = size
		}
	}
	var long []int32
	for i, a := range at {
		next := int32(len(s.ends))
		if i+1 < len(at) {
			next = at[i+1]
		}
		if 3*(next-a) > usual || i+1 == len(at) {
			long = append(long, a)
		}
	}
	if len(long) == len(at) {
		return nil
	}
	return long
}

// coarser says whether steps of several of the proposal's are as likely, where it
// does not rest on where a forward pass begins or ends.
func (s *run) coarser(p *borders, places [][]int32, kinds *[numKinds][]int32) bool {
	if (p.usual > 2 || p.solid >= 3) && (agreement(p.at, kinds[byEmbedding], 0.7) == 1 || agreement(p.at, kinds[byHead], 0.7) > 0 || agreement(p.at, kinds[byReplay], 0.7) == 1) {
		return false
	}
	for _, at := range places[firstName:] {
		if len(at) < 3 || 10*len(at) > 6*len(p.at) {
			continue
		}
		if _, same, _ := sizesOf(at); same >= 0.9 {
			return true
		}
	}
	return p.usual <= 2 && p.solid < 3
}

// ruleFor makes a rule of the tokens that lie where the steps of p begin.
func (s *run) ruleFor(p *borders, places [][]int32, n *names) *rule {
	u := &rule{evidence: make([]evidence, len(places)), classes: make([]event.Class, len(places)), usual: p.usual}
	for t := range u.classes {
		u.classes[t] = -1
		if t < len(s.classes) {
			u.classes[t] = s.classes[t]
		}
	}
	var tokens []int // hardly anywhere else
	for t, at := range places {
		stray := float64(len(at)) - common(p.at, at)
		if len(at) == 0 || stray > 0.02*float64(len(at)) && (stray > 1 || len(at) < 20) {
			continue
		}
		tokens = append(tokens, t)
		if exact(p.at, at) >= 0.95 {
			u.evidence[t] = confirm
			u.confirm++
		}
	}
	if covered := u.cover(p, places, tokens, n); covered < 0.98*float64(len(p.at)) {
		u.why = "what they begin with also occurs inside them"
	}
	u.solid = u.why == "" && p.solid >= 3
	u.spare()
	return u
}

// cover has those tokens begin steps that are needed for nearly all of p, the most
// frequent and embeddings first, and returns how many of p they cover.
func (u *rule) cover(p *borders, places [][]int32, tokens []int, n *names) float64 {
	embeds := func(t int) bool { return t >= int(firstName) && isEmbedding(n.list[t-int(firstName)]) }
	weight := func(t int) float64 { return common(p.at, places[t]) * float64(1+b2n(embeds(t))) }
	slices.SortStableFunc(tokens, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	var covered []int32
	for _, t := range tokens {
		if common(p.at, covered) >= 0.995*float64(len(p.at)) {
			break
		}
		if more := union(covered, places[t]); len(more) > len(covered) {
			covered = more
			u.evidence[t] |= begins
			u.embed = u.embed || embeds(t)
		}
	}
	return common(p.at, covered)
}

// layerClasses are those of the kernels that there are many of in each layer.
const layerClasses uint32 = 1<<event.GEMM | 1<<event.Attention | 1<<event.Norm | 1<<event.MoE |
	1<<event.Elementwise | 1<<event.Activation | 1<<event.RoPE | 1<<event.Quant

// spare drops what only confirms where that costs reading the kernels of every
// layer and other tokens confirm, too.
func (u *rule) spare() {
	heavy := func(t int) bool { return u.classes[t] >= 0 && layerClasses>>uint32(u.classes[t])&1 != 0 }
	light := 0
	for t, e := range u.evidence {
		light += b2n(e&confirm != 0 && !heavy(t))
	}
	for t, e := range u.evidence {
		if light > 0 && e == confirm && heavy(t) {
			u.evidence[t] = 0
			u.confirm--
		}
	}
}
