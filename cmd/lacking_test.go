package cmd

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// activity are the tables in which a recording keeps what happened, as opposed to what it is of.
const activity = "CUPTI_|NVTX_EVENTS|SCHED_EVENTS|OSRT_|COMPOSITE_EVENTS|SAMPLING_CALLCHAINS|PROFILER_OVERHEAD|GPU_CONTEXT"

// TestLackingExports asks every question of exports that lack a table, that have rows of one
// kind only, and in which a rank did nothing: whatever the answer, it is an answer or an error of
// one line.
func TestLackingExports(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"node", "eager"}[:cases.Few(1, 1, 2)] {
		path := generate(t, "--ranks", "2", "--steps", "6", "--warmup", "2", "--layers", "2", "--mode", mode, "--set", `{"Why":{"Kind":"lock","US":300}}`)
		tables, events := tablesOf(t, path)
		if len(events) < 6 {
			t.Fatalf("only %d tables hold events: %q", len(events), events)
		}
		for _, name := range tables {
			askAll(t, mode+" without "+name, altered(t, path, "DROP TABLE "+name))
		}
		for _, name := range events {
			var rest []string
			for _, other := range events {
				if other != name && !(name == "SAMPLING_CALLCHAINS" && other == "COMPOSITE_EVENTS") {
					rest = append(rest, "DELETE FROM "+other)
				}
			}
			askAll(t, mode+" with "+name+" only", altered(t, path, rest...))
			if strings.HasPrefix(name, "CUPTI_") {
				askAll(t, mode+" with half of "+name, altered(t, path,
					fmt.Sprintf("DELETE FROM %s WHERE rowid %% 2 = 0", name)))
			}
		}
		const rank = "(SELECT max(globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL)"
		for _, statements := range [][]string{
			{"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid = " + rank},
			{"DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE globalPid = " + rank, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid = " + rank},
			{"DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE globalTid / 16777216 = " + rank + " / 16777216"},
		} {
			askAll(t, mode+" one rank without work", altered(t, path, statements...))
		}
	}
}

// tablesOf lists the tables of an export with rows, and those of them with what happened.
func tablesOf(t *testing.T, path string) (all, events []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		name := ""
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
		for prefix := range strings.SplitSeq(activity, "|") {
			if strings.HasPrefix(name, prefix) {
				events = append(events, name)
				break
			}
		}
	}
	return all, events
}

// askAll checks that no command dies of an export; each is asked all questions with
// HOSTBOUND_ALL, and one of them, in turn, without.
func askAll(t *testing.T, name, path string) {
	t.Helper()
	of := crc32.ChecksumIEEE([]byte(name))
	for k, question := range [][]string{
		{"verdict"}, {"gaps"}, {"gaps", "--by", "none", "--busy", "all", "--flame", filepath.Join(t.TempDir(), "a.folded")},
		{"metrics", "--format", "table"}, {"diff", "--why"}, {"nsys2arrow", "--doctor"}, {"whatif", "--report"},
	} {
		if (uint32(k)+7-of%7)%7 >= uint32(cases.Few(1, 1, 7)) {
			continue
		}
		args := append(question[1:len(question):len(question)], path)
		if question[0] == "diff" {
			args = append(args, path)
		}
		if r := call(t, nil, question[0], args...); r.status != 0 && r.status != 2 || r.status == 2 && strings.Count(r.stderr, "error:") != 1 {
			t.Errorf("%s: %q ends with %d:\n%s", name, question, r.status, r.stderr)
		}
	}
}

// TestLackingTraces does the same with traces of PyTorch's profiler that lack a category of
// events, or have events of one only, half of them, or none of the arguments of an analysis.
func TestLackingTraces(t *testing.T) {
	t.Parallel()
	for k, args := range [][]string{{"--functions", "2"}, {"--rocm", "--mode", "eager"}} {
		if k > 0 && testing.Short() {
			break
		}
		path := filepath.Join(t.TempDir(), "rank%d.json")
		must(t, nil, "gentrace", append(args, "--kineto", "2.7", "--ranks", "1", "--steps", "6", "--warmup", "2", "--layers", "2", "-o", path)...)
		data, err := os.ReadFile(strings.Replace(path, "%d", "0", 1))
		if err != nil {
			t.Fatal(err)
		}
		var trace map[string]any
		if err := json.Unmarshal(data, &trace); err != nil {
			t.Fatal(err)
		}
		events := trace["traceEvents"].([]any)
		field := func(e any, name string) any { return e.(map[string]any)[name] }
		categories := map[any]bool{}
		for _, e := range events {
			categories[field(e, "cat")] = true
		}
		if len(categories) < 5 {
			t.Fatalf("only %d categories: %v", len(categories), categories)
		}
		with := func(name string, keep func(k int, e any) bool) {
			var kept []any
			for k, e := range events {
				if keep(k, e) {
					kept = append(kept, e)
				}
			}
			trace["traceEvents"] = kept
			askTrace(t, name, trace)
		}
		for cat := range categories {
			with(fmt.Sprint("without ", cat), func(_ int, e any) bool { return field(e, "cat") != cat })
			with(fmt.Sprint(cat, " only"), func(_ int, e any) bool { return field(e, "cat") == cat })
			with(fmt.Sprint("half of ", cat), func(k int, e any) bool { return field(e, "cat") != cat || k%2 == 0 })
		}
		for _, arg := range []string{"correlation", "stream", "device"} {
			with("without "+arg, func(_ int, e any) bool {
				if of, ok := field(e, "args").(map[string]any); ok {
					delete(of, arg)
				}
				return true
			})
		}
	}
}

// askTrace is askAll of a trace of PyTorch's profiler.
func askTrace(t *testing.T, name string, trace map[string]any) {
	t.Helper()
	data, err := json.Marshal(trace)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	askAll(t, name, path)
}
