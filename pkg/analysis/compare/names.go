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

// graphClass is the number of graph replays among the classes of kernels.
var graphClass = int32(len(event.Classes))

// newNames returns the names of all sections, of which those of classes and of waits are known.
func newNames() (all [numSections]*idle.Names) {
	for s := range all {
		all[s] = idle.NewNames(false)
	}
	for _, class := range event.Classes {
		all[classes].ID([]byte(class))
	}
	all[classes].ID([]byte("graph"))
	all[waitTimes].ID([]byte(imbalance))
	all[waitTimes].ID([]byte(waitsUnknown))
	return all
}
