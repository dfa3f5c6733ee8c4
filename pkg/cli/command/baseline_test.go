package command

import (
	"bytes"
	"io"
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
	trace := copyFile(t, "../../../testdata/llama_tp2.sqlite", filepath.Join(dir, "a.sqlite"))
	home := filepath.Join(dir, "home")
	for _, name := range []string{"docs", "main.tmp"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name, "thesis.txt"), []byte("precious"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, &Diff, "not a directory", trace, "--baselines", filepath.Join(trace, "x"), "--save-baseline", "main")
	refused(t, &Diff, "docs exists and is not a baseline", trace, "--baselines", home, "--save-baseline", "docs", "--replace-baseline")
	for range 2 { // the second time it is replaced
		var stdout, stderr bytes.Buffer
		if status := cli.Run(&Diff, []string{trace, "--baselines", home, "--save-baseline", "main", "--replace-baseline"}, strings.NewReader(""), &stdout, &stderr); status != 0 {
			t.Fatal(status, &stderr)
		}
	}
	for _, name := range []string{"docs", "main.tmp"} {
		unchanged(t, filepath.Join(home, name, "thesis.txt"), "precious")
	}
	if all, err := os.ReadDir(home); err != nil || len(all) != 3 {
		t.Errorf("%v, %v are left", all, err)
	}
	kept := filepath.Join(home, "main", "run00.parquet")
	refused(t, &Diff, "the output is the input", "--baselines", home, "--baseline", "main", trace, "-o", kept)
}

// TestOutputsThatOnlyTheCommandKnows wants outputs to be refused that are inputs or one
// another, though the command line does not name them by these names.
func TestOutputsThatOnlyTheCommandKnows(t *testing.T) {
	dir := t.TempDir()
	trace := copyFile(t, "../../../testdata/llama_tp2.sqlite", filepath.Join(dir, "a.sqlite"))
	other := copyFile(t, trace, filepath.Join(dir, "b.sqlite"))
	rows := filepath.Join(dir, "rows.parquet")
	if err := os.WriteFile(rows, []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, &Metrics, "the output is the input", "--runs", "night="+rows, "-o", rows)
	refused(t, &Metrics, "--merge has no effect with --runs", "--runs", "--merge", rows)
	part := filepath.Join(dir, "part.arrows")
	if status := cli.Run(&Metrics, []string{trace, "-o", part}, strings.NewReader(""), io.Discard, io.Discard); status != 0 {
		t.Fatal(status)
	}
	refused(t, &Metrics, "are the same file", "--merge", part, dir+"/./part.arrows")
	refused(t, &Gaps, "hint: give a number of bytes", trace, "--memory", "1")
	refused(t, &Verdict, "--last without --history", other, "--last", "3")
}

// TestOutputsThatCannotBeWritten wants them refused before anything is read: the input is
// not even there.
func TestOutputsThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	for flag, cmd := range map[string]*cli.Command{"--flame": &Gaps, "--perfetto": &Gaps, "--junit": &Verdict, "-o": &Gaps} {
		path := map[string]string{"--flame": "x.folded", "--perfetto": "y.json", "--junit": "x.xml", "-o": "x.html"}[flag]
		refused(t, cmd, "there is no directory", "absent.sqlite", flag, filepath.Join(dir, "absent", path))
		if err := os.Mkdir(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
		refused(t, cmd, "is a directory", "absent.sqlite", flag, filepath.Join(dir, path))
	}
	refused(t, &Verdict, "--junit '-' is not a file", "absent.sqlite", "--junit", "-")
}

// TestDoctorFormats wants a diagnosis in the formats that its flag names, and rows in none
// of them that is only a diagnosis's.
func TestDoctorFormats(t *testing.T) {
	for format, begin := range map[string]string{"html": "<!", "json": "{"} {
		var stdout, stderr bytes.Buffer
		status := cli.Run(&Nsys2arrow, []string{"--doctor", "../../../testdata/llama_tp2.sqlite", "--format", format}, strings.NewReader(""), &stdout, &stderr)
		if status != 0 || !strings.HasPrefix(stdout.String(), begin) {
			t.Errorf("%s: status %d, %.20q, %s", format, status, &stdout, &stderr)
		}
	}
	refused(t, &Nsys2arrow, "--format html is for --doctor", "absent.sqlite", "--format", "html")
	refused(t, &Nsys2arrow, "does not write .html", "absent.sqlite", "-o", filepath.Join(t.TempDir(), "x.html"))
}

// TestPerfettoSaysThatItIsEmpty wants a trace without steps not to pass for one of steps.
func TestPerfettoSaysThatItIsEmpty(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := cli.Run(&Gaps, []string{"../../../testdata/llama_tp2.sqlite", "--to", "51ms", "--perfetto", filepath.Join(t.TempDir(), "x.json")}, strings.NewReader(""), &stdout, &stderr)
	if status != 0 || !strings.Contains(stderr.String(), "x.json is empty: no steps were read") {
		t.Errorf("status %d, %s", status, &stderr)
	}
}

// TestNothingChosen wants a range in which nothing lies not to pass for an answer.
func TestNothingChosen(t *testing.T) {
	for _, from := range []string{"1000000", "999s"} {
		refused(t, &Gaps, "the trace has nothing between --from and --to", "../../../testdata/llama_tp2.sqlite", "--from", from)
	}
}
