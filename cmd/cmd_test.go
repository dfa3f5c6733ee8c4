// Package cmd tests the commands as people run them: the scripts in
// testdata/script, whose names say what they are about, the README's command
// blocks, and what a whole pipe of processes does when a part of it fails.
package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	// What the commands that are tested consist of: where it has changed, the go
	// command must not take the results out of its cache. See also sources.
	_ "github.com/hostbound/hostbound/pkg/command"
	_ "github.com/hostbound/hostbound/pkg/sim"
)

// bin is the folder with the built commands; root is the repository.
var bin, root string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hostbound-cmd-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if root, err = filepath.Abs(".."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := sources(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./cmd/...", "./scripts/gentrace")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// sources reads the sources of the commands, which the go command notes: see
// above.
func sources() error {
	for _, pattern := range []string{"cmd/*/*.go", "scripts/gentrace/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if _, err := os.ReadFile(f); err != nil {
				return err
			}
		}
	}
	return nil
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
