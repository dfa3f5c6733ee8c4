package nsys

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/sim"
)

// TestSecrets plants a canary wherever captures keep what is nobody's business,
// in every schema and form of export: it is in the file and in nothing that is
// read from it.
func TestSecrets(t *testing.T) {
	const canary = "CANARY-nsys-secret"
	for _, schema := range sim.Schemas() {
		tr := simulate(t, small(func(c *sim.Config) {
			c.Steps, c.Layers, c.Frontend, c.Secret, c.Why = 1, 1, true, canary, sim.HostCause{Kind: "file", US: 100}
		}))
		opt := sim.Options{Schema: schema, EmptyTables: true}
		file, _ := written(t, tr, opt)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(content, []byte(canary)); n < 4 {
			t.Fatalf("schema %s: the canary is in %d places only", schema, n)
		}
		dir := filepath.Join(t.TempDir(), "x_pqtdir")
		if err := tr.WriteParquetDir(dir, opt); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, dir} {
			noSecret(t, path, "CANARY")
		}
	}
	if testing.Short() {
		return
	}
	for seed := range uint64(30) {
		tr, opt := sim.Random(seed)
		if file, columns := written(t, tr, opt); isExport(columns) {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { noSecret(t, file, "CANARY") })
		}
	}
}

// noSecret fails where a word is in the header or a row of an export.
func noSecret(t *testing.T, path, word string) {
	t.Helper()
	h, rows := readWith(t, Options{Host: []event.Kind{event.OS, event.Run, event.Sample, event.Backtrace}}, path)
	if text := asJSON(t, h); strings.Contains(text, word) {
		t.Errorf("%s: the header has it: %s", path, text)
	}
	for _, r := range rows {
		if strings.Contains(r.String(), word) {
			t.Fatalf("%s: a row has it: %s", path, r)
		}
	}
}
