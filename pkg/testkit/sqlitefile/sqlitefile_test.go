package sqlitefile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
)

// TestRoundTrip writes what readers find hard and reads it back.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd ?#% name.sqlite")
	w, err := sqlitefile.Create(path)
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
	var values []string
	for i := range 70 { // more than one statement takes
		values = append(values, []string{"a", "", "größe 核", "nul\x00inside", "\xff not UTF-8", strings.Repeat("x", 70000), "b"}[i%7])
	}
	for i, s := range values {
		in.Int(0, int64(-i)<<56)
		in.Text(1, s)
		in.Float(2, float64(i)/2)
		in.Int(-1, 99)
		if err := in.Step(); err != nil {
			t.Fatal(err)
		}
	}
	in.Null(1)
	in.Null(3)
	in.Step()
	w.Table("empty", []string{"id INTEGER NOT NULL PRIMARY KEY"})
	if err := w.Close(); err != nil || in.Rows() != int64(len(values)+1) {
		t.Fatal(in.Rows(), err)
	}
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	columns := []sqlite.Column{{Name: "end", Type: sqlite.Int}, {Name: "name", Type: sqlite.Text}, {Name: "constant", Type: sqlite.Int}}
	err = db.Scan("events", columns, 0, 1000, func(b *sqlite.Block) error {
		if b.N != len(values)+1 {
			t.Fatalf("%d rows, want %d", b.N, len(values)+1)
		}
		for i, s := range values {
			got := string(b.Cols[1].Text(i)) // which a reader may cut
			if b.Cols[0].Int[i] != int64(-i)<<56 || !strings.HasPrefix(s, got) || got == "" && s != "" || b.Cols[2].Int[i] != 7 {
				t.Errorf("row %d: %d %.20q %d", i, b.Cols[0].Int[i], got, b.Cols[2].Int[i])
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

// TestSameBytes wants the same file from the same calls.
func TestSameBytes(t *testing.T) {
	write := func(name string) []byte {
		path := filepath.Join(t.TempDir(), name)
		w, err := sqlitefile.Create(path)
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

// TestErrors wants every mistake to be seen by Close at the latest.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*sqlitefile.Writer)
		want string
	}{
		"bad SQL":                {func(w *sqlitefile.Writer) { w.Exec("CREATE NONSENSE") }, "syntax error"},
		"bad table":              {func(w *sqlitefile.Writer) { w.Table("t", []string{"a INTEGER", "a TEXT"}).Step() }, "duplicate column"},
		"null where none may be": {func(w *sqlitefile.Writer) { w.Table("t", []string{"a INTEGER NOT NULL"}).Step() }, "NOT NULL"},
		"column out of range":    {func(w *sqlitefile.Writer) { w.Table("t", []string{"a INTEGER"}).Int(1, 1) }, "range"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := sqlitefile.Create(filepath.Join(t.TempDir(), "x.sqlite"))
			if err != nil {
				t.Fatal(err)
			}
			test.do(w)
			if err := w.Close(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
