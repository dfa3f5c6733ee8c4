package kineto

import (
	"strings"
	"testing"
)

// TestNoTrace refuses JSON that has an array, but no events in it.
func TestNoTrace(t *testing.T) {
	const event = `{"ph":"X","ts":1,"dur":1,"name":"a"}`
	for text, want := range map[string]string{
		`[]`:                                          "an empty array",
		`{"traceEvents":[]}`:                          "",
		`[1, 2, 3]`:                                   "no element of its array has ph, ts and name",
		`["a", "b"]`:                                  "no element of its array has ph, ts and name",
		`[{"name": "pkg"}]`:                           "no element of its array has ph, ts and name",
		`[{"ts": 5}, {"a": []}]`:                      "no element of its array has ph, ts and name",
		`[{"ph":"X","name":"a"}]`:                     "no element of its array has ph, ts and name",
		`[{"ph":"X","name":"a"},{"ts":1}]`:            "no element of its array has ph, ts and name",
		`[{"ph":1,"ts":1,"name":"a"}]`:                "no element of its array has ph, ts and name",
		`[{"traceEvents":[` + event + `]}]`:           "no element of its array has ph, ts and name",
		`{"traceEvents":[{"verdict":"YES"},{"a":1}]}`: "no element of its array has ph, ts and name",
		`[` + event + `]`:                             "",
		`{"traceEvents":[5,` + event + `,{"a":1}]}`:   "",
	} {
		got := readBytes(t, []byte(text), Options{})
		switch {
		case want == "" && got.err != nil:
			t.Errorf("%s: %v", text, got.err)
		case want != "" && (got.err == nil || !strings.Contains(got.err.Error(), "JSON, but no trace: "+want)):
			t.Errorf("%s: error %v, want %q", text, got.err, want)
		}
	}
}
