package gap

import (
	"github.com/hostbound/hostbound/pkg/coverage"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/idle"
	"github.com/hostbound/hostbound/pkg/step"
)

// slice is a stretch of a rank's time that belongs to one step, to the gap between
// two segments, or to nothing.
type slice struct {
	step  int32 // -1: none
	scope int32 // its index in rank.scopes
}

// scope is what windows can hold of a rank, and idle time is added up for.
type scope struct {
	segment int32       // index of the segment whose step it is, or one of the following
	phase   event.Phase // of the step, noPhase where there is none
	trace   bool        // in the window of the trace, where that was asked for
}

// scopeSum is what was measured in all slices of a scope; of one that no window holds it
// means nothing.
type scopeSum struct {
	started coverage.Counts
	ns      int64 // how long they are together
}

// What is not part of a step.
const (
	outside = -1 - iota // before the first step, after the last, or not recorded
	between             // between two segments
)

// noPhase is the phase of what is in no step.
const noPhase event.Phase = 3

// scopeOf returns the scope of a slice that begins; that of a pending one will be
// known later.
func (r *rank) scopeOf(s step.Slice) int32 {
	of := scope{segment: outside, phase: noPhase, trace: s.Trace}
	if s.Place == step.InStep {
		one := &r.walk.Steps[s.Step]
		of.segment, of.phase = one.Segment, one.Phase
	}
	return r.scopeID(of)
}

// scopeID returns the index of a scope, which was used lately as a rule.
func (r *rank) scopeID(s scope) int32 {
	for k := len(r.scopes) - 1; k >= 0; k-- {
		if r.scopes[k] == s {
			return int32(k)
		}
		if s.segment >= 0 && r.scopes[k].segment >= 0 && r.scopes[k].segment < s.segment {
			break
		}
	}
	r.scopes, r.sums = append(r.scopes, s), append(r.sums, scopeSum{})
	return int32(len(r.scopes) - 1)
}

// groupOf returns the group of slices of a scope: none where no window can hold them.
func (r *rank) groupOf(id int32) int {
	if s := &r.scopes[id]; s.segment == outside && !s.trace {
		return idle.NoGroup
	}
	return int(id)
}
