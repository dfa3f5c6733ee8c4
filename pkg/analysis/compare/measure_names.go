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

// setClass says of what class a kernel of a name is: of several the first one's is that of all.
func (r *Run) setClass(name int32, kind event.Kind, class event.Class) {
	if n := int(name) + 1 - len(r.classes); n > 0 {
		r.classes = append(r.classes, make([]string, n)...)
	}
	switch {
	case r.classes[name] != "":
	case kind == event.Graph:
		r.classes[name] = "graph"
	default:
		r.classes[name] = event.Classes[min(class, event.Other)]
	}
}

// class is the class of kernels of a name, "" where there is none with it.
func (r *Run) class(id int, _ string) string {
	if id >= len(r.classes) {
		return ""
	}
	return r.classes[id]
}

// newNames returns the names of all sections, of which those of waits are known.
func newNames() (all [numSections]*idle.Names) {
	for s := range all {
		all[s] = idle.NewNames(false)
	}
	all[waitTimes].ID([]byte(imbalance))
	all[waitTimes].ID([]byte(waitsUnknown))
	return all
}
