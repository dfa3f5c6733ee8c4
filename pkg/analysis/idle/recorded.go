package idle

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Missing is what a recording lacks to tell why host threads did not go on.
type Missing struct {
	What   string `json:"what"`   // what is not known
	Option string `json:"option"` // of nsys profile, which records it; "" of a trace of PyTorch's profiler, which cannot
}

const (
	onCPU      = "CPU scheduling"
	calls      = "OS runtime calls"
	switches   = "--cpuctxsw=process-tree"
	permission = " with kernel.perf_event_paranoid at 2 or less, in a container also CAP_PERFMON"
)

// Unrecorded says what the recording lacks of the threads of any of these ranks.
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
