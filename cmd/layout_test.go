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

// doors are the only packages that import a heavy dependency. What is for tests alone may
// too: it writes with a library what the door reads.
var doors = map[string][]string{
	"modernc.org/":                     {"pkg/format/sqlite"},
	"github.com/apache/arrow/":         {"pkg/format/arrow"},
	"github.com/google/flatbuffers/":   {"pkg/format/arrow"},
	"github.com/parquet-go/":           {"pkg/format/parquet"},
	"github.com/urfave/cli/":           {"pkg/cli"},
	"golang.org/x/term":                {"pkg/cli"},
	"github.com/mattn/go-runewidth":    {"pkg/report"},
	"github.com/BurntSushi/toml":       {"pkg/hotspot", "pkg/hotspot/round", "pkg/analysis/findings", "pkg/names/cudaname"},
	"github.com/ianlancetaylor/":       {"pkg/names/cudaname"},
	"gonum.org/":                       {"pkg/stat"},
	"github.com/modelcontextprotocol/": {"cmd/mcp"},
	"github.com/google/jsonschema-go/": {"pkg/cli/command"},
	"github.com/aclements/go-moremath": {"pkg/stat"},
}

// floors are the folders of pkg from below: a package imports its own floor and lower ones.
var floors = []string{"trace", "names", "stat", "report", "format", "step", "analysis", "hotspot", "cli"}

// testkit is the folder that tests and scripts alone import.
const testkit = "pkg/testkit/"

type listed struct {
	ImportPath string
	Imports    []string
}

// packages are the module's packages with what they import, tests left out.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		all = append(all, p)
	}
}

// floor is the number of the floor that a package of pkg stands on, -1 for none.
func floor(pkg string) int {
	name, _, _ := strings.Cut(strings.TrimPrefix(pkg, "pkg/"), "/")
	return slices.Index(floors, name)
}

func TestImportsPointDown(t *testing.T) {
	all := packages(t)
	if len(all) < 15 {
		t.Errorf("go list named %d packages only", len(all))
	}
	for _, p := range all {
		for _, imp := range p.Imports {
			checkDoor(t, p.ImportPath, imp)
			ours, is := strings.CutPrefix(imp, module)
			switch {
			case !is || strings.HasPrefix(p.ImportPath, "scripts/") || strings.HasPrefix(p.ImportPath, testkit):
			case strings.HasPrefix(p.ImportPath, "cmd/"):
				if ours != "pkg/cli" && ours != "pkg/cli/command" {
					t.Errorf("%s imports %s: commands go through pkg/cli/command", p.ImportPath, ours)
				}
			case floor(p.ImportPath) < 0:
				t.Errorf("%s stands on no floor", p.ImportPath)
			case floor(ours) < 0 || floor(ours) > floor(p.ImportPath):
				t.Errorf("%s imports %s, which stands above it or is for tests", p.ImportPath, ours)
			}
		}
	}
}

func checkDoor(t *testing.T, pkg, imp string) {
	t.Helper()
	for prefix, through := range doors {
		if strings.HasPrefix(imp, prefix) && !slices.Contains(through, pkg) && !strings.HasPrefix(pkg, testkit) {
			t.Errorf("%s imports %s: go through %v", pkg, imp, through)
		}
	}
}

// There are at most so many packages, those for tests left out, in so many folders.
const maxPackages, maxFolders = 35, 10

// TestLayoutIsSmall counts packages and folders of pkg.
func TestLayoutIsSmall(t *testing.T) {
	n, folders := 0, map[string]bool{}
	for _, p := range packages(t) {
		name, is := strings.CutPrefix(p.ImportPath, "pkg/")
		if !is {
			continue
		}
		name, _, _ = strings.Cut(name, "/")
		if folders[name] = true; !strings.HasPrefix(p.ImportPath, testkit) {
			n++
		}
	}
	if n == 0 || n > maxPackages || len(folders) > maxFolders {
		t.Errorf("%d packages in %d folders, at most %d and %d", n, len(folders), maxPackages, maxFolders)
	}
}

// TestLayoutIsDescribed wants each package in the table of pkg/README.md.
func TestLayoutIsDescribed(t *testing.T) {
	readme, err := os.ReadFile("../pkg/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		if strings.HasPrefix(p.ImportPath, "pkg/") && !strings.Contains(string(readme), "]("+strings.TrimPrefix(p.ImportPath, "pkg/")+")") {
			t.Errorf("the table of pkg/README.md lacks %s", p.ImportPath)
		}
	}
}
