package nsys

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// overheadClass returns the class of a profiler overhead by its name. dlopen is the
// program's own loading, which the profiler only slows down.
func overheadClass(name string) event.Class {
	if strings.HasPrefix(name, "dlopen") {
		return event.Load
	}
	return event.ByProfiler
}
