package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/report"
)

// fixture is a run of which the cause is known, and the question that has it for an answer.
type fixture struct {
	ID, Command, Expect, Of string
	Make                    [][]string
}

// filled are the words of a command with the places of files in place of their names.
func (f *fixture) filled(words []string, dir, seed string) []string {
	return strings.Split(strings.NewReplacer("{seed}", seed,
		"{t}", filepath.Join(dir, f.ID+".sqlite"), "{a}", filepath.Join(dir, f.ID+".a.sqlite"), "{b}", filepath.Join(dir, f.ID+".b.sqlite"),
	).Replace(strings.Join(words, "\x00")), "\x00")
}

// brief makes the runs of a fixture and asks; text is what must name the cause.
func (f *fixture) brief(t *testing.T, seed string) (b report.Brief, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, words := range f.Make {
		words = f.filled(words, dir, seed)
		must(t, nil, words[0], words[1:]...)
	}
	words := f.filled(strings.Fields(f.Command), dir, seed)
	if words[0] == "tracediff" {
		words[0] = "diff"
	}
	out := must(t, nil, words[0], words[1:]...)
	if len(out) > report.BriefLimit+1 {
		t.Errorf("%s: %d bytes", f.ID, len(out))
	}
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatal(err)
	}
	switch f.Of {
	case "conclusion":
		return b, b.Conclusion
	case "answer":
		return b, b.Answer
	}
	first, err := json.Marshal(b.Items[:min(1, len(b.Items))])
	if err != nil {
		t.Fatal(err)
	}
	return b, string(first)
}

// TestSkillFixtures: of the thirty runs of the skill the brief answers name the cause first in at
// least 27, each within its limit; the first item has the same id in five seeds.
func TestSkillFixtures(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "scripts", "skill", "fixtures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []fixture
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 30 {
		t.Fatalf("%d fixtures, %v", len(all), err)
	}
	run, wrong := 0, []string{}
	for i := range all {
		f := &all[i]
		if os.Getenv("HOSTBOUND_ALL") == "" && i%6 != 0 {
			continue
		}
		b, said := f.brief(t, "1")
		if run++; !regexp.MustCompile("(?im)" + f.Expect).MatchString(said) {
			wrong = append(wrong, f.ID+": "+said)
		}
		if i%10 != 0 || len(b.Items) == 0 {
			continue
		}
		for _, seed := range []string{"2", "3", "4", "5"} {
			if other, _ := f.brief(t, seed); len(other.Items) == 0 || other.Items[0].ID != b.Items[0].ID {
				t.Errorf("%s: seed %s has another first item than %s: %+v", f.ID, seed, b.Items[0].ID, other.Items)
			}
		}
	}
	t.Logf("%d of %d name the cause", run-len(wrong), run)
	if len(wrong)*10 > run {
		t.Errorf("%d of %d do not name the cause:\n%s", len(wrong), run, strings.Join(wrong, "\n"))
	}
}

// A run of which the GPU is the bound is not faster for a host that does not wait for it: what
// is then queued has still to run.
func TestWhatifGPUBound(t *testing.T) {
	run := generate(t, "--ranks", "1", "--steps", "60", "--warmup", "0", "--set", `{"KernelScale":25,"ContextEvery":0}`)
	var table, without struct {
		Bounds struct {
			GPU float64 `json:"gpu_us"`
		}
		Scenarios []struct {
			Change string
			Step   float64 `json:"step_us"`
		}
	}
	for into, args := range map[any][]string{&table: nil, &without: {"--no-wait", "cudaEventSynchronize"}} {
		if err := json.Unmarshal(must(t, nil, "whatif", append(args, run, "--report", "--format", "json")...), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range append(table.Scenarios, without.Scenarios...) {
		if !strings.HasPrefix(s.Change, "GPU") && s.Step < 0.99*table.Bounds.GPU {
			t.Errorf("%s: a step of %.0f us, and the GPU alone takes %.0f", s.Change, s.Step, table.Bounds.GPU)
		}
	}
}
