package cmd

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hostbound/hostbound/"

// doors are the only packages that import a heavy dependency.
var doors = map[string][]string{
	"modernc.org/":                     {"pkg/sqlite", "pkg/testkit/sqlitefile"},
	"github.com/apache/arrow/":         {"pkg/wire"},
	"github.com/parquet-go/":           {"pkg/parquet", "pkg/sim"}, // sim writes with the library what parquet reads
	"github.com/urfave/cli/":           {"pkg/cli"},
	"golang.org/x/term":                {"pkg/cli"},
	"github.com/google/flatbuffers/":   {"pkg/wire"},
	"github.com/mattn/go-runewidth":    {"pkg/report"},
	"github.com/BurntSushi/toml":       {"pkg/hotspot", "pkg/round"},
	"github.com/ianlancetaylor/":       {"pkg/cudaname"},
	"google.golang.org/protobuf/":      {"pkg/perfetto"},
	"gonum.org/":                       {"pkg/stat"},
	"github.com/aclements/go-moremath": {"pkg/stat"},
}

// everything stands for all packages above that are not for tests.
const everything = "*"

// forTests are the packages that no command is made of.
var forTests = []string{"pkg/event/eventtest", "pkg/gentrace", "pkg/sim", "pkg/testkit/sqlitefile", "pkg/testrun"}

// below lists for each package of ours those that it may import. Imports point
// down: a package may name only packages above its own line.
var below = []struct {
	pkg     string
	imports []string
}{
	{"pkg/cudaname", nil},
	{"pkg/marker", nil},
	{"pkg/handoff", nil},
	{"pkg/markup", nil},
	{"pkg/flame", []string{"pkg/markup"}},
	{"pkg/capture", nil},
	{"pkg/interval", nil},
	{"pkg/stat", nil},
	{"pkg/osname", nil},
	{"pkg/hoststate", []string{"pkg/osname"}},
	{"pkg/thread", []string{"pkg/hoststate"}},
	{"pkg/slack", nil},
	{"pkg/figure", []string{"pkg/markup"}},
	{"pkg/report", []string{"pkg/figure", "pkg/markup"}},
	{"pkg/series", []string{"pkg/figure", "pkg/report"}},
	{"pkg/spill", nil},
	{"pkg/straggler", []string{"pkg/report", "pkg/spill"}},
	{"pkg/sqlite", nil},
	{"pkg/parquet", nil},
	{"pkg/outfile", nil},
	{"pkg/event", nil},
	{"pkg/coverage", []string{"pkg/capture", "pkg/event"}},
	{"pkg/doctor", []string{"pkg/capture", "pkg/event", "pkg/marker", "pkg/report"}},
	{"pkg/pattern", []string{"pkg/event"}},
	{"pkg/event/eventtest", []string{"pkg/event"}},
	{"pkg/symbol", []string{"pkg/event"}},
	{"pkg/table", []string{"pkg/event", "pkg/markup"}},
	// formats, which know nothing of each other
	{"pkg/wire", []string{"pkg/event", "pkg/table"}},
	{"pkg/checkpoint", []string{"pkg/event", "pkg/outfile", "pkg/parquet", "pkg/table"}},
	{"pkg/kineto", []string{"pkg/cudaname", "pkg/event", "pkg/marker", "pkg/spill"}},
	{"pkg/nsys", []string{"pkg/cudaname", "pkg/event", "pkg/marker", "pkg/osname", "pkg/parquet", "pkg/spill", "pkg/sqlite", "pkg/symbol"}},
	// analyses, which know nothing of each other, nor of formats
	{"pkg/packed", nil},
	{"pkg/step", []string{"pkg/cudaname", "pkg/event", "pkg/interval", "pkg/marker", "pkg/packed", "pkg/report"}},
	{"pkg/phase", []string{"pkg/event", "pkg/marker"}},
	{"pkg/replay", []string{"pkg/event", "pkg/marker", "pkg/report", "pkg/spill", "pkg/stat", "pkg/step"}},
	{"pkg/idle", []string{"pkg/event", "pkg/flame", "pkg/hoststate", "pkg/interval", "pkg/marker", "pkg/osname", "pkg/spill", "pkg/stat", "pkg/thread"}},
	{"pkg/timeline", []string{"pkg/event", "pkg/figure", "pkg/hoststate", "pkg/idle", "pkg/marker", "pkg/report", "pkg/spill", "pkg/step"}},
	{"pkg/perfetto", []string{"pkg/event", "pkg/markup", "pkg/timeline"}},
	{"pkg/metric", []string{"pkg/cudaname", "pkg/event", "pkg/interval", "pkg/marker", "pkg/report", "pkg/stat", "pkg/step", "pkg/table"}},
	{"pkg/history", []string{"pkg/metric", "pkg/report", "pkg/stat", "pkg/table"}},
	{"pkg/verdict", []string{"pkg/capture", "pkg/figure", "pkg/handoff", "pkg/history", "pkg/metric", "pkg/report", "pkg/series", "pkg/step"}},
	{"pkg/compare", []string{"pkg/cudaname", "pkg/event", "pkg/figure", "pkg/flame", "pkg/handoff", "pkg/hoststate", "pkg/idle", "pkg/interval", "pkg/marker", "pkg/packed", "pkg/report", "pkg/spill", "pkg/stat", "pkg/step", "pkg/table"}},
	{"pkg/gap", []string{"pkg/capture", "pkg/coverage", "pkg/cudaname", "pkg/event", "pkg/figure", "pkg/flame", "pkg/handoff", "pkg/hoststate", "pkg/idle", "pkg/interval", "pkg/marker", "pkg/osname", "pkg/pattern", "pkg/report", "pkg/series", "pkg/slack", "pkg/spill", "pkg/stat", "pkg/step", "pkg/straggler", "pkg/table", "pkg/thread"}},
	// profiles of Python code
	{"pkg/lineprof", []string{"pkg/report"}},
	{"pkg/pylex", nil},
	{"pkg/hotspot", []string{"pkg/lineprof", "pkg/pylex", "pkg/report", "pkg/table"}},
	{"pkg/exposure", []string{"pkg/hotspot", "pkg/lineprof"}},
	{"pkg/round", []string{"pkg/hotspot", "pkg/lineprof", "pkg/report", "pkg/stat", "pkg/table"}},
	// test data
	{"pkg/testkit/sqlitefile", nil},
	{"pkg/sim", []string{"pkg/testkit/sqlitefile"}},
	// what joins the formats, what every command has, and what joins it all: a new
	// source is one file in pkg/source, a new command one in pkg/command
	{"pkg/source", []string{"pkg/checkpoint", "pkg/event", "pkg/kineto", "pkg/nsys", "pkg/table", "pkg/wire"}},
	{"pkg/cli", []string{"pkg/markup", "pkg/outfile"}},
	{"pkg/gentrace", []string{"pkg/cli", "pkg/sim"}},
	{"pkg/command", []string{"pkg/flame", everything}},
	{"pkg/testrun", []string{"pkg/event", "pkg/event/eventtest", "pkg/nsys", "pkg/phase", "pkg/sim", "pkg/step"}},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsPointDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		checkImports(t, strings.TrimPrefix(p.ImportPath, module), p.Imports)
	}
	if seen < 15 {
		t.Errorf("go list named %d packages only", seen)
	}
}

// TestLayoutIsDescribed wants the list to be in order, and each package in the
// README's table.
func TestLayoutIsDescribed(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var above []string
	for _, b := range below {
		for _, imp := range b.imports {
			if imp != everything && !slices.Contains(above, imp) {
				t.Errorf("%s may import %s, which stands below it", b.pkg, imp)
			}
		}
		above = append(above, b.pkg)
		if !strings.Contains(string(readme), "]("+b.pkg+")") {
			t.Errorf("the README's table of packages lacks %s", b.pkg)
		}
	}
}

func checkImports(t *testing.T, pkg string, imports []string) {
	t.Helper()
	allowed, known := []string(nil), false
	for _, b := range below {
		if b.pkg == pkg {
			allowed, known = b.imports, true
		}
	}
	for _, imp := range imports {
		for prefix, through := range doors {
			if strings.HasPrefix(imp, prefix) && !slices.Contains(through, pkg) {
				t.Errorf("%s imports %s: go through %v", pkg, imp, through)
			}
		}
		ours, is := strings.CutPrefix(imp, module)
		if !is {
			continue
		}
		switch {
		case strings.HasPrefix(pkg, "cmd/"):
			if ours != "pkg/cli" && ours != "pkg/command" {
				t.Errorf("%s imports %s: commands go through pkg/command", pkg, ours)
			}
		case strings.HasPrefix(pkg, "scripts/"):
		case !known:
			t.Errorf("%s is not in the list of packages", pkg)
		case slices.Contains(allowed, everything) && !slices.Contains(forTests, ours):
		case !slices.Contains(allowed, ours):
			t.Errorf("%s imports %s, which the layout does not allow", pkg, ours)
		}
	}
}
