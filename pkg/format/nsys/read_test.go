package nsys

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// written writes a trace and returns the file and the columns it has.
func written(t testing.TB, tr *sim.Trace, opt sim.Options) (string, map[string][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := tr.WriteSQLite(path, opt); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	columns, err := db.Tables()
	if err != nil {
		t.Fatal(err)
	}
	return path, columns
}

// read opens reports and returns all their rows.
func read(t testing.TB, paths ...string) (*event.Header, []row) {
	t.Helper()
	return readWith(t, Options{}, paths...)
}

// tiny are options with so little memory that everything goes to the temporary
// file, and runs are merged several times.
var tiny = Options{limits: &limits{store: 0, strings: 1 << 20, fanIn: 2, chunkRows: 7}}

func readWith(t testing.TB, opts Options, paths ...string) (*event.Header, []row) {
	t.Helper()
	r, err := Open(paths, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := drain(r)
	if err != nil {
		t.Fatal(err)
	}
	return r.Header(), rows
}

// drain returns the remaining rows of a reader.
func drain(r *Reader) ([]row, error) {
	var rows []row
	for {
		b, err := r.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for i := range b.Len {
			rows = append(rows, rowOf(r.Header(), b, i))
		}
	}
}

func rowOf(h *event.Header, b *event.Batch, i int) (s row) {
	for c := range event.ColStep {
		switch col := b.Column(c).(type) {
		case *event.Ints[int32]:
			s[c] = "-"
			if v, ok := col.Get(i); ok {
				s[c] = enumName(h, c, v)
			}
		case *event.Ints[int64]:
			s[c] = "-"
			if v, ok := col.Get(i); ok {
				s[c] = strconv.FormatInt(v, 10)
			}
		case *event.Strings:
			s[c] = strconv.Quote(string(col.Get(i)))
		}
	}
	return s
}

func enumName(h *event.Header, c event.Col, v int32) string {
	switch c {
	case event.ColKind:
		return event.Kinds[v]
	case event.ColClass:
		return event.Classes[v]
	case event.ColDomain:
		return h.Domains[v]
	}
	return strconv.FormatInt(int64(v), 10)
}

// sameRows compares rows with those that were to be.
func sameRows(t testing.TB, got, want []row) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("row %d of %d is missing:\n%s", i, len(want), want[i])
		case i >= len(want):
			t.Fatalf("row %d is too many:\n%s", i, got[i])
		case got[i] != want[i]:
			t.Fatalf("row %d of %d is\n%s\nwant\n%s", i, len(want), got[i], want[i])
		}
	}
}

// sameAsReference reads an export and compares rows and header with those of the reference.
func sameAsReference(t testing.TB, w *reference, path string) *event.Header {
	t.Helper()
	h, rows := read(t, path)
	sameRows(t, rows, w.rows())
	got, want := h.Reports[0], w.report()
	for kind, n := range got.Rows {
		if n == 0 {
			delete(got.Rows, kind)
		}
	}
	want.File, want.Source, want.Version, want.Schema, want.Capture, want.Origin, want.GPUs, want.Warnings = got.File, got.Source, got.Version, got.Schema, got.Capture, got.Origin, got.GPUs, got.Warnings
	if g, w := asJSON(t, got), asJSON(t, want); g != w {
		t.Fatalf("the header says\n%s\nwant\n%s", g, w)
	}
	if !slices.Equal(h.Domains, w.domains()) {
		t.Fatalf("domains %q, want %q", h.Domains, w.domains())
	}
	return h
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
