package nsys

import (
	"os"
	"path/filepath"
	"testing"
)

// Both forms of cpu.stat are read, and what is not one says nothing.
func TestThrottled(t *testing.T) {
	for _, test := range []struct {
		text             string
		periods, stopped int64 // -1: nothing
	}{
		{"before nr_periods 10\nbefore nr_throttled 2\nbefore throttled_time 99\nafter nr_periods 110\nafter nr_throttled 65\nafter throttled_time 4000000099\n", 100, 63}, // version 1
		{"before nr_periods 0\nbefore nr_throttled 0\nbefore throttled_usec 0\nafter nr_periods 40\nafter nr_throttled 0\nafter throttled_usec 0\n", 40, 0},                // version 2
		{"after nr_periods 40\nafter nr_throttled 4\n", 40, 4}, // the group began with the recording
		{"before nr_periods 40\nafter nr_periods 40\n", 0, -1},
		{"before nr_periods 4\nafter nr_periods 10\nafter nr_throttled 11\n", 0, -1},
		{"", 0, -1}, {"after nr_periods x", 0, -1}, {"nothing of the kind", 0, -1},
	} {
		base := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(base+".cpu.stat", []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{base + ".sqlite", base + "_pqtdir"} {
			got := throttled(path)
			if (got == nil) != (test.stopped < 0) || got != nil && (got.Periods != test.periods || got.Stopped != test.stopped) {
				t.Errorf("%q: %+v", test.text, got)
			}
		}
	}
	if throttled(filepath.Join(t.TempDir(), "none.sqlite")) != nil {
		t.Error("something without a file")
	}
}
