package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

var updateSentences = flag.Bool("update-sentences", false, "write testdata/sentences.txt anew")

// sentencesFile holds what a person can meet, one sentence a line, in order of the alphabet, so
// that it can be read as a whole, and that a change of a text is seen where texts are reviewed.
const sentencesFile = "testdata/sentences.txt"

// maxWords is how many words a sentence may have.
const maxWords = 25

// TestSentences compares the sentences of help, reports, warnings, errors and the catalogue of
// findings with those of the file. Without HOSTBOUND_ALL only some traces are asked, for what
// is new.
func TestSentences(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for name, text := range texts(t) {
		for _, s := range sentences(text) {
			said[s] = true
			if stumbled.MatchString(s) {
				t.Errorf("%s says %q", name, s)
			}
		}
	}
	whole := sampled(0, 0, 1) == 1
	all := slices.Sorted(maps.Keys(said))
	for _, s := range all {
		if len(strings.Fields(s)) > maxWords {
			t.Errorf("more than %d words: %s", maxWords, s)
		}
	}
	got := []byte(strings.Join(all, "\n") + "\n")
	if *updateSentences {
		if err := os.WriteFile(sentencesFile, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(sentencesFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		known := map[string]bool{}
		for line := range strings.Lines(string(want)) {
			known[strings.TrimSuffix(line, "\n")] = true
		}
		for _, s := range all {
			if !known[s] {
				t.Errorf("new: %s", s)
			}
		}
		for _, s := range slices.Sorted(maps.Keys(known)) {
			if whole && !said[s] {
				t.Errorf("gone: %s", s)
			}
		}
		if t.Failed() {
			t.Errorf("read what changed, then 'go test ./cmd -run TestSentences -update-sentences'")
		}
	}
}

// sampled is cases.Few, but all where the file is written anew.
func sampled(short, some, all int) int {
	if *updateSentences {
		return all
	}
	return cases.Few(short, some, all)
}

// texts are what the commands print for people, by what was asked: of traces that the repository
// has or that are simulated, so that they are the same everywhere.
func texts(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, cmd := range command.All {
		all[cmd.Name+" --help"] = string(must(t, nil, cmd.Name, "--help"))
	}
	for i, e := range findings.Catalogue() {
		all[fmt.Sprint("finding ", i)] = strings.Join([]string{e.Title, e.Say, e.Do}, "\n")
	}
	traces := []string{filepath.Join(root, "testdata", "llama_tp2.sqlite")}
	for _, name := range []string{"clean", "fsync", "gc", "gil", "lock", "neighbour", "poll", "sleep"}[:sampled(1, 2, 8)] {
		traces = append(traces, inflated(t, name))
	}
	for _, name := range slices.Sorted(maps.Keys(runs))[:sampled(1, 1, len(runs))] {
		traces = append(traces, generate(t, runs[name]...))
	}
	for _, set := range []string{`{"Collective":"vllm","Overlap":true}`, `{"Collective":"vllm","Ranks":4,"Engine":{"Pipeline":4,"Ahead":1}}`,
		`{"SlowRank":1,"Slow":600,"Overlap":true}`, `{"Faults":[{"Kind":"slowgpu","Rank":1,"Factor":1.5}]}`, `{"Faults":[{"Kind":"rotate","US":400,"Rank":-1}]}`,
		`{"Engine":{"EagerShare":0.3}}`, `{"Dropped":0.4}`}[:sampled(0, 0, 7)] { // of several ranks
		traces = append(traces, generate(t, "--markers", "vllm", "--steps", "20", "--layers", "4", "--set", set))
	}
	odd, err := filepath.Glob(filepath.Join(root, "testdata", "traces", "*.trace"))
	if err != nil || len(odd) < 20 {
		t.Fatalf("%d traces: %v", len(odd), err)
	}
	for _, text := range odd[:sampled(3, 8, len(odd))] {
		traces = append(traces, generate(t, "--text", text))
	}
	for i, trace := range traces {
		for _, question := range []string{"verdict --report", "verdict --by none", "gaps --report all", "gaps", "whatif --report", "nsys2arrow --doctor", "diff BASE"} {
			args := strings.Fields(strings.ReplaceAll(question, "BASE", traces[0]))
			if r := call(t, nil, args[0], append(args[1:], trace)...); r.status == 0 || r.status == 2 || args[0] == "diff" {
				all[fmt.Sprint(question, " of trace ", i)] = r.stdout + "\n" + r.stderr
			} else {
				t.Errorf("%s ends with %d: %s", question, r.status, r.stderr)
			}
		}
	}
	rounds := filepath.Join(root, "pkg", "hotspot", "round", "testdata", "llama")
	profile := filepath.Join(rounds, "round1_single_loop.txt")
	for _, line := range []string{"hotspots PROFILE", "hotspots ROUNDS", "hotspots --evidence TRACE PROFILE", "hotspots --types"} {
		args := strings.Fields(strings.NewReplacer("PROFILE", profile, "ROUNDS", rounds, "TRACE", traces[0]).Replace(line))
		all[line] = string(must(t, nil, args[0], args[1:]...))
	}
	for _, line := range misuses {
		args := strings.Fields(strings.NewReplacer("PROFILE", profile, "ROUNDS", rounds, "TRACE", traces[0]).Replace(line))
		r := call(t, nil, args[0], args[1:]...)
		if r.status != 2 {
			t.Errorf("%s ends with %d", line, r.status)
		}
		all[line] = r.stderr
	}
	return all
}

// misuses are command lines that cannot be carried out, for what is said of them.
var misuses = []string{
	"nsys2arrow TRACE -o x.html", "nsys2arrow --doctor TRACE -o x.csv", "nsys2arrow --doctor TRACE --kind kernel", "nsys2arrow TRACE --from 5 --format csv",
	"nsys2arrow TRACE --rank 7 --format csv", "nsys2arrow TRACE --rank x", "nsys2arrow TRACE --kind foo", "nsys2arrow TRACE --from 2s --to 1s", "nsys2arrow TRACE --memory 1M",
	"nsys2arrow missing.sqlite", "nsys2arrow PROFILE", "isolate TRACE --marker (", "isolate TRACE --gap 0", "isolate TRACE --by nvtx --gap 3ms", "phase TRACE --busy foo",
	"metrics TRACE --append", "metrics --runs a=TRACE --append", "metrics TRACE --tag foo", "metrics --merge TRACE", "metrics TRACE --window foo",
	"verdict TRACE --brief --format text", "verdict TRACE --fail-worse", "verdict TRACE --threshold foo=1", "verdict TRACE --threshold gpu_idle_ratio=50", "verdict --history PROFILE TRACE",
	"verdict TRACE --by none --strict", "gaps TRACE --format csv", "gaps TRACE --step 5", "gaps TRACE --flame p.txt", "gaps TRACE --report gaps --per-step", "gaps TRACE --from 900 --to 901",
	"whatif TRACE --host x --report", "whatif TRACE --range a --report", "whatif TRACE --range zzz=0 --report", "whatif TRACE --why foo=0 --report",
	"hotspots TRACE", "hotspots PROFILE --by round", "hotspots PROFILE PROFILE", "hotspots a=PROFILE", "hotspots ROUNDS PROFILE", "hotspots PROFILE --evidence PROFILE", "hotspots ROUNDS --bench round9=x.json",
	"diff TRACE --fail-on regression", "diff TRACE TRACE --fail-on foo", "diff TRACE TRACE TRACE", "diff --baseline foo TRACE", "diff TRACE TRACE --group-by node", "diff TRACE TRACE --by none",
	"verdict --wat", "verdict --top x", "verdict TRACE --format csv", "gaps TRACE --report foo",
}

var (
	quotedText = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|'[^' ]+[^']*'")
	prefixText = regexp.MustCompile(`^(\w+: )?(> \*\*)?(warning|hint|error|Warning):(\*\*)? `)
	pathText   = regexp.MustCompile(`\S*\.(sqlite|trace|arrows|parquet|json|txt|gz)\b(:\d+)?`)
	numberText = regexp.MustCompile(`[-+±]?\d[\d.,]*( ?(ns|us|µs|ms|s|%|kB|MB|GB|MiB|GiB|×|x)\b)?`)
	sentenceAt = regexp.MustCompile(`([.!?:])\s+`)
)

// sentences are the sentences of a text, with N in place of numbers and … in place of names.
func sentences(text string) (all []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "|") || strings.HasPrefix(line, "`") || !strings.Contains(line, " ") {
			continue // tables, commands and single words
		}
		line = prefixText.ReplaceAllString(line, "")
		line = quotedText.ReplaceAllString(line, "…")
		line = pathText.ReplaceAllString(line, "FILE")
		line = numberText.ReplaceAllString(line, "N")
		for _, s := range strings.Split(sentenceAt.ReplaceAllString(line, "$1\n"), "\n") {
			if s = strings.Trim(s, " #*_-•"); len(strings.Fields(s)) > 2 {
				all = append(all, s)
			}
		}
	}
	return all
}
