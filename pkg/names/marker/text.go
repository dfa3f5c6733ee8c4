package marker

import (
	"regexp"
	"strings"
)

// The class of an NVTX range.
const (
	Step  = "step"  // a forward step
	Prep  = "prep"  // preparation of a step's input: the text contains one of PrepNames
	GIL   = "gil"   // waiting for the interpreter lock, or holding it
	GC    = "gc"    // garbage collection
	Range = "range" // every other range
)

// PrepNames returns what the text of a range contains that prepares a step's
// inputs. An analysis takes the first of them that occurs in a rank, and that one
// only: the ranges of one engine may nest.
func PrepNames() [3]string {
	return [3]string{"_prepare_tp_inputs", "_prepare_inputs", "prepare_inputs"}
}

// ClassNVTX is [Set.Class] of the [Presets].
func ClassNVTX(text string) string { return Presets.Class(text) }

// Class returns the class of an NVTX range by its text: one of [Step], by the
// markers of s, [GIL], [GC], [Prep] and [Range]; the first that fits. The steps of
// the profiler's schedule are Range: they are markers only where an engine has none,
// which one text does not tell.
func (s *Set) Class(text string) string {
	if _, ok := s.Parse(text); ok && (s.re != nil || !strings.HasPrefix(text, schedulePrefix)) {
		return Step
	}
	switch {
	case GILStateOf(text) != NoGIL:
		return GIL
	case IsGC(text):
		return GC
	case isPrep(text):
		return Prep
	}
	return Range
}

// fetchesRequests matches ranges in which an engine gets its requests.
var fetchesRequests = regexp.MustCompile(`(?i)(fetch|recv|receive|get|poll|wait)\w*_?(new_)?req(uest)?s?(_queue)?\b|wait\w*_for_work|input_queue|idle_loop`)

// FetchesRequests reports whether a range of that text is where an engine gets its requests:
// who waits there has nothing to do.
func FetchesRequests(text string) bool { return fetchesRequests.MatchString(text) }

// isPrep looks for the two of PrepNames that the third is not contained in.
func isPrep(text string) bool {
	return strings.Contains(text, "prepare_inputs") || strings.Contains(text, "_prepare_tp_inputs")
}

// GILState is what a range says about Python's global interpreter lock.
type GILState uint8

const (
	NoGIL      GILState = iota // not a GIL range
	HoldingGIL                 // the thread has the lock
	WaitingGIL                 // the thread waits for it
)

// WaitsForGIL is how the text of a range begins in which a thread waits for the lock.
const WaitsForGIL = "Waiting for GIL"

// GILStateOf returns what the range with this text says about the lock.
func GILStateOf(text string) GILState {
	switch {
	case strings.HasPrefix(text, "Holding GIL"):
		return HoldingGIL
	case strings.HasPrefix(text, WaitsForGIL):
		return WaitingGIL
	}
	return NoGIL
}

// IsGC says whether the range with this text is a run of Python's garbage
// collector.
func IsGC(text string) bool { return strings.HasPrefix(text, "Python GC") }

// Fold returns name with each run of ASCII digits folded to one #, so that ranges
// that differ in a number only go by one name. A name without a digit is returned
// as it is.
func Fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return '0' <= r && r <= '9' }) < 0 {
		return name
	}
	return string(AppendFolded(nil, []byte(name)))
}

// AppendFolded appends name to buf, folded as by [Fold].
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
