// Package cmd tests the commands as people run them: the scripts in
// testdata/script, whose names say what they are about, the README's command
// blocks, and what a whole pipe of processes does when a part of it fails.
//
// Tests call the commands in this process (call, must). Scripts, and tests that
// kill a command, run the test binary itself under the command's name: nothing is
// built but the tests.
package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/gentrace"
)

// root is the repository.
var root = func() string {
	dir, err := filepath.Abs("..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// commands are what scripts can run.
var commands = append([]*cli.Command{&gentrace.Command}, command.All...)

func TestMain(m *testing.M) {
	named := map[string]func(){}
	for _, cmd := range commands {
		named[cmd.Name] = func() { os.Exit(cli.Main(cmd)) }
	}
	for _, name := range []string{"hostbound", "tracediff"} { // the binary of all, and a link to it
		named[name] = func() { os.Exit(cli.MainOf("hostbound", command.All)) }
	}
	testscript.Main(cleaned{m}, named)
}

// cleaned is the tests, after which the traces are gone.
type cleaned struct{ m *testing.M }

func (c cleaned) Run() int {
	defer func() { os.RemoveAll(traces.dir) }()
	return c.m.Run()
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", os.Getenv("PATH"))
			e.Setenv("ROOT", root)
			e.Setenv("TRACE", filepath.Join(root, "testdata", "llama_tp2.sqlite"))
			e.Setenv("TRACES", filepath.Join(root, "testdata", "traces"))
			return nil
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// result is what a command left.
type result struct {
	stdout, stderr string
	status         int
}

// call runs a command in this process, and validates the document of JSON that it writes, or
// the first of its rows.
func call(t *testing.T, stdin []byte, name string, args ...string) result {
	t.Helper()
	for _, cmd := range commands {
		if cmd.Name == name {
			var stdout, stderr bytes.Buffer
			status := cli.Run(cmd, args, bytes.NewReader(stdin), &stdout, &stderr)
			if text := stdout.String(); name != "gentrace" && strings.HasPrefix(text, "{") && !slices.Contains(args, "--schema") {
				validateAll(t, text)
			}
			return result{stdout.String(), stderr.String(), status}
		}
	}
	t.Fatal("no command " + name)
	return result{}
}

// must runs a command that is to succeed and returns its output.
func must(t *testing.T, stdin []byte, name string, args ...string) []byte {
	t.Helper()
	r := call(t, stdin, name, args...)
	if r.status != 0 {
		t.Fatalf("%s %s: status %d: %s", name, strings.Join(args, " "), r.status, r.stderr)
	}
	return []byte(r.stdout)
}

// traces are those that were made, by what gentrace was told.
var traces struct {
	sync.Mutex
	dir  string
	made map[string]string
}

// generate makes a trace with gentrace and returns its name, with --reports and
// so a pattern of names. Tests share the traces: they are not to be changed.
func generate(t *testing.T, args ...string) string {
	t.Helper()
	traces.Lock()
	defer traces.Unlock()
	key := strings.Join(args, " ")
	if path := traces.made[key]; path != "" {
		return path
	}
	if traces.made == nil {
		dir, err := os.MkdirTemp("", "hostbound-cmd-")
		if err != nil {
			t.Fatal(err)
		}
		traces.dir, traces.made = dir, map[string]string{}
	}
	dir := filepath.Join(traces.dir, fmt.Sprint(len(traces.made)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "trace.sqlite")
	if strings.Contains(key, "--reports") {
		path = filepath.Join(dir, "rank%d.sqlite")
	}
	must(t, nil, "gentrace", append(args, "-o", path)...)
	traces.made[key] = path
	return path
}

// reports are the names of the first n of the reports that generate made.
func reports(pattern string, n int) (files []string) {
	for rank := range n {
		files = append(files, fmt.Sprintf(pattern, rank))
	}
	return files
}
