package collective

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// year2001 is a time in ns since 1970 that no clock of a session reaches: later times are UTC.
const year2001 = 1e18

// NewLane returns the lane of a GPU of a rank, in the stream that h describes. steps are those of
// the log, nil if they do not matter. name returns the name for a collective's number.
func NewLane(h *event.Header, rank, device int32, log *Log, steps *step.Steps, name func(int32) string) Lane {
	l := Lane{Rank: rank, Device: device, Report: -1, Log: log}
	if steps != nil {
		l.Kind = func(k int32) (kind, size int64) {
			s := steps.At(int(k))
			if s.Phase == event.Context {
				return int64(s.Phase), s.Ctx
			}
			return int64(s.Phase), s.Gen
		}
	}
	r := h.Report(rank)
	for k := range h.Reports {
		if &h.Reports[k] == r {
			l.Report, l.Clocked = k, r.Origin != 0 || r.GPUStart != nil && *r.GPUStart-r.Offset > year2001
			l.World, l.Size = int(r.World), func(n int32) int { return int(r.GroupSizes[name(n)]) }
		}
	}
	return l
}

// Coverage says how much was recorded of the groups that run collectives together.
type Coverage struct {
	// Unmatched is how many kernels had no match in their group, and UnmatchedPart which part of
	// all collectives that is. UnmatchedShare estimates their share of the GPUs' time, from the
	// first to the last collective of each segment, by what as many average collectives take.
	// Their own length would be too little: in the middle of a pipeline the short ones remain
	// unmatched, because long ones overlap with anything.
	Unmatched      int64   `json:"unmatched"`
	UnmatchedPart  float64 `json:"unmatched_part"`
	UnmatchedShare float64 `json:"unmatched_share"`
	// Recorded is how many GPUs of a group were recorded, and Size how many it has, nil if the
	// trace does not say. They are those of the group with the most recorded GPUs, of several the
	// largest.
	Recorded int  `json:"recorded_gpus"`
	Size     *int `json:"group_gpus"`
	// Estimated is set if the waits of some group are estimates, because other GPUs of it are
	// missing.
	Estimated bool `json:"estimated"`
}

// Coverage returns how much of the groups was recorded.
func (m *Match) Coverage() Coverage {
	c, size, kernels := Coverage{Estimated: m.Estimated}, 0, int64(0)
	for g := range m.Groups { // in an order that differs from run to run, as the numbers of names do
		n := len(m.Groups[g].Lanes)
		c.Unmatched += m.Groups[g].Unmatched
		kernels += m.Groups[g].Unmatched + m.Groups[g].Matched*int64(n)
		if n > c.Recorded {
			size = 0
		}
		if n >= c.Recorded {
			c.Recorded, size = n, max(size, m.Groups[g].Size)
		}
	}
	if size > 0 {
		c.Size = &size
	}
	if c.Unmatched > 0 {
		length, span := int64(0), int64(0)
		for k := range m.Lanes {
			log := m.Lanes[k].Log
			if length += log.length; m.Lanes[k].Stepless {
				span += log.end - log.start
			} else {
				span += log.span
			}
		}
		c.UnmatchedPart = float64(c.Unmatched) / float64(kernels)
		c.UnmatchedShare = c.UnmatchedPart * float64(length) / float64(max(1, span))
	}
	return c
}

// Doubts returns what is uncertain about waits, a sentence each.
func (m *Match) Doubts() []string {
	c := m.Coverage()
	return slices.DeleteFunc([]string{c.Doubt(), c.NoMatch()}, func(text string) bool { return text == "" })
}

// NoMatch says how much of the time kernels without a match take, "" below worthSaying.
func (c *Coverage) NoMatch() string {
	if c.Estimated || c.UnmatchedShare < worthSaying {
		return ""
	}
	return fmt.Sprintf("%d collective kernels, about %.1f %% of the time, have no match on another rank: their waits count as GPU work", c.Unmatched, 100*c.UnmatchedShare)
}

// Doubt says what is uncertain about waits because other GPUs are missing, "" if nothing is.
func (c *Coverage) Doubt() string {
	const estimate = "waits in collectives are estimated from the shortest one at the same place of a step, and their cause is unknown. Record all ranks at once"
	switch {
	case c.Size != nil && *c.Size > c.Recorded:
		return fmt.Sprintf("only %d of %d GPUs that run collectives together were recorded: "+estimate, c.Recorded, *c.Size)
	case c.Estimated:
		return "not all GPUs that run collectives together were recorded: " + estimate
	case c.Size == nil && c.Recorded > 1:
		return fmt.Sprintf("the trace does not say how many GPUs run collectives together: waits are right if the %d that were read are all of them", c.Recorded)
	}
	return ""
}
