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

// cuptiClass returns the class of an overhead of CUPTI by its type, none for one that is
// undefined, unknown or new.
func cuptiClass(kind int64) int64 {
	switch kind {
	case 2, 6, 7:
		return int64(event.Load)
	case 3, 4, 5:
		return int64(event.ByProfiler)
	case 8:
		return int64(event.QueueFull)
	}
	return none
}
