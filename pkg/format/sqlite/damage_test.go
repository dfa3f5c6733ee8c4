package sqlite

import (
	"encoding/binary"
	"errors"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var damageColumns = []Column{{Name: "a", Type: Int}, {Name: "b", Type: Text}, {Name: "c", Type: Int}}

// fragile returns the bytes of a database with three levels of pages, long rows
// and rows that were deleted.
func fragile(t testing.TB, rows int64) []byte {
	data, err := os.ReadFile(build(t, "PRAGMA page_size=512", func(w *sqlitefile.Writer) {
		in := w.Table("t", []string{"a INTEGER", "b TEXT", "c INTEGER", "d TEXT"})
		for i := range rows {
			in.Int(0, i<<(i%63))
			in.Text(1, strings.Repeat("x", int(i%11)*int(i%17)*6))
			in.Int(2, -i)
			in.Text(3, strings.Repeat("y", int(i%40)))
			in.Step()
		}
		w.Exec("DELETE FROM t WHERE rowid % 5 = 0")
	}))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// outcome is what became of reading a damaged database.
type outcome int

const (
	refused  outcome = iota // the decoder sees the damage
	agreed                  // it reads what SQLite reads
	lenient                 // it reads on where SQLite does not
	differed                // both read, and not the same
)

// readDamaged reads a database that may be damaged with both.
func readDamaged(t testing.TB, path string, data []byte) outcome {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := Open(path)
	if err != nil {
		return refused
	}
	defer db.Close()
	low, high, err := db.Rows("t")
	if err != nil {
		return refused
	}
	got, want, _, err, wantErr := both(t, db, "t", damageColumns, lowest, highest)
	db.Scan("t", damageColumns, low/2, high/2, func(*Block) error { return nil })
	switch {
	case err != nil:
		var e *Error
		if !errors.As(err, &e) || e.Hint() == "" || strings.Contains(err.Error(), "runtime error") {
			t.Errorf("an error that is no answer: %v", err)
		}
		return refused
	case wantErr != nil:
		return lenient
	case !slices.Equal(got, want):
		return differed
	}
	return agreed
}

// TestDamage flips bytes and bits and cuts files off.
func TestDamage(t *testing.T) {
	good := fragile(t, 400)
	path := filepath.Join(t.TempDir(), "t.sqlite")
	if o := readDamaged(t, path, good); o != agreed {
		t.Fatalf("undamaged: %d", o)
	}
	r := rand.New(rand.NewPCG(3, 4))
	var outcomes [4]int
	for i := range cases.Few(80, 80, 250) {
		data := slices.Clone(good)
		for range 1 + r.IntN(3) {
			at := r.IntN(len(data))
			if r.IntN(2) == 0 { // where pages keep what matters
				at = at/512*512 + r.IntN(30)
			}
			data[at] = []byte{data[at] ^ 1<<r.IntN(8), byte(r.Uint32()), 0, 0xff}[r.IntN(4)]
		}
		if i%8 == 0 {
			data = data[:r.IntN(len(data))]
			if len(data) > headerSize { // and have the header know
				binary.BigEndian.PutUint32(data[atPages:], uint32(len(data)/512))
			}
		}
		o := readDamaged(t, path, data)
		outcomes[o]++
	}
	t.Logf("%d refused, %d agreed, %d lenient, %d differed", outcomes[refused], outcomes[agreed], outcomes[lenient], outcomes[differed])
	if outcomes[differed] > 0 {
		t.Error("some were read differently without an error")
	}
	if least := cases.Few(10, 10, 50); outcomes[refused] < least || outcomes[agreed] < least {
		t.Error("the damage does not test both")
	}
}

// TestDamageKinds makes one contradiction at a time.
func TestDamageKinds(t *testing.T) {
	good := fragile(t, 2000)
	path := filepath.Join(t.TempDir(), "t.sqlite")
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := db.layout("t")
	if err != nil {
		t.Fatal(err)
	}
	root := uint32(l.root)
	// The way down on the left, and the place of a cell in a page.
	page := func(data []byte, n uint32) []byte { return data[int(n-1)*512 : int(n)*512] }
	cell := func(p []byte, i int) int {
		if p[0] == leafPage {
			return be16(p[leafHeader+2*i:])
		}
		return be16(p[interiorHeader+2*i:])
	}
	child := func(n uint32, i int) uint32 { return be32(page(good, n)[cell(page(good, n), i):]) }
	middle := child(root, 0)
	leaf := child(middle, 0)
	if page(good, middle)[0] != interiorPage || page(good, leaf)[0] != leafPage {
		t.Fatal("not a tree of three levels")
	}
	put32 := binary.BigEndian.PutUint32
	put16 := binary.BigEndian.PutUint16
	for _, c := range []struct {
		name   string
		damage func(data []byte)
		want   string
	}{
		{"a child that is its own parent", func(d []byte) { put32(page(d, root)[cell(page(d, root), 1):], root) }, "row ids out of order"},
		{"a first child that is its own parent", func(d []byte) { put32(page(d, root)[cell(page(d, root), 0):], root) }, "row ids out of order"},
		{"a last child that is its own parent", func(d []byte) {
			put16(page(d, root)[atCells:], 0)
			put32(page(d, root)[atRightmost:], root)
		}, "too deep"},
		{"a child twice", func(d []byte) { put32(page(d, middle)[cell(page(d, middle), 1):], leaf) }, "row ids out of order"},
		{"child 0", func(d []byte) { put32(page(d, middle)[cell(page(d, middle), 0):], 0) }, "not in the file"},
		{"the schema for a child", func(d []byte) { put32(page(d, middle)[cell(page(d, middle), 0):], 1) }, "not in the file"},
		{"a child after the file", func(d []byte) { put32(page(d, middle)[atRightmost:], uint32(len(d)/512+1)) }, "not in the file"},
		{"a child far after the file", func(d []byte) { put32(page(d, middle)[atRightmost:], 1<<32-1) }, "not in the file"},
		{"a page of an index", func(d []byte) { page(d, leaf)[0] = 0x0a }, "not a page of a table"},
		{"a page of nothing", func(d []byte) { clear(page(d, leaf)) }, "not a page of a table"},
		{"too many cells", func(d []byte) { put16(page(d, leaf)[atCells:], 253) }, "room for"},
		{"too many children", func(d []byte) { put16(page(d, middle)[atCells:], 65535) }, "room for"},
		{"a cell in the header", func(d []byte) { put16(page(d, leaf)[leafHeader:], 3) }, "outside of the page"},
		{"a cell after the page", func(d []byte) { put16(page(d, leaf)[leafHeader:], 65535) }, "outside of the page"},
		{"a cell at the end of the page", func(d []byte) { put16(page(d, leaf)[leafHeader:], 509) }, "outside of the page"},
		{"a child's cell after the page", func(d []byte) { put16(page(d, middle)[interiorHeader:], 508) }, "outside of the page"},
		{"a child's row id runs over", func(d []byte) {
			put16(page(d, middle)[interiorHeader:], 507)
			page(d, middle)[511] = 0x81
		}, "over the end"},
		{"a row larger than the file", func(d []byte) { copy(page(d, leaf)[cell(page(d, leaf), 1):], "\xff\xff\xff\xff\x7f") }, "larger than the file"},
		{"a row larger than numbers", func(d []byte) {
			copy(page(d, leaf)[cell(page(d, leaf), 1):], "\xff\xff\xff\xff\xff\xff\xff\xff\xff")
		}, "larger than the file"},
		{"a row smaller than its header", func(d []byte) { page(d, leaf)[cell(page(d, leaf), 0)] = 2 }, "contradicts"},
		{"a row without a header", func(d []byte) { page(d, leaf)[cell(page(d, leaf), 0)+2] = 0 }, "contradicts"},
		{"a text longer than its row", func(d []byte) { page(d, leaf)[cell(page(d, leaf), 0)+4] = 127 }, "contradicts"},
		{"a row longer than its columns", func(d []byte) { page(d, leaf)[cell(page(d, leaf), 1)]++ }, "contradicts"},
		{"a row over the end of the page", func(d []byte) { page(d, leaf)[cell(page(d, leaf), 0)]++ }, "over the end"},
		{"a type over the end of the header", func(d []byte) { page(d, leaf)[cell(page(d, leaf), 0)+6] = 0x80 }, "contradicts"},
		{"row ids that go back", func(d []byte) { page(d, leaf)[cell(page(d, leaf), 2)+1] = 1 }, "row ids out of order"},
		{"keys that go back", func(d []byte) { page(d, middle)[cell(page(d, middle), 1)+4] = 0 }, "row ids out of order"},
	} {
		data := slices.Clone(good)
		c.damage(data)
		if o := readDamaged(t, path, data); o > agreed {
			t.Errorf("%s: outcome %d", c.name, o)
			continue
		}
		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Scan("t", append(damageColumns, Column{Name: "d", Type: Text}), lowest, highest, func(*Block) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "damaged or truncated") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		db.Close()
	}
}

// TestDamagedCircle wants an end to a tree whose pages come again and again,
// where no row id tells.
func TestDamagedCircle(t *testing.T) {
	path := build(t, "PRAGMA page_size=512", func(w *sqlitefile.Writer) {
		in := w.Table("t", []string{"a INTEGER", "b TEXT", "c INTEGER"})
		for i := range int64(60) {
			in.Int(0, i<<40)
			in.Step()
		}
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root := data[512:1024]
	leaf := be32(root[atRightmost:])
	binary.BigEndian.PutUint16(data[int(leaf-1)*512+atCells:], 0) // an empty leaf
	const cells = 40
	binary.BigEndian.PutUint16(root[atCells:], cells)
	for i := range cells {
		at := 512 - 5*(i+1)
		binary.BigEndian.PutUint16(root[interiorHeader+2*i:], uint16(at))
		binary.BigEndian.PutUint32(root[at:], leaf)
		root[at+4] = byte(i)
	}
	if o := readDamaged(t, path, data); o != refused {
		t.Errorf("outcome %d", o)
	}
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Scan("t", damageColumns, lowest, highest, func(*Block) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("Scan() = %v", err)
	}
}

// TestDamagedOverflow wants a row that is wrong where it leaves its page.
func TestDamagedOverflow(t *testing.T) {
	path := build(t, "PRAGMA page_size=512", func(w *sqlitefile.Writer) {
		w.Exec("CREATE TABLE t (a INT, b TEXT, c INT)")
		w.Exec("INSERT INTO t VALUES (1, '" + strings.Repeat("x", 5000) + "', 2)")
	})
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const spill = 512 - 4 // the only cell of the leaf is at its end
	next := int(be32(good[512+spill:]))
	cell := be16(good[512+leafHeader:])
	for _, c := range []struct {
		name   string
		damage func(data, leaf []byte)
		want   string
	}{
		{"no overflow page", func(d, leaf []byte) { binary.BigEndian.PutUint32(leaf[spill:], 0) }, "missing"},
		{"no second overflow page", func(d, leaf []byte) { binary.BigEndian.PutUint32(d[(next-1)*512:], 0) }, "missing"},
		{"a page after the file", func(d, leaf []byte) { binary.BigEndian.PutUint32(leaf[spill:], 1<<30) }, "not in the file"},
		{"over the end", func(d, leaf []byte) {
			copy(leaf[cell+2:], leaf[cell:])
			binary.BigEndian.PutUint16(leaf[leafHeader:], uint16(cell+2))
		}, "over the end"},
		{"no header", func(d, leaf []byte) { leaf[cell+3] = 0 }, "contradicts"},
		{"a text longer than the row", func(d, leaf []byte) { leaf[cell+6]++ }, "contradicts"},
	} {
		data := slices.Clone(good)
		c.damage(data, data[512:1024])
		if o := readDamaged(t, path, data); o != refused {
			t.Errorf("%s: outcome %d", c.name, o)
		}
		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Scan("t", damageColumns, lowest, highest, func(*Block) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		err = db.Scan("t", damageColumns[:1], lowest, highest, func(*Block) error { return nil })
		if err != nil && strings.Contains(c.name, "page") {
			t.Errorf("%s: a column before the overflow: %v", c.name, err)
		}
		db.Close()
	}
}

// TestCutWhileReading cuts the file off between opening and reading.
func TestCutWhileReading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.sqlite")
	if err := os.WriteFile(path, fragile(t, 2000), 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.layout("t"); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 20_000); err != nil {
		t.Fatal(err)
	}
	err = db.Scan("t", damageColumns, lowest, highest, func(*Block) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the file ends before it") {
		t.Errorf("Scan() = %v", err)
	}
}

// FuzzScan wants no database to be read differently from SQLite, unless with an
// error. Give it -fuzzminimizetime 1x: inputs do not get much smaller, and Go
// tries for a minute each. The databases in testdata have a table t of one leaf, of two levels,
// and with overflow pages.
func FuzzScan(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			t.Skip("larger than needed")
		}
		if readDamaged(t, filepath.Join(t.TempDir(), "t.sqlite"), data) == differed {
			t.Error("read differently")
		}
	})
}
