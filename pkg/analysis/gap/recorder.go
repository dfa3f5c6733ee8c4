package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// record is the command that records what host threads do, "" where that takes another profiler
// than the one that recorded.
func (c *computer) record() string {
	if c.header.Platform() == event.AMD {
		return report.ROCm
	}
	if c.torch() {
		return ""
	}
	return report.CaptureCommand(report.CaptureOptions{Host: true})
}

// with says what the command records with, and what becomes of it.
func (i *Idle) with() string {
	if i.Record == report.ROCm {
		return report.ROCmName
	}
	return "record with Nsight Systems"
}

// nameless tells whether the largest part of the idle time is in nothing but a forward step, or
// in nothing at all.
func (i *Idle) nameless(c *computer) bool {
	if len(i.Causes) == 0 {
		return false
	}
	cause, host := strings.CutPrefix(i.Causes[0].Cause, hostPrefix)
	if !host {
		return cause == idle.Untraced.String()
	}
	// Digits of names are folded; the first step, which is none, has no step's class.
	_, step := marker.Parse(strings.ReplaceAll(cause, "#", "0"))
	return step || c.markerNames()[cause]
}
