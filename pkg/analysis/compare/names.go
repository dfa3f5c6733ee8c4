package compare

import (
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The sections of rows that go by name.
const (
	operations = iota // NVTX ranges
	kernels           // kernels and whole-graph rows
	calls             // CUDA API calls
	idleTimes         // idle time by cause and site
	whyTimes          // the same by cause and why, where that was asked for
	waitTimes         // waits in collectives by cause
	numSections
)

// Rows that are made of several names of these.
const (
	classes    = numSections + iota // kernels by class
	causeTimes                      // idle time by cause
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
// some waits.
func newSections() (all [numSections]*names) {
	for s := range all {
		all[s] = newNames()
	}
	all[waitTimes] = waitNames()
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

// classNames are the classes of kernels by the number of their name, 0 where there is none yet: one more
// than the code of the class. Graph replays have one of their own.
type classNames []int8

const graphClass = event.Other + 1

// see has a name be of a class, and of Other where it is of several.
func (n *classNames) see(name int32, class event.Class) {
	for int(name) >= len(*n) {
		*n = append(*n, make([]int8, max(64, len(*n)))...)
	}
	is := &(*n)[name]
	if *is == 0 {
		*is = int8(class) + 1
	} else if *is != int8(class)+1 {
		*is = int8(event.Other) + 1
	}
}

// texts are the names of the classes, by the names of kernels.
func (n classNames) texts(names []string) map[string]string {
	of := map[string]string{}
	for id, class := range n {
		switch {
		case class == 0:
		case class == int8(graphClass)+1:
			of[names[id]] = "graph"
		default:
			of[names[id]] = event.Classes[class-1]
		}
	}
	return of
}
