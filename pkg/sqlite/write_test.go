package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriterRoundTrip writes what readers find hard and reads it back.
func TestWriterRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd ?#% name.sqlite")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	in := w.Table("events", []string{
		"end INTEGER NOT NULL -- a keyword, a comment (with commas), REFERENCES x(y)",
		"name TEXT",
		"share REAL",
		"constant INTEGER",
	})
	in.Int(3, 7)
	values := []string{"a", "", "größe 核", "nul\x00inside", "\xff not UTF-8", strings.Repeat("x", 70000), "b"}
	for i, s := range values {
		in.Int(0, int64(-i)<<60)
		in.Text(1, s)
		in.Float(2, float64(i)/2)
		in.Int(-1, 99)
		in.Text(-1, "ignored")
		if err := in.Step(); err != nil {
			t.Fatal(err)
		}
	}
	in.Null(1)
	in.Null(3)
	in.Step()
	w.Table("empty", []string{"id INTEGER NOT NULL PRIMARY KEY"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if in.Rows() != int64(len(values)+1) {
		t.Errorf("Rows() = %d, want %d", in.Rows(), len(values)+1)
	}

	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables, err := db.Tables()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tables); got != "map[empty:[id] events:[end name share constant]]" {
		t.Errorf("tables: %s", got)
	}
	columns := []Column{{Name: "end", Type: Int}, {Name: "name", Type: Text}, {Name: "constant", Type: Int}}
	err = db.Scan("events", columns, 0, 1000, func(b *Block) error {
		if b.N != len(values)+1 {
			t.Fatalf("%d rows, want %d", b.N, len(values)+1)
		}
		for i, s := range values {
			s = s[:min(len(s), maxText)]
			if b.Cols[0].Int[i] != int64(-i)<<60 || string(b.Cols[1].Text(i)) != s || b.Cols[2].Int[i] != 7 {
				t.Errorf("row %d: %d %q %d", i, b.Cols[0].Int[i], b.Cols[1].Text(i), b.Cols[2].Int[i])
			}
		}
		if last := len(values); !b.Cols[1].Null[last] || !b.Cols[2].Null[last] {
			t.Error("NULL was not written")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWriterSameBytes wants the same file from the same calls.
func TestWriterSameBytes(t *testing.T) {
	write := func(name string) []byte {
		path := filepath.Join(t.TempDir(), name)
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		in := w.Table("t", []string{"a INTEGER", "b TEXT"})
		for i := range 5000 {
			in.Int(0, int64(i*i))
			in.Text(1, fmt.Sprint("row ", i))
			in.Step()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if !bytes.Equal(write("one.sqlite"), write("two.sqlite")) {
		t.Error("the same calls gave different bytes")
	}
}

// TestWriterErrors wants every mistake to be seen by Close at the latest.
func TestWriterErrors(t *testing.T) {
	cases := []struct {
		name string
		do   func(*Writer)
		want string
	}{
		{"bad SQL", func(w *Writer) { w.Exec("CREATE NONSENSE") }, "syntax error"},
		{"bad table", func(w *Writer) { w.Table("t", []string{"a INTEGER", "a TEXT"}).Step() }, "duplicate column"},
		{"null where none may be", func(w *Writer) { w.Table("t", []string{"a INTEGER NOT NULL"}).Step() }, "NOT NULL"},
		{"column out of range", func(w *Writer) { w.Table("t", []string{"a INTEGER"}).Int(1, 1) }, "range"},
		{"text column out of range", func(w *Writer) { w.Table("t", []string{"a TEXT"}).Text(1, "x") }, "range"},
		{"null column out of range", func(w *Writer) { w.Table("t", []string{"a TEXT"}).Null(1) }, "range"},
		{"real column out of range", func(w *Writer) { w.Table("t", []string{"a TEXT"}).Float(1, 1) }, "range"},
		{"key twice", func(w *Writer) {
			in := w.Table("t", []string{"id INTEGER NOT NULL PRIMARY KEY"})
			in.Int(0, 1)
			in.Step()
			in.Step()
		}, "UNIQUE"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, err := Create(filepath.Join(t.TempDir(), "x.sqlite"))
			if err != nil {
				t.Fatal(err)
			}
			c.do(w)
			if in := w.Table("after", []string{"a INTEGER"}); in.Step() == nil {
				t.Error("a row was written after the error")
			}
			err = w.Close()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Close() = %v, want an error with %q", err, c.want)
			}
			var code *writeErr
			if !errors.As(err, &code) || code.code == 0 {
				t.Errorf("%v does not carry SQLite's code", err)
			}
			if again := w.Close(); again != err {
				t.Errorf("second Close() = %v", again)
			}
		})
	}
}

// TestCreateRefuses wants no file overwritten and no place that is none.
func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.WriteFile(full, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{full, filepath.Join(dir, "no", "such", "folder"), dir} {
		if w, err := Create(path); err == nil {
			w.Close()
			t.Errorf("Create(%s) did not fail", path)
		}
	}
	if data, err := os.ReadFile(full); err != nil || string(data) != "x" {
		t.Errorf("the file that was there changed: %q, %v", data, err)
	}
	t.Chdir(dir)
	w, err := Create(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ":memory:")); err != nil {
		t.Errorf("a name that SQLite treats specially made no file: %v", err)
	}
}

// TestWriterFullDisk wants a full disk to be an error.
func TestWriterFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	path := filepath.Join(t.TempDir(), "full.sqlite")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	w, err := Create(path)
	if err != nil {
		return
	}
	in := w.Table("t", []string{"a INTEGER"})
	in.Int(0, 1)
	in.Step()
	if w.Close() == nil {
		t.Error("no error on a full disk")
	}
}

func BenchmarkWriter(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "b.sqlite"))
	if err != nil {
		b.Fatal(err)
	}
	columns := make([]string, 10)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d INTEGER", i)
	}
	in := w.Table("t", columns)
	n := 0
	for b.Loop() {
		for c := range columns {
			in.Int(c, int64(n*c))
		}
		if err := in.Step(); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
