package sqlite

import (
	"encoding/binary"
	"fmt"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

const lowest, highest = math.MinInt64, math.MaxInt64

// build makes a database of what fill writes, with the pragmas that must come
// before the first page is written.
func build(t testing.TB, pragmas string, fill func(w *sqlitefile.Writer)) string {
	t.Helper()
	return buildReserved(t, pragmas, 0, fill)
}

// buildReserved keeps bytes free at the end of each page.
func buildReserved(t testing.TB, pragmas string, bytes int32, fill func(w *sqlitefile.Writer)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.sqlite")
	if bytes > 0 {
		reserve(t, path, pragmas, bytes)
	}
	w, err := sqlitefile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Exec("COMMIT; " + pragmas + "; BEGIN")
	fill(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// reserve makes an empty database whose pages keep bytes free at their end, which no SQL asks for.
func reserve(t testing.TB, path, pragmas string, bytes int32) {
	t.Helper()
	tls := libc.NewTLS()
	defer tls.Close()
	slot := tls.Alloc(16)
	defer tls.Free(16)
	cstring := func(s string) uintptr {
		at, err := libc.CString(s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { libc.Xfree(nil, at) })
		return at
	}
	check := func(rc int32) {
		if rc != sqlite3.SQLITE_OK {
			t.Fatalf("SQLite code %d", rc)
		}
	}
	check(sqlite3.Xsqlite3_open(tls, cstring(path), slot))
	db := *(*uintptr)(pointer(slot))
	*(*int32)(pointer(slot + 8)) = bytes
	check(sqlite3.Xsqlite3_exec(tls, db, cstring(pragmas), 0, 0, 0))
	check(sqlite3.Xsqlite3_file_control(tls, db, cstring("main"), sqlite3.SQLITE_FCNTL_RESERVE_BYTES, slot+8))
	check(sqlite3.Xsqlite3_exec(tls, db, cstring("CREATE TABLE gone (a); DROP TABLE gone"), 0, 0, 0))
	check(sqlite3.Xsqlite3_close(tls, db))
}

// chunks collects what a scan hands out, each block as a text.
func chunks(scan func(fn func(*Block) error) error) (blocks []string, err error) {
	err = scan(func(b *Block) error {
		var s strings.Builder
		for i := range b.N {
			for c := range b.Cols {
				v := &b.Cols[c]
				switch {
				case v.Full && v.Null[i]:
					s.WriteString("BUG: null in a full column")
				case v.Null[i] && v.Int != nil && v.Int[i] != 0:
					s.WriteString("BUG: a null that is not 0")
				case v.Null[i]:
					s.WriteString("null,")
				case v.Int != nil:
					fmt.Fprint(&s, v.Int[i], ",")
				default:
					fmt.Fprintf(&s, "%q,", v.Text(i))
				}
			}
			s.WriteByte('\n')
		}
		blocks = append(blocks, s.String())
		return nil
	})
	return blocks, err
}

// both scans with the decoder, where it does the table, and with SQLite.
func both(t testing.TB, db *DB, table string, columns []Column, low, high int64) (got, want []string, decoded bool, err, wantErr error) {
	t.Helper()
	l, err := db.layout(table)
	if err != nil {
		return nil, nil, false, err, nil
	}
	_, _, decoded = l.fields(columns, newBlock(typesOf(columns), 1))
	got, err = chunks(func(fn func(*Block) error) error { return db.Scan(table, columns, low, high, fn) })
	want, wantErr = chunks(func(fn func(*Block) error) error { return db.step(table, l.rowID, columns, low, high, fn) })
	return got, want, decoded, err, wantErr
}

// same wants the decoder and SQLite to hand out the same blocks.
func same(t testing.TB, db *DB, table string, columns []Column, low, high int64) (decoded bool) {
	t.Helper()
	got, want, decoded, err, wantErr := both(t, db, table, columns, low, high)
	if err != nil || wantErr != nil {
		t.Fatalf("%s %v: decoder: %v, SQLite: %v", table, columns, err, wantErr)
	}
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			g, w := strings.Split(got[i], "\n"), strings.Split(want[i], "\n")
			for k := range min(len(g), len(w)) {
				if g[k] != w[k] {
					t.Fatalf("%s %v, block %d, row %d:\n%.300s\nwant\n%.300s", table, columns, i, k, g[k], w[k])
				}
			}
		}
		t.Fatalf("%s %v: %d blocks, want %d", table, columns, len(got), len(want))
	}
	return decoded
}

// randomValue is a value of any type as a word of SQL.
func randomValue(r *rand.Rand, text int) string {
	switch r.IntN(8) {
	case 0:
		return "NULL"
	case 1:
		return fmt.Sprint(r.NormFloat64() * 1e6)
	case 2:
		return fmt.Sprintf("%d.0", r.IntN(1000))
	case 3:
		return "x'" + fmt.Sprintf("%x", strings.Repeat("b", r.IntN(text))) + "'"
	case 4:
		return "'" + strings.Repeat("t", r.IntN(text)) + "ö'"
	}
	v := int64(r.Uint64()) >> r.IntN(64) // of all widths
	if v == lowest {
		v++ // its literal is a float
	}
	return fmt.Sprint(v)
}

var declared = []string{"", "INTEGER", "INT", "TEXT", "BLOB", "REAL", "NUMERIC", "DOUBLE PRECISION", "VARCHAR(9)",
	"FLOATING POINT", "INTEGER NOT NULL DEFAULT 7", "TEXT DEFAULT 'd'", "INT DEFAULT NULL"}

// randomTable makes table t, and with it all that SQLite does to a tree.
func randomTable(r *rand.Rand, w *sqlitefile.Writer) (columns int) {
	n := 1 + r.IntN(12)
	if r.IntN(10) == 0 {
		n = 150 // a header of more than 127 bytes
	}
	key := r.IntN(2 * n)
	desc := []string{"", "", " DESC"}[r.IntN(3)]
	var defs []string
	for i := range n {
		if i == key {
			defs = append(defs, fmt.Sprintf("c%d INTEGER PRIMARY KEY%s", i, desc))
		} else {
			defs = append(defs, fmt.Sprintf("c%d %s", i, declared[r.IntN(len(declared))]))
		}
	}
	text := []int{5, 80, 700, 9000, 150000}[r.IntN(5)]
	rows := r.IntN(1 + []int{3, 60, 3000}[r.IntN(3)]*200/(200+n+text/8))
	w.Exec("CREATE TABLE t (" + strings.Join(defs, ",") + ")")
	insert := func(n int, id string) {
		var names, values []string
		for i := range n {
			if i != key {
				names, values = append(names, fmt.Sprintf("c%d", i)), append(values, randomValue(r, text))
			}
		}
		names, values = append(names, "rowid"), append(values, id)
		w.Exec("INSERT OR REPLACE INTO t (" + strings.Join(names, ",") + ") VALUES (" + strings.Join(values, ",") + ")")
	}
	order := r.IntN(3)
	id := func(i int) string {
		switch order {
		case 0:
			return fmt.Sprint(i)
		case 1:
			return fmt.Sprint(r.IntN(2*rows+1) - rows)
		}
		return fmt.Sprint(int64(r.Uint64()) | 1)
	}
	for i := range rows {
		insert(n, id(i))
	}
	if r.IntN(2) == 0 {
		w.Exec("INSERT OR REPLACE INTO t (rowid, c0) VALUES (9223372036854775807, NULL)")
		w.Exec("INSERT OR REPLACE INTO t (rowid, c0) VALUES (-9223372036854775808, 1)")
	}
	if r.IntN(2) == 0 {
		w.Exec("DELETE FROM t WHERE rowid % " + fmt.Sprint(1+r.IntN(4)) + " = 0")
	}
	for range r.IntN(3) {
		w.Exec(fmt.Sprintf("ALTER TABLE t ADD COLUMN c%d %s", n, []string{"INT", "TEXT", "INT DEFAULT 9", "TEXT DEFAULT 'later'", "INT DEFAULT NULL"}[r.IntN(5)]))
		n++
	}
	for i := range r.IntN(30) {
		insert(n, id(rows+i))
	}
	return n
}

// TestDecoderIsSQLite wants the decoder to read random tables like SQLite.
func TestDecoderIsSQLite(t *testing.T) {
	decoded, left := 0, 0
	seeds := uint64(cases.Few(15, 15, 80))
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d, l := compareRandom(t, seed)
			decoded, left = decoded+d, left+l
		})
	}
	t.Logf("%d scans decoded, %d left to SQLite", decoded, left)
	if decoded < int(2*seeds) || left < int(seeds) {
		t.Error("the random tables do not test both")
	}
}

func compareRandom(t *testing.T, seed uint64) (decoded, left int) {
	r := rand.New(rand.NewPCG(seed, 1))
	size := 512 << r.IntN(8)
	pragmas := fmt.Sprintf("PRAGMA page_size=%d; PRAGMA auto_vacuum=%d", size, r.IntN(3))
	if r.IntN(15) == 0 {
		pragmas += "; PRAGMA encoding='UTF-16'"
	}
	columns := 0
	reserved := int32(0)
	if r.IntN(3) == 0 {
		reserved = int32(r.IntN(33))
	}
	path := buildReserved(t, pragmas, reserved, func(w *sqlitefile.Writer) {
		columns = randomTable(r, w)
	})
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.file.size != size {
		t.Fatalf("pages of %d bytes, want %d", db.file.size, size)
	}
	low, high, err := db.Rows("t")
	if err != nil {
		t.Fatal(err)
	}
	ranges := [][2]int64{{lowest, highest}, {low, high}, {low + 1, high - 1}, {5, 4}, {0, 7}, {highest, highest}, {lowest, lowest}}
	for range 4 {
		a, b := int64(r.Uint64())>>r.IntN(64), int64(r.Uint64())>>r.IntN(64)
		ranges = append(ranges, [2]int64{min(a, b), max(a, b)})
	}
	for _, span := range ranges {
		var wanted []Column
		for _, c := range r.Perm(columns)[:r.IntN(columns)+1] {
			wanted = append(wanted, Column{Name: fmt.Sprintf([]string{"c%d", "C%d"}[r.IntN(2)], c), Type: Type(r.IntN(2))})
		}
		wanted = wanted[:min(len(wanted), 1+r.IntN(10))]
		if same(t, db, "t", wanted, span[0], span[1]) {
			decoded++
		} else {
			left++
		}
	}
	return decoded, left
}

// TestWhoReads wants the decoder to keep from what it does not do.
func TestWhoReads(t *testing.T) {
	path := build(t, "", func(w *sqlitefile.Writer) {
		w.Exec(`CREATE TABLE plain (id INTEGER PRIMARY KEY, a INT, b TEXT, r REAL, p INT DEFAULT 3, q INT DEFAULT NULL);
			CREATE TABLE "odd 'name" ("a ""b" INT, rowid INT, oid INT);
			CREATE TABLE keyed (id INTEGER PRIMARY KEY DESC, a INT);
			CREATE TABLE pair (a INTEGER, b INT, PRIMARY KEY (a, b));
			CREATE TABLE made (a INT, b INT AS (a + 1), c INT);
			CREATE TABLE kept (a INT, b INT AS (a + 1) STORED);
			CREATE TABLE without (a INT PRIMARY KEY) WITHOUT ROWID;
			CREATE VIEW seen AS SELECT a FROM plain;
			INSERT INTO plain VALUES (7, 1, 'x', 2, 3, 4);
			INSERT INTO "odd 'name" VALUES (8, 9, 10);
			INSERT INTO keyed VALUES (5, 6);
			INSERT INTO pair VALUES (3, 4);
			INSERT INTO made VALUES (20, 30);
			INSERT INTO kept VALUES (20)`)
	})
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct {
		table   string
		columns []Column
		decoded bool
		want    string
	}{
		{"plain", []Column{{Name: "id", Type: Int}, {Name: "a", Type: Int}, {Name: "b", Type: Text}, {Name: "q", Type: Int}}, true, "7,1,\"x\",4,\n"},
		{"PLAIN", []Column{{Name: "B", Type: Text}, {Name: "ID", Type: Int}, {Name: "r", Type: Text}}, true, "\"x\",7,null,\n"},
		{"plain", []Column{{Name: "id", Type: Text}, {Name: "a", Type: Int}}, false, "null,1,\n"},
		{"plain", []Column{{Name: "a", Type: Int}, {Name: "a", Type: Text}}, false, "1,null,\n"},
		{"plain", []Column{{Name: "r", Type: Int}}, false, "null,\n"},
		{"plain", []Column{{Name: "p", Type: Int}}, false, "3,\n"},
		{"odd 'name", []Column{{Name: `a "b`, Type: Int}, {Name: "rowid", Type: Int}}, true, "8,9,\n"},
		{"keyed", []Column{{Name: "id", Type: Int}, {Name: "a", Type: Int}}, true, "5,6,\n"},
		{"pair", []Column{{Name: "b", Type: Int}, {Name: "a", Type: Int}}, true, "4,3,\n"},
		{"made", []Column{{Name: "b", Type: Int}, {Name: "c", Type: Int}}, false, "21,30,\n"},
		{"kept", []Column{{Name: "b", Type: Int}}, false, "21,\n"},
	} {
		got, want, decoded, err, wantErr := both(t, db, c.table, c.columns, lowest, highest)
		if err != nil || wantErr != nil || strings.Join(got, "") != c.want || strings.Join(want, "") != c.want {
			t.Errorf("%s %v: %q, %q, want %q (%v, %v)", c.table, c.columns, got, want, c.want, err, wantErr)
		}
		if decoded != c.decoded {
			t.Errorf("%s %v: decoded: %v", c.table, c.columns, decoded)
		}
	}
	for _, table := range []string{"without", "nowhere"} {
		if err := db.Scan(table, []Column{{Name: "a", Type: Int}}, lowest, highest, func(*Block) error { return nil }); err == nil {
			t.Errorf("%s was read", table)
		}
	}
	if err := db.Scan("seen", []Column{{Name: "nothing", Type: Int}}, 0, 1, func(*Block) error { return nil }); err == nil {
		t.Error("a column that is not there was read")
	}
}

// TestBlockBorders wants blocks and leaves of all sizes.
func TestBlockBorders(t *testing.T) {
	for _, n := range []int64{0, 1, 2, BlockRows - 1, BlockRows, BlockRows + 1, 2*BlockRows - 1, 2 * BlockRows, 2*BlockRows + 1} {
		path := build(t, "", func(w *sqlitefile.Writer) {
			in := w.Table("t", []string{"id INTEGER PRIMARY KEY", "a INT", "b TEXT"})
			for i := range n {
				in.Int(0, i)
				in.Int(1, i*i)
				in.Text(2, fmt.Sprint(i))
				in.Step()
			}
		})
		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		low, high, err := db.Rows("t")
		if err != nil || low != 0 || high != n-1 {
			t.Errorf("Rows() = %d, %d, %v, want 0, %d", low, high, err, n-1)
		}
		columns := []Column{{Name: "b", Type: Text}, {Name: "id", Type: Int}, {Name: "a", Type: Int}}
		if !same(t, db, "t", columns, lowest, highest) {
			t.Error("not decoded")
		}
		for _, cut := range []int64{1, BlockRows - 1, BlockRows, BlockRows + 1} {
			same(t, db, "t", columns, low, low+cut-1)
			same(t, db, "t", columns, cut, high)
		}
		db.Close()
	}
}

// TestRowSizes wants rows of all sizes around those at which a page spills.
func TestRowSizes(t *testing.T) {
	for _, c := range []struct {
		page     int
		reserved int32
		from, to int // of what a text is longer than one or two pages
	}{{512, 0, -260, 60}, {512, 32, -260, 60}, {1024, 7, -260, 60}, {65536, 0, -165, -155}, {65536, 0, -40, -20}} {
		path := buildReserved(t, fmt.Sprintf("PRAGMA page_size=%d", c.page), c.reserved, func(w *sqlitefile.Writer) {
			in := w.Table("t", []string{"a INT", "b TEXT", "c INT", "d BLOB", "e INT"})
			for k := c.from; k <= c.to; k++ {
				for i, text := range []int{c.page + k, 2*c.page + k, k - c.from} {
					in.Int(0, int64(k)<<(5*i))
					in.Text(1, strings.Repeat("x", text))
					in.Int(2, int64(k)<<40)
					in.Text(3, strings.Repeat("y", 100*i))
					in.Int(4, int64(k)<<(i*20))
					in.Step()
				}
			}
		})
		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, columns := range [][]Column{
			{{Name: "a", Type: Int}, {Name: "b", Type: Text}, {Name: "c", Type: Int}, {Name: "d", Type: Text}, {Name: "e", Type: Int}}, {{Name: "e", Type: Int}}, {{Name: "d", Type: Text}, {Name: "a", Type: Int}}, {{Name: "c", Type: Int}},
		} {
			if !same(t, db, "t", columns, lowest, highest) {
				t.Error("not decoded")
			}
		}
		if db.file.usable != c.page-int(c.reserved) {
			t.Errorf("%d bytes of a page are used", db.file.usable)
		}
		db.Close()
	}
}

// TestNestedScans wants a scan to be free to start another.
func TestNestedScans(t *testing.T) {
	path := build(t, "", func(w *sqlitefile.Writer) { fillKernels(w, 10000) })
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want, _ := chunks(func(fn func(*Block) error) error { return db.Scan("t", kernelColumns, lowest, highest, fn) })
	got, err := chunks(func(fn func(*Block) error) error {
		return db.Scan("t", kernelColumns, lowest, highest, func(b *Block) error {
			if err := db.Scan("t", kernelColumns, lowest, highest, func(*Block) error { return nil }); err != nil {
				return err
			}
			return fn(b)
		})
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("a scan within a scan changed it (%v)", err)
	}
	stop := fmt.Errorf("enough")
	if err := db.Scan("t", kernelColumns, lowest, highest, func(*Block) error { return stop }); err != stop {
		t.Errorf("Scan() = %v, want the error of the function", err)
	}
}

// TestTraces wants every table of real exports read like SQLite reads it.
func TestTraces(t *testing.T) {
	root := os.Getenv("HOSTBOUND_TRACES")
	if root == "" {
		t.Skip("HOSTBOUND_TRACES does not name a folder of exports")
	}
	paths, _ := filepath.Glob(filepath.Join(root, "*", "*.sqlite"))
	if len(paths) < 2 {
		t.Fatalf("no exports in the folders of %s", root)
	}
	if os.Getenv("HOSTBOUND_ALL") == "" {
		paths = paths[:2]
	}
	decoded, left := 0, 0
	for _, path := range paths {
		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := db.Tables()
		if err != nil {
			t.Fatal(err)
		}
		for table, names := range tables {
			for _, kind := range []Type{Int, Text} {
				var columns []Column
				for _, name := range names {
					columns = append(columns, Column{Name: name, Type: kind})
				}
				for _, c := range append(slices.Collect(slices.Chunk(columns, 1)), columns) {
					if same(t, db, table, c, lowest, highest) {
						decoded++
					} else {
						left++
					}
				}
			}
		}
		db.Close()
	}
	t.Logf("%d exports, %d scans decoded, %d left to SQLite", len(paths), decoded, left)
}

// kernelColumns are columns like those wanted of kernels: 10 of 28.
var kernelColumns = []Column{{Name: "c0", Type: Int}, {Name: "c1", Type: Int}, {Name: "c2", Type: Int}, {Name: "c5", Type: Int}, {Name: "c6", Type: Int}, {Name: "c7", Type: Int}, {Name: "c8", Type: Int},
	{Name: "c9", Type: Int}, {Name: "c10", Type: Int}, {Name: "c26", Type: Int}}

// fillKernels makes a table like that of the kernels of an export: of a few
// kinds of kernels with the same geometry each time.
func fillKernels(w *sqlitefile.Writer, rows int) {
	r := rand.New(rand.NewPCG(1, 2))
	var kinds [8][15]int64
	for i := range kinds {
		for c := range kinds[i] {
			kinds[i][c] = r.Int64N(3) * r.Int64N(400)
		}
	}
	fillTable(w, rows, func() [15]int64 { return kinds[r.IntN(len(kinds))] })
}

// fillMixed makes a table in which hardly any two rows have the same header.
func fillMixed(w *sqlitefile.Writer, rows int) {
	r := rand.New(rand.NewPCG(1, 2))
	fillTable(w, rows, func() (geometry [15]int64) {
		for c := range geometry {
			geometry[c] = r.Int64() >> r.IntN(63)
		}
		return geometry
	})
}

func fillTable(w *sqlitefile.Writer, rows int, geometry func() [15]int64) {
	var columns []string
	for i := range 28 {
		columns = append(columns, fmt.Sprintf("c%d INTEGER", i))
	}
	in := w.Table("t", columns)
	r := rand.New(rand.NewPCG(3, 4))
	now := int64(54_738_321)
	for i := range rows {
		now += r.Int64N(20000)
		in.Int(0, now)
		in.Int(1, now+r.Int64N(9000))
		for c, v := range []int64{r.Int64N(2), 1, 0, 7, int64(i), 281542085574656, r.Int64N(300), r.Int64N(300)} {
			in.Int(2+c, v)
		}
		for c, v := range geometry() {
			in.Int(11+c, v)
		}
		if in.Null(26); r.IntN(3) == 0 {
			in.Int(26, r.Int64N(5000))
		}
		in.Step()
	}
}

func BenchmarkScan(b *testing.B) {
	const rows = 1_000_000
	nothing := func(*Block) error { return nil }
	for _, c := range []struct {
		name   string
		fill   func(*sqlitefile.Writer, int)
		sqlite bool
	}{{"decoder", fillKernels, false}, {"sqlite", fillKernels, true}, {"decoder/mixed", fillMixed, false}, {"sqlite/mixed", fillMixed, true}} {
		b.Run(c.name, func(b *testing.B) {
			db, err := Open(build(b, "", func(w *sqlitefile.Writer) { c.fill(w, rows) }))
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			for b.Loop() {
				if c.sqlite {
					err = db.step("t", "rowid", kernelColumns, lowest, highest, nothing)
				} else {
					err = db.Scan("t", kernelColumns, lowest, highest, nothing)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// Rows that nobody wants are left out, wherever their values lie; those without a number there
// may be wanted.
func TestKeep(t *testing.T) {
	const rows = 3 * BlockRows
	db, err := Open(build(t, "PRAGMA page_size=512", func(w *sqlitefile.Writer) {
		in := w.Table("t", []string{"b INTEGER", "a TEXT", "c INTEGER"})
		for i := range int64(rows) {
			in.Text(1, strings.Repeat("x", int(i%7)*int(i%13)*10)) // some in several pages
			if in.Int(0, i/5); i%11 == 0 {
				in.Null(0)
			}
			in.Int(2, i)
			in.Step()
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	kept := map[int64]bool{}
	err = db.Scan("t", []Column{{Name: "c", Type: Int}, {Name: "b", Type: Int, Keep: func(v int64) bool { return v%2 == 0 }}}, lowest, highest, func(b *Block) error {
		for i, v := range b.Cols[0].Int[:b.N] {
			if null := v%11 == 0; null != b.Cols[1].Null[i] || !null && b.Cols[1].Int[i] != v/5 {
				t.Fatalf("row %d has %d (null: %t)", v, b.Cols[1].Int[i], b.Cols[1].Null[i])
			}
			kept[v] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(rows) {
		if wanted := i%11 == 0 || i/5%2 == 0; wanted && !kept[i] {
			t.Fatalf("row %d was left out", i)
		}
	}
	if len(kept) > rows*9/10 { // those in several pages are kept
		t.Errorf("%d of %d rows came out", len(kept), rows)
	}
}

// TestHighHeader wants a record read whose header has no byte below 0x80: nine bytes for each
// number, which SQLite reads but does not write.
func TestHighHeader(t *testing.T) {
	const columns, width, high = 14, 58, "\x80\x80\x80\x80\x80\x80\x80\x80"
	var names []string
	record := fmt.Sprint(high, string([]byte{9 * (columns + 1)}))
	text := ""
	for c := range columns {
		names = append(names, fmt.Sprint("c", c, " TEXT"))
		record += high + string([]byte{13 + 2*width})
		text += strings.Repeat(string(rune('a'+c)), width)
	}
	record += text
	path := build(t, "PRAGMA page_size=4096", func(w *sqlitefile.Writer) {
		w.Table("t", names)
		w.Exec("INSERT INTO t VALUES (''" + strings.Repeat(", ''", columns-1) + ")")
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	leaf := data[4096:8192]
	cell := []byte{byte(len(record)>>7) | 0x80, byte(len(record) & 0x7f), 1} // length, of 128 to 16383, and row id
	at := len(leaf) - len(cell) - len(record)
	copy(leaf[at+copy(leaf[at:], cell):], record)
	for _, place := range []int{leafHeader, 5} { // of the cell, and where cells begin
		binary.BigEndian.PutUint16(leaf[place:], uint16(at))
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if !same(t, db, "t", []Column{{Name: "c0", Type: Text}, {Name: "c13", Type: Text}}, lowest, highest) {
		t.Error("SQLite has read it")
	}
}
