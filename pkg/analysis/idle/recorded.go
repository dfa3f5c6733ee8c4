package idle

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Missing is something that a recording lacks to tell why host threads were stalled.
type Missing struct {
	What   string `json:"what"`   // what is unknown
	Option string `json:"option"` // option of nsys profile that records it; "" for other profilers
}

const (
	onCPU      = "CPU scheduling"
	calls      = "OS runtime calls"
	switches   = "--cpuctxsw=process-tree"
	permission = " with kernel.perf_event_paranoid at 2 or less, in a container also CAP_PERFMON"
)

// Unrecorded lists what the recording lacks about the threads of any of the ranks.
func Unrecorded(h *event.Header, ranks []int32) []Missing {
	missing := []Missing{}
	add := func(m Missing) {
		if !slices.Contains(missing, m) {
			missing = append(missing, m)
		}
	}
	for _, rank := range ranks {
		rep := h.Report(rank)
		switch {
		case h.Records(event.Run, rank):
		case rep != nil && rep.NoSwitches == event.SwitchesDenied:
			add(Missing{onCPU + " (the system did not let the profiler see it)", switches + permission})
		case rep != nil && rep.NoSwitches == event.SwitchesDeduced:
			add(Missing{onCPU + " (the profiler only deduced it from system calls)", switches + permission})
		default:
			add(Missing{onCPU, switches})
		}
	}
	for _, rank := range ranks {
		rep := h.Report(rank)
		switch {
		case !h.Records(event.OS, rank):
			add(Missing{calls, "-t osrt"})
		case rep != nil && rep.LostCalls:
			add(Missing{"some " + calls + " (may have been dropped: a thread shown as descheduled may have been blocked in one)", "-t osrt, for a shorter time"})
		}
	}
	return missing
}
