package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBulk has the pages of tables made here, and SQLite find nothing wrong with them and
// the same rows in them as in tables that it has made itself.
func TestBulk(t *testing.T) {
	for _, c := range []struct{ rows, width int }{{0, 3}, {1, 3}, {500, 3}, {30_000, 3}, {6_000, 900}, {900, 5_000}, {40, 70_000}, {3_000, 0}} {
		t.Run(fmt.Sprintf("%d rows of %d", c.rows, c.width), func(t *testing.T) { testBulk(t, c.rows, c.width) })
	}
}

func testBulk(t *testing.T, rows, width int) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	columns := []string{"a INTEGER NOT NULL", "b TEXT", "c INTEGER", "d REAL"}
	for i := range 140 { // so that the header's size takes two bytes
		columns = append(columns, fmt.Sprintf("x%d INTEGER", i))
	}
	if width > 0 {
		columns = columns[:5]
	}
	fill := func(in *Inserter) {
		r := rand.New(rand.NewPCG(1, uint64(width)))
		for i := range rows {
			in.Int(0, r.Int64()>>r.IntN(64)*int64(1-2*r.IntN(2)))
			in.Int(2, []int64{0, 1, -1, 127, 128, -128, -129, 1 << 47, -1 << 47, -1 << 63, 1<<63 - 1}[i%11])
			in.Float(3, r.NormFloat64())
			if in.Text(1, strings.Repeat("x", r.IntN(width+1))); i%7 == 0 {
				in.Null(1)
			}
			in.Int(len(columns)-1, int64(i))
			in.Step()
		}
	}
	fill(w.Table("before", columns))
	bulk := w.Bulk("made", columns)
	fill(bulk)
	fill(w.Bulk("next", columns))
	fill(w.Table("after", columns))
	if err := w.Close(); err != nil || bulk.Rows() != int64(rows) {
		t.Fatalf("%d rows, %v", bulk.Rows(), err)
	}
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want := rowsOf(t, db, "SELECT rowid, * FROM before", len(columns)+1)
	for _, table := range []string{"made", "next", "after"} {
		if got := rowsOf(t, db, "SELECT rowid, * FROM "+table, len(columns)+1); !slices.Equal(got, want) || len(got) != rows {
			t.Errorf("%s has %d rows of %d, or others", table, len(got), rows)
		}
	}
	if got := rowsOf(t, db, "PRAGMA integrity_check", 1); !slices.Equal(got, []string{"ok|"}) {
		t.Errorf("SQLite says %q", got)
	}
}

// rowsOf is what a statement returns, each row as a text.
func rowsOf(t *testing.T, db *DB, sql string, columns int) (rows []string) {
	t.Helper()
	if columns > 1 {
		sql = "SELECT quote(a) || '|' || ifnull(quote(b), '') || '|' || quote(c) || quote(d) || '|' || last FROM (SELECT *, " + lastColumn(columns) + " AS last FROM (" + sql + "))"
	}
	err := db.query(sql, []Type{Text}, BlockRows, func(b *Block) error {
		for i := range b.N {
			rows = append(rows, string(b.Cols[0].Text(i))+"|")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// lastColumn names the last of so many columns, of which the first is the row id.
func lastColumn(columns int) string { return fmt.Sprintf("rowid || x%d", columns-6) }

// TestBulkOrder has tables take no rows whose time has passed.
func TestBulkOrder(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "x.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	before := w.Table("before", []string{"a INTEGER"})
	before.Int(0, 1)
	before.Step()
	bulk := w.Bulk("made", []string{"a INTEGER"})
	if bulk.Int(1, 1); w.Close() == nil {
		t.Error("a column that is not there was set")
	}
	for _, late := range []func(before, bulk *Inserter) error{
		func(before, _ *Inserter) error { return before.Step() },
		func(_, bulk *Inserter) error { return bulk.Step() },
	} {
		w, err := Create(filepath.Join(t.TempDir(), "x.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		before, bulk := w.Table("before", []string{"a INTEGER"}), w.Bulk("made", []string{"a INTEGER"})
		w.Table("after", []string{"a INTEGER"})
		if late(before, bulk) == nil || w.Close() == nil {
			t.Error("a table took a row after its time")
		}
	}
}

// TestBulkLockPage has tables go over the page that SQLite does not read.
func TestBulkLockPage(t *testing.T) {
	for _, width := range []int{100, 70_000} { // leaves, overflow pages
		path := filepath.Join(t.TempDir(), "x.sqlite")
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		in := w.Bulk("made", []string{"a INTEGER", "b TEXT"})
		w.bulk.last = lockPage - 3 // what is before is never written, and takes no room on the disk
		if _, err := w.bulk.file.Seek((lockPage-3)*bulkPage, 0); err != nil {
			t.Fatal(err)
		}
		const rows = 400
		in.Text(1, strings.Repeat("x", width))
		for i := range rows {
			in.Int(0, int64(i))
			in.Step()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{fmt.Sprintf("%d %d %d|", rows, rows*(rows-1)/2, rows*width)}
		if got := rowsOf(t, db, "SELECT count(*) || ' ' || sum(a) || ' ' || sum(length(b)) FROM made", 1); !slices.Equal(got, want) {
			t.Errorf("SQLite reads %q, want %q", got, want)
		}
		db.Close()
	}
}
