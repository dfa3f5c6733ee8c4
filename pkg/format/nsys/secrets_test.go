package nsys

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestSecrets plants a canary wherever captures keep what is nobody's business,
// in every schema and form of export: it is in the file and in nothing that is
// read from it.
func TestSecrets(t *testing.T) {
	const canary = "CANARY-nsys-secret"
	schemas := sim.Schemas()
	if os.Getenv("HOSTBOUND_ALL") == "" {
		schemas = schemas[len(schemas)-2:]
	}
	for _, schema := range schemas {
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
	if os.Getenv("HOSTBOUND_ALL") == "" {
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

// TestHomesInRanges wants no user's directory in the name of a range, from the string table
// or its own, nor of a domain.
func TestHomesInRanges(t *testing.T) {
	file := database(t, kernels+`(100,200,0,7,1,16777216,NULL,NULL,NULL);
		CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
		INSERT INTO StringIds VALUES (1, 'load /home/CANARY/model.bin'), (2, 'run');
		CREATE TABLE NVTX_EVENTS (start, "end", eventType, globalTid, text, textId, domainId);
		INSERT INTO NVTX_EVENTS VALUES (1,NULL,75,16777221,'~CANARY/d',NULL,3), (10,20,59,16777221,NULL,1,3), (30,40,59,16777221,'/Users/CANARY/x.py',NULL,3), (50,60,59,16777221,NULL,1,3), (70,80,59,16777221,NULL,2,3);`)
	noSecret(t, file, "CANARY")
	_, rows := readWith(t, Options{}, file)
	text := ""
	for _, r := range rows {
		text += r.String() + "\n"
	}
	if strings.Count(text, "load model.bin") != 2 || !strings.Contains(text, "x.py") || !strings.Contains(text, "run") {
		t.Error(text)
	}
}
