package compare

import (
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Sections of rows by name.
const (
	operations = iota // NVTX ranges
	kernels           // kernels and whole-graph rows
	calls             // CUDA API calls
	idleTimes         // idle time by cause and site
	whyTimes          // idle time by cause and why, if requested
	waitTimes         // waits in collectives by cause
	numSections
)

// Sections of rows that combine several of these names.
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

// setClass records the class of kernels of a name. The first one counts.
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

// class returns the class of kernels of a name, "" if there are none.
func (r *Run) class(id int, _ string) string {
	if id >= len(r.classes) {
		return ""
	}
	return r.classes[id]
}

// newNames returns empty names for all sections, except that those of waits are known:
// imbalance, unknown and sender, in the order of their collective.Key.
func newNames() (all [numSections]*idle.Names) {
	for s := range all {
		all[s] = idle.NewNames(false)
	}
	all[waitTimes].ID([]byte(imbalance))
	all[waitTimes].ID([]byte(waitsUnknown))
	all[waitTimes].ID([]byte(sender))
	return all
}
