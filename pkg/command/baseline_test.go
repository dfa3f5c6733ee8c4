package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/cli"
)

// refused runs a command that must end with status 2, write nothing to standard output,
// and complain of why.
func refused(t *testing.T, cmd *cli.Command, why string, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := cli.Run(cmd, args, strings.NewReader(""), &stdout, &stderr)
	if status != cli.StatusTrouble || stdout.Len() > 0 || !strings.Contains(stderr.String(), why) {
		t.Errorf("%s %v: status %d, %d bytes, %q; want 2 and %q", cmd.Name, args, status, stdout.Len(), &stderr, why)
	}
}

// copyFile copies a file and returns the name of the copy.
func copyFile(t *testing.T, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// unchanged wants a file to hold what it held.
func unchanged(t *testing.T, path, text string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("%s: %.40q, %v; want %.40q", path, got, err, text)
	}
}

// TestBaselineReplaces wants --replace-baseline to replace a baseline, and no folder of
// somebody else.
func TestBaselineReplaces(t *testing.T) {
	dir := t.TempDir()
	trace := copyFile(t, "../../testdata/llama_tp2.sqlite", filepath.Join(dir, "a.sqlite"))
	home := filepath.Join(dir, "home")
	for _, name := range []string{"docs", "main.tmp"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name, "thesis.txt"), []byte("precious"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, &Diff, "docs is there, and is no baseline", trace, "--baselines", home, "--save-baseline", "docs", "--replace-baseline")
	for range 2 { // the second time it is replaced
		var stdout, stderr bytes.Buffer
		if status := cli.Run(&Diff, []string{trace, "--baselines", home, "--save-baseline", "main", "--replace-baseline"}, strings.NewReader(""), &stdout, &stderr); status != 0 {
			t.Fatal(status, &stderr)
		}
	}
	for _, name := range []string{"docs", "main.tmp"} {
		unchanged(t, filepath.Join(home, name, "thesis.txt"), "precious")
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 3 {
		t.Errorf("%v, %v are left", left, err)
	}
	kept := filepath.Join(home, "main", "run00.parquet")
	refused(t, &Diff, "the output is the input", "--baselines", home, "--baseline", "main", trace, "-o", kept)
}

// TestOutputsThatOnlyTheCommandKnows wants outputs to be refused that are inputs or one
// another, though the command line does not name them by these names.
func TestOutputsThatOnlyTheCommandKnows(t *testing.T) {
	dir := t.TempDir()
	trace := copyFile(t, "../../testdata/llama_tp2.sqlite", filepath.Join(dir, "x.baseline.folded"))
	other := copyFile(t, trace, filepath.Join(dir, "b.sqlite"))
	flame := filepath.Join(dir, "x.folded")
	refused(t, &Diff, "the output is the input", other, trace, "--flame", flame)
	refused(t, &Diff, "two outputs are one file", other, "../../testdata/llama_tp2.sqlite", "--flame", filepath.Join(dir, "y.folded"), "--junit", filepath.Join(dir, "y.baseline.folded"))
	rows := filepath.Join(dir, "rows.parquet")
	if err := os.WriteFile(rows, []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, &Metrics, "the output is the input", "--runs", "night="+rows, "-o", rows)
	refused(t, &Metrics, "--runs and --merge", "--runs", "--merge", rows)
	refused(t, &Verdict, "--last without --history", other, "--last", "3")
}
