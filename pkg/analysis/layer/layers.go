package layer

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
)

// LayerType is the number of layers of one type.
type LayerType struct {
	// Mixer is what mixes tokens: Roles.Attention, Roles.Mixer, or Unnamed if the layer
	// has only a feed-forward part, or an unknown mixer.
	Mixer int32
	// Channel is the feed-forward part: Roles.Product for a dense one, Roles.MoE, or
	// Unnamed if the layer has none.
	Channel int32
	Count   int // layers in a forward pass
}

// Unnamed stands for a part that a layer does not have, or that is unknown.
const Unnamed int32 = -1

// block is a token mixer and the feed-forward part that follows it.
type block struct {
	mixer, channel int32
	products       int // matrix products after the mixer
	from, to       int // range of kernels
}

// fusedProducts is the number of matrix products between two attentions that indicates a
// feed-forward part with a fused activation: output, up, down, and the next input.
const fusedProducts = 4

// mostly is the share of blocks that counts as all, to allow for kernels that were not
// recorded.
const mostly = 0.9

// span is a part of a ring of kernels.
type span struct{ from, n int }

// countLayers identifies the layers of the step by their token mixers, counts them by
// type, and removes the layers of other models from the repetitions. types stays nil if
// the layers are unknown. ring says that the end of the sequence continues with its
// beginning.
func (a *alignment) countLayers(roles Roles, ring bool) {
	if a.single {
		a.types = []LayerType{{roles.Attention, Unnamed, 1}}
		return
	}
	if !slices.ContainsFunc(a.classes, roles.mixes) {
		// The unit may be a layer of unknown names, or a part of one.
		if slices.Contains(a.unitClasses, roles.Product) && slices.ContainsFunc(a.unitClasses, roles.border) {
			a.types = []LayerType{{Unnamed, Unnamed, a.Repetitions}}
		}
		return
	}
	passes, types, ok := mainModel(a.classes, models(a.symbols, a.classes, a.unit, roles, ring), roles)
	if ring {
		passes = passes[len(passes)-1:]
	}
	a.limit(passes)
	if ok && total(types)*len(passes) >= a.Repetitions {
		a.types = types
	}
}

// mainModel returns the forward passes of the model with the most layers, in order, and
// the layers of one pass. Passes with the same number of layers count together: a trace
// without steps has many.
func mainModel(classes []int32, parts []span, roles Roles) (passes []span, types []LayerType, ok bool) {
	by := map[int][]span{} // by number of layers
	most := -1
	for _, part := range parts {
		t, known := layerTypes(turn(classes, part.from)[:part.n], roles)
		n := total(t)
		if n > 0 || by[n] == nil {
			by[n] = append(by[n], part)
		}
		if weight := n * len(by[n]); weight > most {
			passes, types, ok, most = by[n], t, known, weight
		}
	}
	return passes, types, ok
}

// limit removes kernels outside some spans from the alignment.
func (a *alignment) limit(to []span) {
	n := len(a.Places)
	inside := make([]bool, n)
	for _, at := range to {
		if at.n == n {
			return
		}
		for i := range at.n {
			inside[(at.from+i)%n] = true
		}
	}
	for i := range a.Places {
		if !inside[i] {
			a.Places[i] = -1
		}
	}
	a.Keep(len(a.unit))
}

func total(types []LayerType) (n int) {
	for _, t := range types {
		n += t.Count
	}
	return n
}

// models cuts a sequence between forward passes: at sampling and embeddings, which
// layers do not have. The layers of a draft model are then separate from the model's.
func models(symbols, classes, unit []int32, roles Roles, ring bool) []span {
	cut := ends(symbols, classes, unit, roles)
	n := len(symbols)
	first := slices.IndexFunc(symbols, func(s int32) bool { return cut[s] })
	switch {
	case first < 0 && ring:
		return []span{{max(0, slices.IndexFunc(classes, roles.mixes)), n}}
	case !ring:
		first = -1 // the first part begins with the sequence
	}
	var parts []span
	from := first + 1
	for i := from; i < first+1+n; i++ {
		if i == n && !ring {
			break
		}
		if cut[symbols[i%n]] {
			parts = append(parts, span{from % n, i - from})
			from = i + 1
		}
	}
	if !ring {
		parts = append(parts, span{from % n, n - from})
	}
	return parts
}

// ends returns the symbols of kernels between forward passes. Classes that sample also
// route to experts, but then they are as frequent as layers.
func ends(symbols, classes, unit []int32, roles Roles) map[int32]bool {
	counts := map[int32]int{}
	mixers := 0
	for i, class := range classes {
		if slices.Contains(roles.Ends, class) && !slices.Contains(unit, symbols[i]) {
			counts[symbols[i]]++
		}
		if roles.mixes(class) {
			mixers++
		}
	}
	cut := map[int32]bool{}
	for s, n := range counts {
		cut[s] = 3*n <= 2*mixers
	}
	return cut
}

// blocks cuts the forward pass of a model into blocks.
func blocks(classes []int32, roles Roles) []block {
	var c cutter
	for i, class := range classes {
		switch {
		case roles.mixes(class):
			if !c.mixing {
				c.open(i, class)
			}
			c.mixing = true
		case class == roles.Product:
			c.mixing = false
			c.products++
			c.since++
		case roles.border(class):
			c.border = true
		case class == roles.Activation:
			c.feed(i, roles.Product, false)
		case class == roles.MoE:
			c.feed(i, class, true)
		}
	}
	c.end(len(classes))
	return c.all
}

// cutter is the state of blocks.
type cutter struct {
	all      []block
	mixing   bool // after a mixer's first kernel, before the next product
	products int  // in the block
	since    int  // products since the mixer, or since the last feed-forward kernel
	border   bool // a border since the last feed-forward kernel
}

// open begins a block at kernel i.
func (c *cutter) open(i int, mixer int32) {
	c.end(i)
	c.all = append(c.all, block{mixer: mixer, channel: Unnamed, from: i})
	c.products, c.since = 0, 0
}

// end ends the open block before kernel i.
func (c *cutter) end(i int) {
	if n := len(c.all); n > 0 {
		c.all[n-1].to, c.all[n-1].products = i, c.products
	}
}

// projections is the least number of products that a layer has before its feed-forward
// part: into its mixer and out of it.
const projections = 2

// feed handles a kernel of a feed-forward part. It may follow another part after a norm
// or collective, with enough products for a mixer between them. Then it belongs to a
// layer whose mixer has an unknown name.
func (c *cutter) feed(i int, channel int32, moe bool) {
	n := len(c.all)
	next := n == 0 || c.all[n-1].channel != Unnamed && c.border
	switch {
	case next && c.since >= projections:
		c.open(i, Unnamed)
		n++
	case n == 0, c.since == 0 && c.all[n-1].channel == Unnamed:
		return // the gate of a mixer
	}
	if b := &c.all[n-1]; b.channel == Unnamed || moe { // a dense part may accompany experts
		b.channel = channel
	}
	c.since, c.border = 0, false
}

// layerTypes counts the layers of one model by type. ok reports whether they are layers
// as the model defines them.
func layerTypes(classes []int32, roles Roles) (types []LayerType, ok bool) {
	all := blocks(classes, roles)
	fused(all, roles)
	for _, b := range all {
		if hides(classes[b.from:b.to], roles) {
			return count(all), false
		}
	}
	with, without := shares(all, func(block) bool { return true })
	switch {
	case with == 0 || without == 0:
	case !slices.ContainsFunc(all, func(b block) bool { return b.mixer != roles.Attention }):
		// Attention alone: several of its kernels with a product between them belong to
		// one layer.
		if float64(with) >= mostly*float64(len(all)) {
			break
		}
		all = slices.DeleteFunc(all, func(b block) bool { return b.channel == Unnamed })
		return count(all), stat.MostOf(without, with+without)
	case !consistent(all, roles):
		// Consecutive mixers, some followed by a feed-forward part: each part is a
		// layer.
		return apart(all), true
	}
	return count(all), true
}

// fused finds feed-forward parts with a fused activation, if no block of the model has a
// known one.
func fused(all []block, roles Roles) {
	if slices.ContainsFunc(all, func(b block) bool { return b.channel != Unnamed || b.mixer != roles.Attention }) {
		return
	}
	for i := range all {
		least := fusedProducts
		if i == len(all)-1 {
			least-- // no next input
		}
		if all[i].products >= least {
			all[i].channel = roles.Product
		}
	}
}

// shares counts the blocks with and without a feed-forward part.
func shares(all []block, counts func(block) bool) (with, without int) {
	for _, b := range all {
		switch {
		case !counts(b):
		case b.channel != Unnamed:
			with++
		default:
			without++
		}
	}
	return with, without
}

// consistent reports whether the blocks of each mixer all have a feed-forward part, or
// none has.
func consistent(all []block, roles Roles) bool {
	if with, _ := shares(all, func(block) bool { return true }); float64(with) >= mostly*float64(len(all)) {
		return true
	}
	for _, mixer := range []int32{roles.Attention, roles.Mixer} {
		with, without := shares(all, func(b block) bool { return b.mixer == mixer })
		if float64(max(with, without)) < mostly*float64(with+without) {
			return false
		}
	}
	return true
}

// count counts blocks by type, the most frequent first.
func count(all []block) []LayerType {
	var types []LayerType
	for _, b := range all {
		types = addType(types, b.mixer, b.channel)
	}
	return sorted(types)
}

// apart counts mixers and feed-forward parts as separate layers.
func apart(all []block) []LayerType {
	var types []LayerType
	for _, b := range all {
		if b.mixer != Unnamed {
			types = addType(types, b.mixer, Unnamed)
		}
		if b.channel != Unnamed {
			types = addType(types, Unnamed, b.channel)
		}
	}
	return sorted(types)
}

func addType(types []LayerType, mixer, channel int32) []LayerType {
	for i := range types {
		if types[i].Mixer == mixer && types[i].Channel == channel {
			types[i].Count++
			return types
		}
	}
	return append(types, LayerType{mixer, channel, 1})
}

func sorted(types []LayerType) []LayerType {
	slices.SortStableFunc(types, func(a, b LayerType) int { return cmp.Compare(b.Count, a.Count) })
	return types
}

// hides reports whether the kernels between two known mixers repeat, as layers do whose
// mixer has an unknown name.
func hides(classes []int32, roles Roles) bool {
	for lag := 3; lag <= len(classes)/3; lag++ {
		r := step.BestRepeat(classes, lag)
		if r.Score < 2*lag {
			continue
		}
		unit := classes[r.From : r.From+lag]
		if slices.Contains(unit, roles.Product) && slices.ContainsFunc(unit, roles.border) {
			return true
		}
	}
	return false
}
