package cmd

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var updateSchemas = flag.Bool("update-schemas", false, "write the JSON Schemas of testdata/schema anew")

// schemas are the commands with the flags that print each schema, by its name.
var schemas = map[string][]string{
	"verdict/3":  {"verdict"},
	"diff/3":     {"diff"},
	"gaps/1":     {"gaps"},
	"whatif/1":   {"whatif"},
	"hotspots/1": {"hotspots"},
	"rounds/1":   {"hotspots", "--format", "jsonl", "--by", "round"},
	"types/1":    {"hotspots", "--types"},
	"doctor/1":   {"nsys2arrow", "--doctor"},
	"brief/1":    {"verdict", "--brief"},
	"outliers/1": {"diff", "--archive", "runs.parquet"},

	"events/2":         {"isolate"},
	"metrics/2":        {"metrics"},
	"runs/1":           {"metrics", "--runs"},
	"diff_rows/1":      {"diff", "--format", "jsonl"},
	"outlier_rows/1":   {"diff", "--format", "jsonl", "--archive", "runs.parquet"},
	"idle_rows/1":      {"gaps", "--format", "jsonl", "--report", "idle"},
	"gap_rows/1":       {"gaps", "--format", "jsonl", "--report", "gaps"},
	"graph_rows/1":     {"gaps", "--format", "jsonl", "--report", "graph"},
	"pattern_rows/1":   {"gaps", "--format", "jsonl", "--report", "pattern"},
	"straggler_rows/1": {"gaps", "--format", "jsonl", "--report", "straggler"},

	"hotspot_lines/1": {"hotspots", "--format", "jsonl"},
}

// TestSchemas keeps the schemas that the commands print: a key that is gone, or has another name,
// shows in a diff of testdata/schema, and takes another version.
func TestSchemas(t *testing.T) {
	for name, words := range schemas {
		got := string(must(t, nil, words[0], append(words[1:], "--schema")...))
		path := filepath.Join("testdata", "schema", strings.ReplaceAll(name, "/", "-")+".json")
		if *updateSchemas {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s is not what %s has (%v): if that is meant, go test ./cmd -run TestSchemas -update-schemas", name, path, err)
		}
		if !strings.Contains(got, `"title": "`+name+`"`) {
			t.Errorf("%s --schema prints another schema than %s", words, name)
		}
	}
	for _, words := range [][]string{{"gaps", "--brief"}, {"diff", "--brief"}, {"hotspots", "--brief"}, {"whatif", "--brief"}} {
		if got := must(t, nil, words[0], "--schema", words[1]); string(got) != string(must(t, nil, "verdict", "--schema", "--brief")) {
			t.Errorf("%v has a schema of its own", words)
		}
	}
}

// strict are the schemas that strictly made.
var strict struct {
	sync.Mutex
	made map[string]*jsonschema.Resolved
}

// strictly returns the schema of a name closed to keys that it does not list, for validating what
// this version of the program writes.
func strictly(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	strict.Lock()
	defer strict.Unlock()
	if r := strict.made[name]; r != nil {
		return r
	}
	words := schemas[name]
	if words == nil {
		t.Fatalf("JSON of an unknown schema %q", name)
	}
	var tree any
	if err := json.Unmarshal(must(t, nil, words[0], append(words[1:], "--schema")...), &tree); err != nil {
		t.Fatal(err)
	}
	closeObjects(tree)
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if strict.made == nil {
		strict.made = map[string]*jsonschema.Resolved{}
	}
	strict.made[name] = r
	return r
}

// closeObjects refuses keys that a schema does not list.
func closeObjects(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	case map[string]any:
		for _, item := range v {
			closeObjects(item)
		}
		if _, typed := v["type"]; typed && v["properties"] != nil && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
	}
}

// maxValidated is how many rows of a call are validated: all are made by the same loop.
const maxValidated = 100

// validateAll checks a document, or rows in JSON, each a line.
func validateAll(t *testing.T, text string) {
	t.Helper()
	if strings.HasPrefix(text, "{\n") {
		validate(t, text)
		return
	}
	rows := 0
	for row := range strings.Lines(text) {
		if rows++; rows > maxValidated {
			return
		}
		validate(t, row)
	}
}

// validate checks a document that a command wrote, with a library that did not make it.
func validate(t *testing.T, text string) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	name, _ := v["schema"].(string)
	if err := strictly(t, name).Validate(v); err != nil {
		t.Errorf("not valid by %s: %v", name, err)
	}
}
