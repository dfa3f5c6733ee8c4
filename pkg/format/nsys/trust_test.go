package nsys

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// What the profiler says of the threads' rows goes into the header, and runs that it only
// deduced are none.
func TestHostDiagnostics(t *testing.T) {
	for text, want := range map[string]struct {
		lost       bool
		noSwitches string
		runs       bool
	}{
		"Number of CUDA events collected: 37.":                                                                           {false, "", true},
		"Not all OS runtime libraries events might have been collected.":                                                 {true, "", true},
		"Scheduling information is absent. The thread activity is deduced based on OS runtime libraries traces.":         {false, event.SwitchesDeduced, false},
		"Unable to configure the collection of CPU IP samples, CPU IP backtraces, context switch data. Try perf_event …": {false, event.SwitchesDenied, true},
	} {
		path := database(t, hostExport+`CREATE TABLE DIAGNOSTIC_EVENT (severity, text); INSERT INTO DIAGNOSTIC_EVENT VALUES (2, '`+text+`');`)
		opts := Options{Host: []event.Kind{event.OS, event.Run}}
		lines := hostLines(t, opts, path)
		h, err := Open([]string{path}, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		rep := h.Header().Reports[0]
		runs := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "run ") })
		if rep.LostCalls != want.lost || rep.NoSwitches != want.noSwitches || runs != want.runs {
			t.Errorf("%q: lost %v, no switches %q, runs %v", text, rep.LostCalls, rep.NoSwitches, runs)
		}
	}
}
