package cmd

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// activity are the tables in which a recording keeps what happened, as opposed to what it is of.
const activity = "CUPTI_|NVTX_EVENTS|SCHED_EVENTS|OSRT_|COMPOSITE_EVENTS|SAMPLING_CALLCHAINS|PROFILER_OVERHEAD|GPU_CONTEXT"

// TestLackingExports asks every question of exports that lack a table, that have rows of one
// kind only, and in which a rank did nothing: whatever the answer, it is an answer or an error of
// one line.
func TestLackingExports(t *testing.T) {
	for _, mode := range []string{"node", "eager"} {
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

// askAll checks that no command dies of an export.
func askAll(t *testing.T, name, path string) {
	t.Helper()
	for _, question := range [][]string{
		{"verdict"}, {"gaps"}, {"gaps", "--by", "none", "--busy", "all", "--flame", filepath.Join(t.TempDir(), "a.folded")},
		{"metrics", "--format", "table"}, {"diff", "--why"}, {"nsys2arrow", "--doctor"},
	} {
		args := append(question[1:len(question):len(question)], path)
		if question[0] == "diff" {
			args = append(args, path)
		}
		if r := call(t, nil, question[0], args...); r.status != 0 && r.status != 2 || r.status == 2 && strings.Count(r.stderr, "error:") != 1 {
			t.Errorf("%s: %q ends with %d:\n%s", name, question, r.status, r.stderr)
		}
	}
}
