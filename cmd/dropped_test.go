package cmd

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// altered returns a copy of an export after some statements.
func altered(t *testing.T, path string, statements ...string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "altered.sqlite")
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", to)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return to
}

// whyNs is what gaps says of an export: ns by why, and what it says was not recorded.
func whyNs(t *testing.T, path string) (sums map[string]int64, missing []string) {
	t.Helper()
	var out struct {
		Idle struct {
			Causes []struct {
				Cause string
				Ns    int64
				Why   []struct {
					Why string
					Ns  int64
				}
			}
			NotRecorded []struct{ What string } `json:"not_recorded"`
		}
	}
	if err := json.Unmarshal(must(t, nil, "gaps", path, "--by", "none", "--format", "json"), &out); err != nil {
		t.Fatal(err)
	}
	sums = map[string]int64{}
	for _, c := range out.Idle.Causes {
		parts := int64(0)
		for _, w := range c.Why {
			parts += w.Ns
			sums[w.Why] += w.Ns
		}
		if onGPU := []string{"tail", "graph", "queued", "untraced"}; parts != c.Ns && !slices.Contains(onGPU, c.Cause) {
			t.Errorf("the parts of %s are %d ns, it is %d", c.Cause, parts, c.Ns)
		}
	}
	for _, m := range out.Idle.NotRecorded {
		missing = append(missing, m.What)
	}
	return sums, missing
}

// TestDroppedTables takes one table at a time away from a recording that has all: what is
// not known for want of it is unknown and said, never zero, and the rest stays.
func TestDroppedTables(t *testing.T) {
	t.Parallel()
	path := filepath.Join(testrun.Folder(t, "TRACES"), "real", "nsys2025.3_power_iteration.sqlite")
	whole, _ := whyNs(t, path)
	const onCPU, calls = "CPU scheduling", "OS runtime calls"
	has := func(sums map[string]int64, prefix string) bool {
		for why, ns := range sums {
			if ns > 0 && strings.HasPrefix(why, prefix) {
				return true
			}
		}
		return false
	}
	for name, test := range map[string]struct {
		statement string
		missing   string   // beside what lacks anyway
		without   []string // whys that are gone
		with      []string // that are there
	}{
		"switches":    {"DROP TABLE SCHED_EVENTS", onCPU, []string{"running", "spin", "os:", "blocked:", "descheduled", "off"}, []string{"unknown", "in:file"}},
		"no switches": {"DELETE FROM SCHED_EVENTS", onCPU, []string{"running", "spin", "os:", "blocked:", "descheduled", "off"}, []string{"unknown", "in:file"}},
		"calls":       {"DROP TABLE OSRT_API", calls, []string{"os:", "blocked:file", "descheduled"}, []string{"running", "off"}},
		"lost calls": {
			"INSERT INTO DIAGNOSTIC_EVENT SELECT * FROM (SELECT * FROM DIAGNOSTIC_EVENT LIMIT 1); UPDATE DIAGNOSTIC_EVENT SET text = 'Not all OS runtime libraries events might have been collected.' WHERE rowid = (SELECT max(rowid) FROM DIAGNOSTIC_EVENT)",
			"some " + calls + " (may have been dropped: a thread shown as descheduled may have been blocked in one)", nil, []string{"running", "os:", "blocked:file", "descheduled"},
		},
		"overheads": {"DROP TABLE PROFILER_OVERHEAD", "", nil, []string{"running"}},
		"samples":   {"DROP TABLE SAMPLING_CALLCHAINS", "which functions threads ran (the export has no stacks of its samples)", nil, []string{"running"}},
		"ranges":    {"DROP TABLE NVTX_EVENTS", "", nil, []string{"running"}},
		"runs only": {"DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "", nil, []string{"running"}},
	} {
		t.Run(name, func(t *testing.T) {
			sums, missing := whyNs(t, altered(t, path, test.statement))
			if test.missing != "" && !slices.Contains(missing, test.missing) || test.missing == "" && (slices.Contains(missing, onCPU) || slices.Contains(missing, calls)) {
				t.Errorf("said to be missing: %q", missing)
			}
			for _, why := range test.without {
				if has(sums, why) {
					t.Errorf("%s, without evidence: %v", why, sums)
				}
			}
			for _, why := range test.with {
				if !has(sums, why) {
					t.Errorf("no %s: %v", why, sums)
				}
			}
			total, before := int64(0), int64(0)
			for _, ns := range sums {
				total += ns
			}
			for _, ns := range whole {
				before += ns
			}
			if total != before {
				t.Errorf("%d ns, with all tables %d", total, before)
			}
		})
	}
}

// What the profiler says that it lost changes the verdict.
func TestDiagnosedVerdict(t *testing.T) {
	path := filepath.Join(root, "testdata", "llama_tp2.sqlite")
	const table = `DROP TABLE IF EXISTS DIAGNOSTIC_EVENT; CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT); `
	for text, want := range map[string]string{
		"Number of CUDA events collected: 37.":                           "# YES",
		"Not all CUDA events might have been collected.":                 "# YES",
		"Number of incomplete CUPTI events dropped: 17":                  "# INCONCLUSIVE",
		"Not all OS runtime libraries events might have been collected.": "# YES",
	} {
		got := string(must(t, nil, "verdict", altered(t, path, table+`INSERT INTO DIAGNOSTIC_EVENT (severity, text) VALUES (2, '`+text+`')`)))
		if title, _, _ := strings.Cut(got, "\n"); !strings.HasPrefix(title, want) {
			t.Errorf("%q: %s", text, title)
		}
	}
}
