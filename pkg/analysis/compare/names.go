package compare

import (
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The sections of rows that go by name.
const (
	operations = iota // NVTX ranges
	kernels           // kernels and whole-graph rows
	classes           // the same by class
	calls             // CUDA API calls
	idleTimes         // idle time by cause and site
	whyTimes          // the same by cause and why, where that was asked for
	waitTimes         // waits in collectives by cause
	numSections
)

// Rows that are made of several names of these.
const (
	causeTimes = numSections + iota // idle time by cause
	heldTimes                       // idle time and waits in collectives by cause
	numRows
)

// isIdle reports whether rows of a section are idle time.
func isIdle(section int) bool {
	return section == idleTimes || section == whyTimes || section == causeTimes || section == heldTimes
}

// others is the name of all those that there are too many of.
const others = "(others)"

// names numbers the names of a section over all ranks of a run.
type names struct {
	list []string
	ids  map[string]int32
}

// newNames returns names of which there are none yet.
func newNames() *names { return &names{ids: map[string]int32{}} }

// newSections returns the names of all sections, of which there are none yet but
// those of the classes and some waits.
func newSections() (all [numSections]*names) {
	for s := range all {
		all[s] = newNames()
	}
	all[classes], all[waitTimes] = classNames(), waitNames()
	return all
}

// namesOf returns names that were numbered by others.
func namesOf(from *idle.Names) *names {
	n := newNames()
	for id := range from.Len() {
		name := from.Text(int32(id))
		n.list = append(n.list, name)
		n.ids[name] = int32(id)
	}
	return n
}

// add returns the number of a name, which may be a new one.
func (n *names) add(name string) int32 {
	id, ok := n.ids[name]
	if !ok && len(n.list) >= maxNames {
		name = others
		id, ok = n.ids[name]
	}
	if !ok {
		id = int32(len(n.list))
		n.list = append(n.list, name)
		n.ids[name] = id
	}
	return id
}

// classNames are the classes of GPU rows as a section, in the order of their
// codes; graph replays, whose class is not known, come after them.
func classNames() *names {
	n := newNames()
	for _, name := range event.Classes[:event.Other+1] {
		n.add(name)
	}
	n.add("graph")
	return n
}
