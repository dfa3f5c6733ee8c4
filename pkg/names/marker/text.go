package marker

import (
	"regexp"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// PrepNames returns texts that the names of ranges contain which prepare a step's
// inputs. An analysis should use the first one that occurs in a rank, and only that:
// ranges of one engine may nest.
func PrepNames() [3]string {
	return [3]string{"_prepare_tp_inputs", "_prepare_inputs", "prepare_inputs"}
}

// ClassNVTX is [Set.Class] of the [Presets].
func ClassNVTX(text string) event.Class { return Presets.Class(text) }

// Class returns the class of an NVTX range by its text: the first that fits of step (a
// marker of s), gil, gc, prep and range. Steps of the profiler's schedule are
// range with the presets: they are markers only if the engine has none, which one text
// does not show.
func (s *Set) Class(text string) event.Class {
	if _, ok := s.Parse(text); ok && (s.re != nil || !strings.HasPrefix(text, schedulePrefix)) {
		return event.StepMarker
	}
	switch {
	case GILStateOf(text) != NoGIL:
		return event.GIL
	case IsGC(text):
		return event.GC
	case isPrep(text):
		return event.Prep
	}
	return event.Range
}

// fetchesRequests matches ranges in which an engine fetches its requests.
var fetchesRequests = regexp.MustCompile(`(?i)(fetch|recv|receive|get|poll|wait)\w*_?(new_)?req(uest)?s?(_queue)?\b|wait\w*_for_work|input_queue|idle_loop`)

// FetchesRequests reports whether an engine fetches its requests in ranges with that
// text: a thread that waits in one has nothing to do.
func FetchesRequests(text string) bool { return fetchesRequests.MatchString(text) }

// isPrep looks for two of PrepNames; they contain the third.
func isPrep(text string) bool {
	return strings.Contains(text, "prepare_inputs") || strings.Contains(text, "_prepare_tp_inputs")
}

// GILState is what a range says about Python's global interpreter lock.
type GILState uint8

const (
	NoGIL      GILState = iota // not a GIL range
	HoldingGIL                 // the thread holds the lock
	WaitingGIL                 // the thread waits for it
)

// WaitsForGIL begins the text of ranges in which a thread waits for the lock.
const WaitsForGIL = "Waiting for GIL"

// GILStateOf returns what a range with this text says about the lock.
func GILStateOf(text string) GILState {
	switch {
	case strings.HasPrefix(text, "Holding GIL"):
		return HoldingGIL
	case strings.HasPrefix(text, WaitsForGIL):
		return WaitingGIL
	}
	return NoGIL
}

// IsGC reports whether a range with this text is a run of Python's garbage collector.
func IsGC(text string) bool { return strings.HasPrefix(text, "Python GC") }

// Fold returns name with each run of ASCII digits folded to one #, so that ranges that
// differ only in a number share a name. A name without digits is returned unchanged.
func Fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return '0' <= r && r <= '9' }) < 0 {
		return name
	}
	return string(AppendFolded(nil, []byte(name)))
}

// AppendFolded appends name, folded as by [Fold], to buf, and returns the extended
// slice.
func AppendFolded(buf, name []byte) []byte {
	inRun := false
	for _, c := range name {
		digit := isDigit(c)
		switch {
		case !digit:
			buf = append(buf, c)
		case !inRun:
			buf = append(buf, '#')
		}
		inRun = digit
	}
	return buf
}
