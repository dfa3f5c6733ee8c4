package nsys

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// overheadClass returns the class of an overhead of the profiler by its name: dlopen is
// the program's own loading, which the profiler only makes slower.
func overheadClass(name string) event.Class {
	if strings.HasPrefix(name, "dlopen") {
		return event.Load
	}
	return event.ByProfiler
}
