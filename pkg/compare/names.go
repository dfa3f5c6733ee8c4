package compare

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/marker"
)

// The sections of rows that go by name.
const (
	operations = iota // NVTX ranges
	kernels           // kernels and whole-graph rows
	classes           // the same by class
	calls             // CUDA API calls
	numSections
)

// maxNames is how many names are told apart in a section; all others are one.
const (
	maxNames = 1 << 16
	others   = "(others)"
)

// names numbers the names of a section over all ranks of a run. Most rows find
// their name in a cache of as many names as a step has; it is by the text as it
// stands in the row, so that a name with digits is folded once and not each time.
type names struct {
	texts []string
	ids   map[string]int32
	cache [256]struct {
		text string
		id   int32
	}
}

func newNames() *names { return &names{ids: map[string]int32{}} }

// raw returns the number of the name text.
func (n *names) raw(text []byte) int32 {
	slot := &n.cache[slotOf(text)]
	if slot.text == string(text) && len(text) > 0 {
		return slot.id
	}
	id, ok := n.ids[string(text)]
	if !ok {
		id = n.add(string(text))
	}
	slot.text, slot.id = string(text), id
	return id
}

// folded returns the number of the name text with its digits folded.
func (n *names) folded(text []byte) int32 {
	slot := &n.cache[slotOf(text)]
	if slot.text == string(text) && len(text) > 0 {
		return slot.id
	}
	own := string(text)
	name := marker.Fold(own)
	id, ok := n.ids[name]
	if !ok {
		id = n.add(strings.Clone(name))
	}
	slot.text, slot.id = own, id
	return id
}

// add returns the number of a name, which may be a new one.
func (n *names) add(name string) int32 {
	if len(n.texts) >= maxNames {
		name = others
	}
	id, ok := n.ids[name]
	if !ok {
		id = int32(len(n.texts))
		n.texts = append(n.texts, name)
		n.ids[name] = id
	}
	return id
}

// slotOf spreads texts over the cache by their length and some of their bytes.
func slotOf(text []byte) uint8 {
	n := len(text)
	if n == 0 {
		return 0
	}
	h := uint32(n)*31 + uint32(text[n-1])
	h = h*31 + uint32(text[n/2])
	h = h*31 + uint32(text[n/4])
	h = h*31 + uint32(text[n*3/4])
	return uint8(h ^ h>>8 ^ h>>16)
}

// classNames are the classes of GPU rows as a section, in the order of their
// codes; graph replays, whose class is not known, are behind them.
func classNames() *names {
	n := newNames()
	for _, name := range event.Classes[:event.Other+1] {
		n.add(name)
	}
	n.add("graph")
	return n
}
