package findings

import (
	"strings"
	"testing"
)

// Ranges have a function, with digits folded, and a table is extended without changing it.
func TestSources(t *testing.T) {
	s := DefaultSources()
	if got := s.Function("_update_requests"); got != "PyExecutor._update_requests" {
		t.Errorf("function %q", got)
	}
	if got := s.Function("prepare_resources_kv_cache_manager_v2"); got == "" {
		t.Error("digits are not folded")
	}
	more, err := s.Extend(strings.NewReader(`{"ranges": [{"nvtx": "mine 7", "function": "f"}, {"nvtx": "_schedule", "function": "g"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if more.Function("mine 12") != "f" || more.Function("_schedule") != "g" || s.Function("_schedule") == "g" {
		t.Error("the table is not extended, or the one it came from is")
	}
	for _, bad := range []string{"", "[]", `{"range": []}`, `{"ranges": [{"nvtx": "x"}]}`, `{"ranges": []} x`} {
		if _, err := s.Extend(strings.NewReader(bad)); err == nil {
			t.Errorf("source map %q is accepted", bad)
		}
	}
}
