package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/testkit/gentrace"
)

// llamaFlags make testdata/llama_tp2.sqlite, but for the output.
const llamaFlags = `--seed 1 --schema 3.20.3 --steps 29 --warmup 3 --set {"Fused":true,"ContextEvery":10,"Pause":300,"Frontend":true,"Overheads":true} --canary CANARY-hostbound`

// run runs the command.
func run(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = cli.Run(&gentrace.Command, args, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

// TestCommittedTrace wants the committed trace to be what the simulator makes
// today, byte for byte. Where it is not, either the change was not meant, or
// the trace must be made anew with the command line in the manual, and all that
// is compared with it.
func TestCommittedTrace(t *testing.T) {
	committed, err := os.ReadFile("../../testdata/llama_tp2.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if status, _, stderr := run(append(strings.Fields(llamaFlags), "-o", path)...); status != 0 {
		t.Fatal(stderr)
	}
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, committed) {
		t.Errorf("%d bytes, committed %d: not the same", len(made), len(committed))
	}
	manual, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	continued := regexp.MustCompile(` \\\n//\s*`).ReplaceAllString(strings.ReplaceAll(string(manual), "'", ""), " ")
	if !strings.Contains(continued, "go run ./scripts/gentrace "+llamaFlags+" -o testdata/llama_tp2.sqlite") {
		t.Error("the manual does not say how the committed trace is made")
	}
}

// TestOutputs makes one of each kind.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct {
		args string
		want []string
	}{
		"simulated": {"--steps 2 --layers 1 -o a.sqlite", []string{"a.sqlite"}},
		"reports":   {`--steps 2 --layers 1 --ranks 3 --reports --set {"ClockOffset":[0,0,1500]} -o rank%d.sqlite`, []string{"rank0.sqlite", "rank1.sqlite", "rank2.sqlite"}},
		"random":    {"--random 3 -o r.sqlite", []string{"r.sqlite"}},
		"parquet":   {"--steps 2 --layers 1 -o p_pqtdir", []string{"p_pqtdir/CUPTI_ACTIVITY_KIND_KERNEL.parquet"}},
		"text":      {"--text t.trace -o t.sqlite", []string{"t.sqlite"}},
		"host":      {"--steps 2 --layers 1 --host _schedule=400 -o h.sqlite", []string{"h.sqlite"}},
	}
	t.Chdir(dir)
	if err := os.WriteFile("t.trace", []byte("# odd\nprocess 1\nkernel 1us 2us k\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := run(strings.Fields(c.args)...)
			if status != 0 || stdout != "" {
				t.Fatalf("status %d, stdout %q, stderr %q", status, stdout, stderr)
			}
			for _, want := range c.want {
				if _, err := os.Stat(want); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestUsage wants mistakes told on standard error, with status 2 and no file.
func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bad.trace", []byte("# odd\nnonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"":                                    "-o FILE is missing",
		"-o x.sqlite --no-such-flag":          "no-such-flag",
		"-o x.sqlite file":                    `unexpected argument "file"`,
		"-o x.sqlite --mode fast":             "mode",
		"-o x.sqlite --schema 9":              "schema",
		"-o x.sqlite --host _schedule":        "_schedule",
		"-o x.sqlite --host nothing=1":        "nothing",
		"-o x.sqlite --reports":               "%d",
		"-o x.sqlite --text no.trace":         "no.trace",
		"-o x.sqlite --text bad.trace":        "bad.trace: line 2",
		"-o no/such/folder/x.sqlite":          "x.sqlite",
		"-o x.sqlite --steps 0":               "no steps",
		"-o x.sqlite --markers vllm --host a": "--host a",
	}
	for args, want := range cases {
		status, stdout, stderr := run(strings.Fields(args)...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "gentrace: error: ") || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", args, status, stdout, stderr, want)
		}
	}
	if left, _ := filepath.Glob("*x.sqlite*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSet changes a part of the Config and writes the truth.
func TestSet(t *testing.T) {
	dir := t.TempDir()
	truth := filepath.Join(dir, "truth.json")
	status, _, stderr := run("--steps", "9", "--set", `{"Engine":{"RecordSteps":3,"SkipSteps":2,"SplitRanges":true}}`,
		"--truth", truth, "-o", filepath.Join(dir, "range%d.sqlite"))
	text, err := os.ReadFile(truth)
	if status != 0 || err != nil || !bytes.Contains(text, []byte(`"Report": 1`)) {
		t.Errorf("status %d: %s: %v", status, stderr, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "range1.sqlite")); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`{"Engine":{"Nothing":1}}`, `{"Faults":[{"Kind":"bad luck"}]}`, `{`} {
		if status, _, _ := run("--set", bad, "-o", filepath.Join(dir, "x.sqlite")); status != 2 {
			t.Errorf("%s: status %d", bad, status)
		}
	}
}
