package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// thread is what users reported, as a run of the simulator in which its cause is planted, and
// one without: testdata/threads.json, and by three other authors, who had read neither the catalogue
// nor how facts are gathered, with other engines and in other ways, testdata/threads_held.json,
// threads_second.json and threads_third.json.
type thread struct {
	ID, Thread, Seen, Cause string
	// Base are the flags of the run without the cause, which Make adds to or replaces for the one
	// with it.
	Base, Make []string
	// Command asks the run with the cause, {t}, Twin one without, {b}; {a} is another one without.
	Command, Twin string
	Expect        string // what the first line of the answer must name, as an expression
}

// readThreads returns those of a file.
func readThreads(t *testing.T, name string) (all []thread) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// files makes the runs of a thread, and returns their names by the letters of commands.
func (th *thread) files(t *testing.T, seed int) *strings.Replacer {
	t.Helper()
	dir, names := t.TempDir(), []string{}
	for k, letter := range []string{"a", "b", "t"} {
		if letter == "a" && !strings.Contains(th.Command+th.Twin, "{a}") {
			continue
		}
		args := append([]string{"--seed", fmt.Sprint(100*seed + k)}, th.Base...)
		if letter == "t" {
			args = append(args, th.Make...)
		}
		path := filepath.Join(dir, letter+".sqlite")
		must(t, nil, "gentrace", append(args, "-o", path)...)
		names = append(names, "{"+letter+"}", path)
	}
	return strings.NewReplacer(names...)
}

// first is the first line of the answer to a command, and the first of what there is to do.
func first(t *testing.T, command string) (line, todo string) {
	t.Helper()
	words := strings.Fields(strings.Replace(command, "tracediff", "diff", 1))
	out := call(t, nil, words[0], words[1:]...)
	if out.status > 1 {
		t.Fatalf("%s: status %d, %s", command, out.status, out.stderr)
	}
	line, rest, _ := strings.Cut(out.stdout, "\n")
	if _, after, ok := strings.Cut(rest, "\n1. "); ok {
		todo, _, _ = strings.Cut(after, "\n")
	}
	return strings.TrimPrefix(line, "# "), todo
}

// TestThreads: the first line of the answer names the cause of what users reported, and does not
// where the cause is not there.
func TestThreads(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]struct{ seed, named int }{
		"threads.json": {1, 15}, "threads_held.json": {7, 15},
		"threads_second.json": {11, 13}, // 10 at the first run of the program on it
		"threads_third.json":  {21, 11}, // as at the first run of the program on it: 13 with what there is to do first
	} {
		t.Run(name, func(t *testing.T) {
			if name != "threads.json" {
				cases.All(t) // takes those of others, too
			}
			testThreads(t, name, set.seed, set.named)
		})
	}
}

// testThreads wants so many named of the runs with the cause, and none of those without.
func testThreads(t *testing.T, name string, seed, want int) {
	run, named, silent, all := 0, 0, 0, readThreads(t, name)
	for k := range all {
		th := &all[k]
		if !cases.Turn(k, 4) {
			continue
		}
		run++
		t.Run(th.ID, func(t *testing.T) {
			files := th.files(t, seed)
			expect := regexp.MustCompile(th.Expect)
			line, todo := first(t, files.Replace(th.Command))
			t.Logf("named %v: %s", expect.MatchString(line), line)
			t.Logf("to do: %s", todo)
			if expect.MatchString(line) {
				named++
			}
			line, todo = first(t, files.Replace(th.Twin))
			t.Logf("without: %s\n%s", line, todo)
			if !expect.MatchString(line + "\n" + todo) {
				silent++
			}
		})
	}
	t.Logf("of %d, %d are named in the first line; %d of the runs without the cause are silent", run, named, silent)
	if silent < run {
		t.Error("one is named where it is not")
	}
	if run == len(all) && named < want {
		t.Errorf("less than %d are named", want)
	}
}

// TestSymptoms runs the commands of SYMPTOMS.md on the runs of their threads: the first line of the
// answer is the one that stands there, and is not where the cause is not there.
func TestSymptoms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "scripts", "SYMPTOMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) == 6 && strings.HasPrefix(cells[2], "`") {
			rows[cells[5]] = cells
		}
	}
	all := readThreads(t, "threads.json")
	if len(rows) != len(all) {
		t.Errorf("%d rows, %d threads", len(rows), len(all))
	}
	for k := range all {
		th := &all[k]
		if !cases.Turn(k+2, 4) { // others than TestThreads
			continue
		}
		t.Run(th.ID, func(t *testing.T) {
			cells := rows[th.Thread]
			if cells == nil {
				t.Fatalf("no row of %s", th.Thread)
			}
			expect := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(strings.Trim(cells[3], "`")), "…", ".*"))
			files, command := th.files(t, 2), strings.Trim(cells[2], "`")
			ask := func(target string) string {
				words := strings.NewReplacer("before.sqlite", "{a}", "after.sqlite", target, "trace.sqlite", target).Replace(command)
				line, _ := first(t, files.Replace(words))
				return line
			}
			if line := ask("{t}"); !expect.MatchString(line) {
				t.Errorf("%s: %s, want %s", command, line, expect)
			}
			if line := ask("{b}"); expect.MatchString(line) {
				t.Errorf("without the cause, %s: %s", command, line)
			}
		})
	}
}

// A limit on CPU time that the kernel counted is named without a record of context switches, too.
func TestCPUStat(t *testing.T) {
	trace := generate(t, "--steps", "20", "--layers", "2")
	path := filepath.Join(t.TempDir(), "run.sqlite")
	export, err := os.ReadFile(trace)
	if err == nil {
		err = os.WriteFile(path, export, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for counted, want := range map[string]bool{"nr_throttled 20": true, "nr_throttled 0": false} {
		text := "before nr_periods 0\nbefore nr_throttled 0\nafter nr_periods 60\nafter " + counted + "\n"
		if err := os.WriteFile(strings.TrimSuffix(path, ".sqlite")+".cpu.stat", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		line, _ := first(t, "gaps "+path)
		if got := line == "A CPU quota stopped the processes in 33.3 % of its periods"; got != want {
			t.Errorf("%s: %s", counted, line)
		}
		stream := must(t, nil, "nsys2arrow", path)
		if piped, _, _ := strings.Cut(string(must(t, stream, "gaps")), "\n"); strings.TrimPrefix(piped, "# ") != line {
			t.Errorf("in the pipe: %s", piped)
		}
		for _, command := range []string{"verdict", "nsys2arrow --doctor"} {
			words := strings.Fields(command)
			text := call(t, nil, words[0], append(words[1:], path)...).stdout
			if strings.Contains(text, "stopped the processes in 20 of 60 periods") != want {
				t.Errorf("%s, %s: %s", command, counted, text)
			}
		}
	}
}

// A real CPU quota is named by what asks a recording without a GPU, and a busy machine is not.
func TestQuotaRecorded(t *testing.T) {
	for name, want := range map[string]bool{"quota": true, "contended": false} {
		path := testrun.Inflated(t, filepath.Join(root, "testdata", "cpu", name+".sqlite.gz"))
		stream := must(t, nil, "nsys2arrow", path)
		for command, out := range map[string]result{
			"doctor": call(t, nil, "nsys2arrow", "--doctor", path), "gaps": call(t, nil, "gaps", path), "in the pipe": call(t, stream, "gaps"),
			"verdict": call(t, nil, "verdict", path), "verdict in the pipe": call(t, stream, "verdict"), "verdict of metrics": call(t, must(t, stream, "metrics"), "verdict"),
		} {
			if strings.Contains(out.stdout, "as under a CPU quota") != want {
				t.Errorf("%s of %s: %s", command, name, out.stdout)
			}
		}
	}
}
