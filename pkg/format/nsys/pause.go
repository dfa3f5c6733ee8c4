package nsys

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// If the GPUs of a process are idle for long, what its host does then decides whether a
// run goes on (Options.Pause). In that case all recorded rows about the host are read
// and none are left out. This is known once GPU rows are read, and before rows of the
// OS are.

// islands are the spans of GPU work of a track, in table order. Spans no further apart
// than a pause are merged.
type islands struct {
	spans []event.Span
	limit int // length at which the spans are sorted and merged
}

// add adds a row. A row without a duration is no work.
func (s *islands) add(start, end, pause int64) {
	if end <= start {
		return
	}
	if n := len(s.spans); n > 0 {
		if last := &s.spans[n-1]; start <= last.End+pause && end >= last.Start-pause {
			last.Join(event.Span{Start: start, End: end})
			return
		}
		if n >= max(s.limit, minIslands) {
			s.join(pause)
			s.limit = 2 * len(s.spans)
		}
	}
	s.spans = append(s.spans, event.Span{Start: start, End: end})
}

// minIslands is the least length at which they are sorted and merged.
const minIslands = 1024

// join sorts the spans and merges those no further apart than a pause.
func (s *islands) join(pause int64) {
	slices.SortFunc(s.spans, func(a, b event.Span) int { return cmp.Compare(a.Start, b.Start) })
	kept := s.spans[:0]
	for _, one := range s.spans {
		if n := len(kept); n > 0 && one.Start <= kept[n-1].End+pause {
			kept[n-1].Join(one)
		} else {
			kept = append(kept, one)
		}
	}
	s.spans = kept
}

// pauses reports whether the GPUs of any process are idle for longer than a pause.
func (c *census) pauses(loaders []*loader) bool {
	of := map[process]*islands{}
	for _, l := range loaders {
		for n := range l.trackFacts {
			at := c.tracks[n].process
			if of[at] == nil {
				of[at] = &islands{}
			}
			of[at].spans = append(of[at].spans, l.trackFacts[n].work.spans...)
		}
	}
	for _, s := range of {
		if s.join(c.pause); len(s.spans) > 1 {
			return true
		}
	}
	return false
}

// pauseKinds are the kinds of OS rows that say what the host does in a pause.
var pauseKinds = []event.Kind{event.OS, event.Run}

// maybeWanted reports whether rows of a kind are wanted, or would be in case of a
// pause.
func (c *census) maybeWanted(kind event.Kind) bool {
	return slices.Contains(c.host, kind) || c.pause > 0 && slices.Contains(pauseKinds, kind)
}

// settleHost decides which of the remaining tasks are done, once GPU rows are read.
func (c *census) settleHost(tasks []task, loaders []*loader, s scanner, columns map[string][]string) ([]task, error) {
	if c.pause > 0 && c.pauses(loaders) {
		c.paused = true
		if !slices.Contains(c.host, event.Run) {
			if err := c.readOwnThreads(s, columns); err != nil {
				return nil, err
			}
		}
		c.host = append(slices.Clone(c.host), pauseKinds...)
	}
	return slices.DeleteFunc(tasks, func(t task) bool { return t.table.host && !slices.Contains(c.host, t.table.kind) }), nil
}
