package command

import (
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestWithout wants what --without names to be left out whatever the input is:
// not asked of an export, and not taken of a stream that has it.
func TestWithout(t *testing.T) {
	var c reading
	c.wantHost("run")
	if !slices.Equal(c.host, []event.Kind{event.OS, event.Sample, event.Backtrace}) {
		t.Errorf("asked for %v", c.host)
	}
	if k := c.selected.Kinds; len(k) != len(event.Kinds)-1 || slices.Contains(k, event.Run) {
		t.Errorf("takes %v", k)
	}
	c = reading{}
	c.selected.Kinds = []event.Kind{event.Run}
	c.wantHost("run")
	if k := c.selected.Kinds; k == nil || len(k) > 0 {
		t.Errorf("takes %v of --kind run --without run", k)
	}
	c = reading{}
	if c.wantHost(""); len(c.host) != 4 || c.selected.Kinds != nil {
		t.Errorf("takes %v and asks for %v", c.selected.Kinds, c.host)
	}
}
