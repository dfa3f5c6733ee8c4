package cmd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
)

// TestOddTraces asks each question of the small traces with odd things: whatever
// the answer, it is an answer or an error of one line.
func TestOddTraces(t *testing.T) {
	texts, err := filepath.Glob(filepath.Join(root, "testdata", "traces", "*.trace"))
	if err != nil || len(texts) < 20 {
		t.Fatalf("%d traces: %v", len(texts), err)
	}
	for _, text := range texts {
		ask(t, filepath.Base(text), generate(t, "--text", text))
	}
	for seed := 50; seed < 60; seed++ {
		ask(t, fmt.Sprint("random ", seed), generate(t, "--random", strconv.Itoa(seed)))
	}
}

// ask checks that no command dies of a trace.
func ask(t *testing.T, name, path string) {
	t.Helper()
	for _, question := range [][]string{{"verdict", "--by", "graph"}, {"gaps"}, {"gaps", "--by", "none", "--busy", "all"}, {"diff"}} {
		if r := call(t, nil, question[0], append(question[1:], path)...); r.status != 0 && r.status != 2 {
			t.Errorf("%s: %q ends with %d:\n%s", name, question, r.status, r.stderr)
		}
	}
}
