package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// optimizer is a folder in which scripts/optimize.sh works.
type optimizer struct {
	dir, work string
	env       []string
}

func newOptimizer(t *testing.T) *optimizer {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hotspots := filepath.Join(dir, "hotspots") // the test binary, under the command's name
	if err := os.Symlink(self, hotspots); err != nil {
		t.Fatal(err)
	}
	return &optimizer{dir: dir, work: filepath.Join(dir, "work"), env: append(os.Environ(), "HOTSPOTS="+hotspots)}
}

// run runs the script with more arguments than the folder.
func (o *optimizer) run(args ...string) (output string, status int) {
	cmd := exec.Command("bash", append([]string{filepath.Join(root, "scripts", "optimize.sh"), o.work}, args...)...)
	cmd.Dir, cmd.Env = o.dir, o.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return err.Error(), -1
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (o *optimizer) must(t *testing.T, args ...string) string {
	t.Helper()
	out, status := o.run(args...)
	if status != 0 {
		t.Fatalf("optimize.sh %q: status %d\n%s", args, status, out)
	}
	return out
}

func (o *optimizer) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (o *optimizer) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.work, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wastes are the lines of a round's hotspots, those left out that are real work.
func (o *optimizer) wastes(t *testing.T, name string) (lines []string) {
	t.Helper()
	table := strings.Split(o.read(t, name+".rank0.txt"), "\n")
	for _, h := range hotspotsJSON(t, nil, filepath.Join(o.work, name+".rank0.txt")).Hotspots {
		for _, l := range table {
			if h.Type != "COMPUTE" && strings.HasPrefix(strings.TrimLeft(l, " "), fmt.Sprintf("%d ", h.Line)) {
				lines = append(lines, l)
			}
		}
	}
	return lines
}

// python is a Python that has line_profiler, "" where there is none.
func python() string {
	for _, p := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(p, "-c", "import line_profiler").Run() == nil {
			return p
		}
	}
	return ""
}

// TestOptimize runs the whole loop on a toy engine with three planted wastes: it finds
// them in the order of their time, and the summary has what the changes gained.
func TestOptimize(t *testing.T) {
	cases.Whole(t)
	py := python()
	if py == "" {
		t.Skip("no Python with line_profiler: apt-get install python3-line-profiler")
	}
	o := newOptimizer(t)
	for _, name := range []string{"engine.py", "serve.py", "changes.py"} {
		text, err := os.ReadFile(filepath.Join(root, "testdata", "toy", name))
		if err != nil {
			t.Fatal(err)
		}
		o.write(t, name, string(text))
	}
	out := o.must(t, "--profile", py+" serve.py profile", "--test", py+" serve.py test", "--bench", py+" serve.py bench $BENCH_FILE",
		"--change", py+" changes.py engine engine.py ${ROUND#round}")
	if !strings.Contains(out, "rounds done: 3 of 3") {
		t.Errorf("it does not stop after three rounds:\n%s", out)
	}

	// all three are found in the first profile, in the order of their time
	at := 0
	wastes := o.wastes(t, "round0_baseline")
	for _, planted := range []string{`dump = json.dumps`, `for request, token in zip|if token in self.stop_tokens:`, `for request in requests:`} {
		found := slices.IndexFunc(wastes[at:], regexp.MustCompile(planted).MatchString)
		if found < 0 {
			t.Errorf("%s is not found after the first %d of %q", planted, at, wastes)
			break
		}
		at += found + 1
	}
	// and each is gone from the profile after the round that took it out
	for name, gone := range map[string]string{"round1_no_dump": "json.dumps", "round3_one_loop": "budgets.append"} {
		if left := o.wastes(t, name); slices.ContainsFunc(left, func(l string) bool { return strings.Contains(l, gone) }) {
			t.Errorf("%s: %s is still there: %q", name, gone, left)
		}
	}

	d := hotspotsJSON(t, nil, o.work)
	if len(d.Rounds) != 4 || d.Rounds[1].Verdict != "improved" || d.Rounds[2].Verdict != "improved" {
		t.Errorf("rounds: %+v", d.Rounds)
	}
	summary := o.read(t, "summary.md")
	if m := regexp.MustCompile(`(?m)^\| throughput .*\| +\+([0-9.]+) %`).FindStringSubmatch(summary); m == nil || len(m[1]) < 5 { // over 100 %
		t.Errorf("the summary has no gain of throughput over 100 %%:\n%s", summary)
	}
	for _, want := range []string{"no_dump (`engine.py:42`", "stop_set (`engine.py:", "one_loop (`engine.py:"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary does not name the change %s", want)
		}
	}
	if log := o.read(t, "log.tsv"); strings.Count(log, "\n") != 5 {
		t.Errorf("log:\n%s", log)
	}
	// an end stays an end
	if out := o.must(t); !strings.Contains(out, "done: ") {
		t.Errorf("called again:\n%s", out)
	}
}

// canned is a profile of one function as a shell function writes it.
func canned(function, ms, source string) string {
	return fmt.Sprintf(`cat >"$TLLM_LINE_PROFILER_PATH" <<'END'
Timer unit: 1e-06 s

Total time: %[2]s s
File: /app/tensorrt_llm/_torch/pyexecutor/py_executor.py
Function: %[1]s at line 10

Line #      Hits         Time  Per Hit   %% Time  Line Contents
==============================================================
    10                                           def %[1]s(self):
    11       100   %[2]s000000.0   1.0    100.0      %[3]s

END
`, function, ms, source)
}

// TestOptimizeRestart stops the loop at every point and goes on: a change that is due,
// tests that fail, a regression, and rounds on other CPUs.
func TestOptimizeRestart(t *testing.T) {
	cases.Whole(t)
	o := newOptimizer(t)
	o.write(t, "slow.sh", canned("_schedule", "5", "state = pickle.dumps(self.requests)"))
	o.write(t, "fast.sh", canned("_schedule", "3", "state = pickle.dumps(self.requests)"))
	o.write(t, "worse.sh", canned("_schedule", "9", "state = pickle.dumps(self.requests) if self.on else None"))
	o.write(t, "now.sh", ". ./slow.sh\n")
	if out := o.must(t, "--profile", ". ./now.sh", "--test", "test ! -e broken", "--dry-run"); !strings.Contains(out, "PROFILE") {
		t.Errorf("plan:\n%s", out)
	}
	if _, err := os.Stat(o.work); err == nil {
		t.Error("a dry run made the folder")
	}
	out := o.must(t, "--profile", ". ./now.sh", "--test", "test ! -e broken")
	if !strings.Contains(out, "--changed NAME") {
		t.Errorf("a change is due, and it does not say so:\n%s", out)
	}
	if out := o.must(t); strings.Contains(out, "PROFILE") {
		t.Errorf("it profiles again without a change:\n%s", out)
	}

	o.write(t, "now.sh", ". ./fast.sh\n")
	o.write(t, "broken", "")
	out, status := o.run("--changed", "first")
	if status != 1 || !strings.Contains(out, "tests of round1_first failed") || strings.Contains(out, "PROFILE") {
		t.Fatalf("failed tests: status %d\n%s", status, out)
	}
	if err := os.Remove(filepath.Join(o.dir, "broken")); err != nil {
		t.Fatal(err)
	}
	o.must(t)
	if log := o.read(t, "log.tsv"); !strings.Contains(log, "round1_first") || !strings.Contains(log, "improved") {
		t.Errorf("log:\n%s", log)
	}

	o.write(t, "now.sh", ". ./worse.sh\n")
	out = o.must(t, "--changed", "second")
	if !strings.Contains(out, "ROLL BACK round2_second") || !strings.Contains(out, "profiled time +200.0 %") {
		t.Errorf("regression:\n%s", out)
	}
	o.write(t, "now.sh", "sed 's/x/x/' >/dev/null </dev/null; . ./fast.sh\n")
	notes := strings.Replace(o.read(t, "notes.toml"), `cpus = "`, `cpus = "77,`, 1)
	if err := os.WriteFile(filepath.Join(o.work, "notes.toml"), []byte(notes), 0o644); err != nil {
		t.Fatal(err)
	}
	out = o.must(t, "--changed", "third")
	if !strings.Contains(out, "rounds done: 3 of 3") {
		t.Errorf("the end:\n%s", out)
	}
	summary := o.read(t, "summary.md")
	for _, want := range []string{"part of the difference may come from that", "round2_second", "conditional expression", "Summary: failed attempts"} {
		if !strings.Contains(summary, want) {
			t.Errorf("no %q in the summary:\n%s", want, summary)
		}
	}
	if !strings.Contains(o.read(t, "notes.toml"), "reverted = true") {
		t.Error("the notes do not say that round 2 was reverted")
	}
}

// TestOptimizeGivesUp: a change whose tests failed and that was taken back is a failed attempt with its
// reason and its diff, and the next one is a round of its own.
func TestOptimizeGivesUp(t *testing.T) {
	cases.Whole(t)
	for _, git := range []bool{false, true} {
		o := newOptimizer(t)
		o.write(t, "slow.sh", canned("_schedule", "5", "state = pickle.dumps(self.requests)"))
		o.write(t, "fast.sh", canned("_schedule", "3", "state = pickle.dumps(self.requests)"))
		o.write(t, "now.sh", ". ./slow.sh\n")
		if git {
			cmd := exec.Command("git", "init", "-q")
			cmd.Dir = o.dir
			if err := cmd.Run(); err != nil {
				t.Skip("no git")
			}
		}
		if _, status := o.run("--profile", ". ./now.sh", "--test", "! grep broken now.sh", "--changed", "early"); status != 2 {
			t.Errorf("a change ahead of the baseline: status %d", status)
		}
		o.must(t)
		o.write(t, "now.sh", ". ./fast.sh # broken\n")
		if out, status := o.run("--changed", "x"); status != 1 || !strings.Contains(out, "tests of round1_x failed") {
			t.Fatalf("status %d\n%s", status, out)
		}
		if git { // taken back: called again it says so
			o.write(t, "now.sh", ". ./slow.sh\n")
			if out := o.must(t); !strings.Contains(out, "round1_x is given up") || strings.Contains(out, "PROFILE") {
				t.Errorf("taken back:\n%s", out)
			}
		}
		o.write(t, "now.sh", ". ./fast.sh\n")
		out := o.must(t, "--changed", "y")
		if !strings.Contains(out, "REPORT round1_y: improved") || strings.Contains(out, "round2") {
			t.Errorf("the next change:\n%s", out)
		}
		o.write(t, "now.sh", ". ./slow.sh\n")
		o.must(t, "--changed", "z", "--rounds", "2")
		summary := o.read(t, "summary.md")
		if !strings.Contains(summary, "x: its tests failed: . ./fast.sh # broken") || strings.Contains(summary, "is no round here") {
			t.Errorf("summary:\n%s", summary)
		}
		if git && (!strings.Contains(o.read(t, "failed/round1_x.diff"), "+. ./fast.sh # broken") || !strings.Contains(o.read(t, "round1_y.diff"), "+. ./fast.sh\n")) {
			t.Error("no diffs")
		}
	}
}

// TestOptimizeDrill: what the profile hides is profiled next, with the functions that
// hotspots names.
func TestOptimizeDrill(t *testing.T) {
	t.Parallel()
	o := newOptimizer(t)
	o.write(t, "outer.sh", canned("_forward_step", "5", "return self.model_engine.forward(batch)"))
	o.write(t, "inner.sh", canned("_forward_step", "5", "return self.copy_stream.synchronize()"))
	o.must(t, "--profile", `case $TLLM_LINE_PROFILER_FUNCTIONS in *PyTorchModelEngine.forward*) . ./inner.sh ;; *) . ./outer.sh ;; esac; printf '%s\n' "$EXTRA_SUFFIX" >suffix`, "--test", "true")
	if got := o.read(t, "functions"); !strings.Contains(got, "PyTorchModelEngine._prepare_tp_inputs") || !strings.Contains(got, "PyExecutor._forward_step") {
		t.Errorf("functions: %s", got)
	}
	if got := o.read(t, "round0_baseline.rank0.txt"); !strings.Contains(got, "synchronize") {
		t.Error("the profile is not the one with what was hidden")
	}
	if suffix, err := os.ReadFile(filepath.Join(o.dir, "suffix")); err != nil || string(suffix) != "round0_baseline\n" {
		t.Errorf("EXTRA_SUFFIX=%s %v", suffix, err)
	}
}

// TestOptimizeRanks: each rank has a path of its own.
func TestOptimizeRanks(t *testing.T) {
	t.Parallel()
	o := newOptimizer(t)
	o.write(t, "one.sh", canned("_schedule", "5", "state = pickle.dumps(self.requests)"))
	o.must(t, "--profile", "for r in 0 1 2; do OMPI_COMM_WORLD_RANK=$r $RANK_EXEC bash one.sh; done", "--test", "true")
	for _, name := range []string{"round0_baseline.rank0.txt", "round0_baseline.rank2.txt"} {
		o.read(t, name)
	}
}

// TestOptimizeRefuses: a command line that makes no sense ends with status 2.
func TestOptimizeRefuses(t *testing.T) {
	o := newOptimizer(t)
	for _, args := range [][]string{
		{}, {"--profile", "true"}, {"--profile", "true", "--test", "true", "--rounds", "0"}, {"--colour"}, {"another"},
		{"--profile", "true", "--test", "true", "--changed", "../x"}, {"--profile"},
	} {
		if out, status := o.run(args...); status != 2 || !strings.HasPrefix(out, "optimize: error: ") {
			t.Errorf("%q: status %d\n%s", args, status, out)
		}
	}
	if out, status := o.run("--profile", "true", "--test", "true"); status != 1 || !strings.Contains(out, "no profile at") {
		t.Errorf("no profile: status %d\n%s", status, out)
	}
}
