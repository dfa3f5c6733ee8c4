package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// stumbled are words that readers stopped at, or took for something else: per step is
// what is meant by the last.
var stumbled = regexp.MustCompile(`(?i)metrics are crossed|figures say little|most of it, [0-9]|known treatment|begin with the first causes|holes? between|of the time only|nothing to tell|comes too late|going to zero|ahead of the GPU in the middle|who is last|that hide any|\b([nmµu]?s|kernels|launches|calls|replays|times|tokens|rows) a step\b`)

// plain wants a text to have none of them.
func plain(t *testing.T, name, text string) {
	t.Helper()
	if found := stumbled.FindAllString(text, -1); found != nil {
		t.Errorf("%s says %q", name, found)
	}
}

// TestWords looks for such words in manuals, reports and what goes with them.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"4 of 6 metrics are crossed", "their figures say little", "Most of it, 25 %, is", "No pattern with a known treatment", "begin with the first causes below",
		"half of the holes between steps", "busy 27.1 % of the time only", "nothing to tell steps by", "comes too late", "its going to zero could gain at most",
		"ahead of the GPU in the middle", "who is last changes", "no whole-graph rows that hide any", "119 kernels a step", "2.6 ms a step"} {
		if !stumbled.MatchString(text) {
			t.Errorf("%q would not be found", text)
		}
	}
	for _, cmd := range command.All {
		for _, flag := range []string{"--help", "--man"} {
			plain(t, cmd.Name+" "+flag, string(must(t, nil, cmd.Name, flag)))
		}
	}
	llama, slow := filepath.Join(root, "testdata", "llama_tp2.sqlite"), generate(t, "--reports", "--ranks", "2", "--steps", "40", "--layers", "4", "--set", `{"SlowRank":1,"Slow":600}`)
	traces := [][]string{{llama}, {"--by", "nvtx", llama}, {"--by", "none", llama}, reports(slow, 2), {"--rank", "0", llama}, {generate(t, "--mode", "graph", "--steps", "12", "--layers", "4")}}
	for _, mode := range []string{"eager", "graph"} {
		traces = append(traces, []string{generate(t, "--mode", mode, "--ranks", "1", "--steps", "10", "--layers", "2", "--markers", "none")})
	}
	for _, args := range traces {
		for _, question := range []string{"verdict", "gaps", "diff", "metrics", "isolate"} {
			r := call(t, nil, question, append(args[:len(args):len(args)], map[string][]string{"diff": {"--why"}, "metrics": {"--format", "table"}, "isolate": {"--format", "csv", "--kind", "step"}}[question]...)...)
			if plain(t, question+" "+args[0], r.stdout+r.stderr); r.status != 0 && r.status != 2 {
				t.Errorf("%s %q ends with %d: %s", question, args, r.status, r.stderr)
			}
		}
		if args[0][0] != '-' {
			plain(t, "doctor "+args[0], string(must(t, nil, "nsys2arrow", append(args, "--doctor")...)))
		}
	}
}

// TestOddTraces asks each question of the small traces with odd things, a third of them without
// HOSTBOUND_ALL: whatever the answer, it is an answer or an error of one line.
func TestOddTraces(t *testing.T) {
	t.Parallel()
	texts, err := filepath.Glob(filepath.Join(root, "testdata", "traces", "*.trace"))
	if err != nil || len(texts) < 20 {
		t.Fatalf("%d traces: %v", len(texts), err)
	}
	for k, text := range texts {
		if !cases.Turn(k, 3) {
			continue
		}
		ask(t, filepath.Base(text), generate(t, "--text", text))
	}
	for seed := 50; seed < 50+cases.Few(3, 3, 10); seed++ {
		ask(t, fmt.Sprint("random ", seed), generate(t, "--random", strconv.Itoa(seed)))
	}
}

// ask checks that no command dies of a trace.
func ask(t *testing.T, name, path string) {
	t.Helper()
	for _, question := range [][]string{{"verdict", "--by", "graph"}, {"gaps"}, {"gaps", "--by", "none", "--busy", "all"}, {"diff"}} {
		r := call(t, nil, question[0], append(question[1:], path)...)
		if plain(t, name+": "+question[0], r.stdout+r.stderr); r.status != 0 && r.status != 2 {
			t.Errorf("%s: %q ends with %d:\n%s", name, question, r.status, r.stderr)
		}
	}
}

// A history is not replaced by the rows of one night, because --append was forgotten.
func TestRunsAreNotLost(t *testing.T) {
	trace, other := generate(t, runs["node"]...), generate(t, runs["nomarker"]...)
	runs := filepath.Join(t.TempDir(), "runs.parquet")
	must(t, nil, "metrics", "--runs", "monday="+trace, "-o", runs)
	must(t, nil, "metrics", "--runs", "tuesday="+other, "--append", "-o", runs)
	before, err := os.ReadFile(runs)
	if err != nil {
		t.Fatal(err)
	}
	r := call(t, nil, "metrics", "--runs", "wednesday="+trace, "-o", runs)
	after, _ := os.ReadFile(runs)
	if r.status != 2 || !strings.Contains(r.stderr, "2 runs") || !strings.Contains(r.stderr, "--append") || !bytes.Equal(before, after) {
		t.Errorf("status %d, %d bytes for %d: %s", r.status, len(after), len(before), r.stderr)
	}
	must(t, nil, "metrics", "--runs", "monday="+trace, "tuesday="+other, "-o", runs) // all of them again
}
