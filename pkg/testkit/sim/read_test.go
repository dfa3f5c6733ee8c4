package sim

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
)

// written is an export read back.
type written struct {
	t      *testing.T
	path   string
	db     *sqlite.DB
	tables map[string][]string
}

// write writes a trace and opens it.
func write(t *testing.T, tr *Trace, opt Options) *written {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := tr.WriteSQLite(path, opt); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tables, err := db.Tables()
	if err != nil {
		t.Fatal(err)
	}
	return &written{t, path, db, tables}
}

// ints is a column of numbers, NULL as null.
func (w *written) ints(table, column string) []int64 {
	w.t.Helper()
	var list []int64
	w.scan(table, sqlite.Column{Name: column, Type: sqlite.Int}, func(v *sqlite.Vector, i int) {
		if v.Null[i] {
			list = append(list, null)
			return
		}
		list = append(list, v.Int[i])
	})
	return list
}

const null = -1 << 63

// texts is a column of strings.
func (w *written) texts(table, column string) []string {
	w.t.Helper()
	var list []string
	w.scan(table, sqlite.Column{Name: column, Type: sqlite.Text}, func(v *sqlite.Vector, i int) {
		list = append(list, string(v.Text(i)))
	})
	return list
}

func (w *written) scan(table string, c sqlite.Column, each func(*sqlite.Vector, int)) {
	w.t.Helper()
	if !w.has(table + "." + c.Name) {
		w.t.Fatalf("no column %s.%s", table, c.Name)
	}
	low, high, err := w.db.Rows(table)
	if err == nil {
		err = w.db.Scan(table, []sqlite.Column{c}, low, high, func(b *sqlite.Block) error {
			for i := range b.N {
				each(&b.Cols[0], i)
			}
			return nil
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// strings is StringIds.
func (w *written) strings() map[int64]string {
	ids, values := w.ints("StringIds", "id"), w.texts("StringIds", "value")
	m := make(map[int64]string)
	for i, id := range ids {
		m[id] = values[i]
	}
	return m
}

// has reports whether there is a table, or a TABLE.column.
func (w *written) has(name string) bool {
	table, column, both := strings.Cut(name, ".")
	columns, ok := w.tables[table]
	if !both || !ok {
		return ok
	}
	return slices.Contains(columns, column)
}

// mustSimulate simulates a changed default.
func mustSimulate(t *testing.T, change func(*Config)) *Trace {
	t.Helper()
	c := Default()
	if change != nil {
		change(&c)
	}
	tr, err := Simulate(c)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
