// Package testrun provides what tests of several packages read: simulated runs and
// folders of recorded ones, with the stages that precede an analysis.
package testrun

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/nsys"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Folder returns the folder in HOSTBOUND_KIND, where kind is TRACES, KINETO or PROFILES.
// It skips the test if the variable is not set.
func Folder(t testing.TB, kind string) string {
	t.Helper()
	name := "HOSTBOUND_" + kind
	dir := os.Getenv(name)
	if dir == "" {
		t.Skip(name + " names no folder of data with what is expected of it beside it")
	}
	return dir
}

// kept is how many simulated runs are cached: tests that ask several things about a run
// do so in sequence.
const kept = 16

// runs are the exports of the latest simulated runs, by their Config.
var runs struct {
	sync.Mutex
	keys    []string // oldest first
	exports map[string][][]byte
}

// Simulate writes the exports of a run, one per rank if split is set, and returns their
// paths. The files are in the test's temporary folder, and may be changed.
func Simulate(t testing.TB, c sim.Config, split bool) (paths []string) {
	t.Helper()
	key, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, export := range simulated(t, fmt.Sprint(split, string(key)), c, split) {
		path := filepath.Join(dir, fmt.Sprintf("rank%d.sqlite", i))
		if err := os.WriteFile(path, export, 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// simulated returns the exports of a run, from the cache if they are there. The caller
// must not change them.
func simulated(t testing.TB, key string, c sim.Config, split bool) [][]byte {
	t.Helper()
	runs.Lock()
	defer runs.Unlock()
	if known := runs.exports[key]; known != nil {
		return known
	}
	traces, _, err := sim.SimulateTruth(c, split)
	if err != nil {
		t.Fatal(err)
	}
	var exports [][]byte
	schemas := sim.Schemas()
	for _, tr := range traces {
		path := filepath.Join(t.TempDir(), "run.sqlite")
		if err := tr.WriteSQLite(path, sim.Options{Schema: schemas[len(schemas)-1]}); err != nil {
			t.Fatal(err)
		}
		export, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		exports = append(exports, export)
	}
	if runs.exports == nil {
		runs.exports = map[string][][]byte{}
	}
	if len(runs.keys) == kept {
		delete(runs.exports, runs.keys[0])
		runs.keys = runs.keys[1:]
	}
	runs.keys, runs.exports[key] = append(runs.keys, key), exports
	return exports
}

// Open returns the events of exports with steps and phases; if by is "none", without
// them.
func Open(t testing.TB, by string, paths ...string) event.Source {
	t.Helper()
	r, err := nsys.Open(paths, nsys.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if by == "none" {
		return r
	}
	return Phased(t, r, isolate.Options{By: by})
}

// Phased adds steps and phases to events.
func Phased(t testing.TB, src event.Source, opt isolate.Options) event.Source {
	t.Helper()
	isolated, err := isolate.New(src, opt)
	if err != nil {
		t.Fatal(err)
	}
	tagged, err := step.NewTagger(isolated, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tagged
}

// PhasedRows adds steps and phases to rows.
func PhasedRows(t testing.TB, h *event.Header, rows []eventtest.Row, opt isolate.Options) (*event.Header, []eventtest.Row) {
	t.Helper()
	src := Phased(t, eventtest.Source(h, rows, 100), opt)
	out, err := eventtest.Collect(src)
	if err != nil {
		t.Fatal(err)
	}
	return src.Header(), out
}

// Inflated decompresses a .gz file into the test's temporary folder and returns the path,
// which lacks the .gz.
func Inflated(t testing.TB, path string) string {
	t.Helper()
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	in, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(path), ".gz"))
	if err := os.WriteFile(copied, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return copied
}
