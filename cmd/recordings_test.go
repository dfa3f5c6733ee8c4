package cmd

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/hostbound/hostbound/pkg/format/nsys"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestRecordings: of each recording of testdata, the rows and the time of them are those that the
// export itself has, and stand in MEASURE.md.
func TestRecordings(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "scripts", "MEASURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ folder, program, names string }{
		{"h100", "engine.py %s", "clean fsync gc gil lock neighbour poll sleep"}, {"cpu", "busy 4 2 (%s)", "quota contended"},
	} {
		for name := range strings.FieldsSeq(one.names) {
			path := testrun.Inflated(t, filepath.Join(root, "testdata", one.folder, name+".sqlite.gz"))
			row := "| `" + fmt.Sprintf(one.program, name) + "` |"
			ours := rowsOf(t, path)
			for kind, table := range map[event.Kind]string{event.Kernel: "CUPTI_ACTIVITY_KIND_KERNEL", event.API: "CUPTI_ACTIVITY_KIND_RUNTIME", event.OS: "OSRT_API"} {
				if theirs := exported(t, path, table); theirs != ours[kind] {
					t.Errorf("%s: %s: %v, ours %v", name, table, theirs, ours[kind])
				}
			}
			for _, kind := range []event.Kind{event.Kernel, event.API, event.OS} {
				row += fmt.Sprintf(" %d | %.3f |", ours[kind][0], float64(ours[kind][1])/1e6)
			}
			if !strings.Contains(string(page), row+"\n") {
				t.Errorf("MEASURE.md lacks\n%s", row)
			}
		}
	}
}

// exported is how many rows a table has, and how long they take, ns.
func exported(t *testing.T, path, table string) (n [2]int64) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	where := ""
	if table == "OSRT_API" {
		where = " WHERE eventClass = 27"
	}
	err = db.QueryRow(`SELECT count(*), coalesce(sum("end" - start), 0) FROM `+table+where).Scan(&n[0], &n[1])
	if err != nil && !strings.Contains(err.Error(), "no such table") {
		t.Fatal(err)
	}
	return n
}

// rowsOf is the same of what is read of a recording, by kind.
func rowsOf(t *testing.T, path string) map[event.Kind][2]int64 {
	t.Helper()
	src, err := nsys.Open([]string{path}, nsys.Options{Host: []event.Kind{event.OS}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all := map[event.Kind][2]int64{}
	err = event.Each(src, func(b *event.Batch) error {
		for i, kind := range b.Kind.Values[:b.Len] {
			n := all[kind]
			all[kind] = [2]int64{n[0] + 1, n[1] + b.End.Values[i] - b.Start.Values[i]}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
