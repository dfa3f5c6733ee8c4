package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
	lib "github.com/parquet-go/parquet-go"
)

// columns is one column of each type and encoding that is written.
var columns = []Column{
	{Name: "i32", Type: Int32, Nullable: true, Encoding: Delta},
	{Name: "i32d", Type: Int32},
	{Name: "i64", Type: Int64, Encoding: Delta},
	{Name: "i64n", Type: Int64, Nullable: true, Encoding: Delta},
	{Name: "i64d", Type: Int64, Nullable: true},
	{Name: "f64", Type: Float64, Nullable: true},
	{Name: "text", Type: Text},
	{Name: "few", Type: Text},
	{Name: "textn", Type: Text, Nullable: true, Encoding: Delta},
	{Name: "enum", Type: Text, Nullable: true, Enum: []string{"a", "bb", "", "dddd"}},
	{Name: "null", Type: Int64, Nullable: true},
	{Name: "nulltext", Type: Text, Nullable: true},
	{Name: "nullenum", Type: Text, Nullable: true, Enum: []string{"x"}},
}

// randomVector makes n rows of a column. Low values are frequent.
func randomVector(rng *rand.Rand, c *Column, n int) Vector {
	v := Vector{}
	v.Reset()
	few := rng.IntN(2) == 0
	for i := range n {
		null := c.Nullable && (few && rng.IntN(10) == 0 || !few && i/50%2 == 0)
		if len(c.Name) > 4 && c.Name[:4] == "null" {
			null = true
		}
		v.appendValue(c, i, null, rng)
	}
	return v
}

// appendValue appends a random value, or a null.
func (v *Vector) appendValue(c *Column, i int, null bool, rng *rand.Rand) {
	x := rng.Uint64()
	if rng.IntN(2) == 0 || c.Name == "few" {
		x &= 3
	}
	switch {
	case null:
		x = 0
	case c.Enum != nil:
		x %= uint64(len(c.Enum))
	}
	switch {
	case c.Type == Int32:
		v.Int = append(v.Int, int64(int32(x)))
	case c.Type == Float64:
		v.Int = append(v.Int, int64(math.Float64bits(float64(x))))
	case c.isNumber():
		v.Int = append(v.Int, int64(x))
	case null:
		v.Text.AppendBytes(nil)
	default:
		v.Text.AppendBytes(fmt.Append(nil, "text ", x))
	}
	switch {
	case null:
		v.needValid(i)
		v.Valid = v.Valid.AppendSame(i, 1, false)
	case v.Valid != nil:
		v.Valid = v.Valid.AppendSame(i, 1, true)
	}
}

// rows renders a vector, a text for each row.
func (v *Vector) rows(c *Column, n int) []string {
	out := make([]string, n)
	for i := range out {
		switch {
		case v.IsNull(i):
			out[i] = "null"
		case c.Enum != nil:
			out[i] = c.Enum[v.Int[i]]
		case c.Type == Uint64:
			out[i] = fmt.Sprint(uint64(v.Int[i]))
		case c.Type.IsInt():
			out[i] = fmt.Sprint(v.Int[i])
		case c.Type.IsFloat():
			out[i] = fmt.Sprint(math.Float64frombits(uint64(v.Int[i])))
		default:
			out[i] = string(v.Text.Get(i))
		}
	}
	return out
}

// write writes a file of n random rows in chunks and returns it with its rows.
func write(t testing.TB, opt Options, n, chunk int) ([]byte, [][]string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var b bytes.Buffer
	w := NewWriter(&b, columns, opt)
	w.SetMetadata("key", "value")
	want := make([][]string, len(columns))
	for i := 0; i < n; i += chunk {
		c := Chunk{N: min(chunk, n-i), Cols: make([]Vector, len(columns))}
		for k := range columns {
			c.Cols[k] = randomVector(rng, &columns[k], c.N)
			want[k] = append(want[k], c.Cols[k].rows(&columns[k], c.N)...)
		}
		if err := w.Append(&c); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), want
}

func open(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readAll reads all columns by row groups.
func readAll(f *File) (rows [][]string, err error) {
	for k, c := range f.Columns() {
		if k < len(columns) {
			c.Enum = columns[k].Enum
		}
		var all []string
		var v Vector
		for g := range f.Groups() {
			if err := f.ReadColumn(g, c.Name, c.Enum, &v); err != nil {
				return nil, err
			}
			all = append(all, v.rows(&c, int(f.GroupRows(g)))...)
		}
		rows = append(rows, all)
	}
	return rows, nil
}

// TestReadSmall compares what ReadInt32 and ReadNumbered read with what ReadColumn
// does.
func TestReadSmall(t *testing.T) {
	b, _ := write(t, Options{Sealed: true, GroupRows: 3000}, 10000, 1000)
	f := open(t, b)
	numbered := 0
	for k, c := range f.Columns() {
		c.Enum = columns[k].Enum
		for g := range f.Groups() {
			n := int(f.GroupRows(g))
			var wide, small Vector
			if err := f.ReadColumn(g, c.Name, c.Enum, &wide); err != nil {
				t.Fatal(err)
			}
			var err error
			switch {
			case c.Type.IsFloat() || c.Type == Int64 || c.Type == Uint64 || c.Type == Uint32:
				continue
			case c.isNumber():
				err = f.ReadInt32(g, c.Name, c.Enum, &small)
				for _, x := range small.Int32 {
					small.Int = append(small.Int, int64(x))
				}
			default:
				var dict *event.Dict
				if dict, err = f.ReadNumbered(g, c.Name, &small); dict != nil {
					numbered++
					for _, x := range small.Int32 {
						small.Text.AppendBytes(dict.Data[dict.Offsets[x]:dict.Offsets[x+1]])
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, want := small.rows(&c, n), wide.rows(&c, n); !slices.Equal(got, want) {
				t.Fatalf("column %q: %q instead of %q", c.Name, got, want)
			}
		}
	}
	if numbered == 0 {
		t.Error("no column has numbers")
	}
	var v Vector
	if err := f.ReadInt32(0, "text", nil, &v); err == nil {
		t.Error("strings were read as numbers")
	}
}

// scanAll reads rows of all columns with Scan.
func scanAll(t testing.TB, f *File, rows [2]int64, chunk int) [][]string {
	t.Helper()
	cols := f.Columns()
	got := make([][]string, len(cols))
	names := make([]string, len(cols))
	for i := range cols {
		names[i] = cols[i].Name
	}
	err := f.Scan(names, rows, chunk, func(c *Chunk) error {
		if c.N > chunk || c.N == 0 {
			t.Fatalf("chunk of %d rows", c.N)
		}
		for k := range c.Cols {
			got[k] = append(got[k], c.Cols[k].rows(&cols[k], c.N)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func compare(t testing.TB, got, want [][]string) {
	t.Helper()
	for k := range want {
		if len(got[k]) != len(want[k]) {
			t.Fatalf("%s: %d rows instead of %d", columns[k].Name, len(got[k]), len(want[k]))
		}
		for i := range want[k] {
			if got[k][i] != want[k][i] {
				t.Fatalf("%s: row %d is %q instead of %q", columns[k].Name, i, got[k][i], want[k][i])
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	const group = 1000
	for _, n := range []int{0, 1, 7, 8, 9, group - 1, group, group + 1, 2*group + 17} {
		for _, sealed := range []bool{false, true} {
			b, want := write(t, Options{GroupRows: group, Sealed: sealed}, n, 333)
			f := open(t, b)
			if f.Rows() != int64(n) || f.Sealed() != sealed {
				t.Fatal(f.Rows(), f.Sealed())
			}
			if v, _ := f.Metadata("key"); v != "value" {
				t.Errorf("metadata: %q", v)
			}
			got, err := readAll(f)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, want)
			compare(t, scanAll(t, f, All, 64), want)
			for range 20 {
				from := rand.IntN(n + 1)
				to := from + rand.IntN(n+2-from)
				part := make([][]string, len(want))
				for k := range part {
					part[k] = want[k][min(from, n):min(to, n)]
				}
				compare(t, scanAll(t, f, [2]int64{int64(from), int64(to)}, 300), part)
			}
		}
	}
}

func TestPages(t *testing.T) {
	n := 2*pageRows + 100
	b, want := write(t, Options{GroupRows: 4 * pageRows, Sealed: true}, n, 10000)
	got, err := readAll(open(t, b))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, want)
}

// TestLibraryReads reads what is written with the library's own reader.
func TestLibraryReads(t *testing.T) {
	b, want := write(t, Options{GroupRows: 1000, Sealed: true}, 2500, 333)
	f, err := lib.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		defer rows.Close()
		buf := make([]lib.Row, 100)
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				for k, v := range r {
					if got := libText(&columns[k], v); got != want[k][row] {
						t.Fatalf("row %d, column %s: %q instead of %q", row, columns[k].Name, got, want[k][row])
					}
				}
				row++
			}
			if err != nil {
				break
			}
		}
	}
	if row != 2500 {
		t.Errorf("%d rows", row)
	}
}

func libText(c *Column, v lib.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case v.Kind() == lib.Int32:
		return fmt.Sprint(v.Int32())
	case v.Kind() == lib.Double:
		return fmt.Sprint(v.Double())
	case v.Kind() == lib.ByteArray:
		return string(v.ByteArray())
	}
	return fmt.Sprint(v.Int64())
}

// exotic has what other writers write.
type exotic struct {
	Plain   int64    `parquet:"plain,plain"`
	Delta   int64    `parquet:"delta,delta"`
	Delta32 int32    `parquet:"delta32,delta"`
	Dict    *int64   `parquet:"dict,dict,optional"`
	U8      uint8    `parquet:"u8"`
	U32     uint32   `parquet:"u32"`
	U64     *uint64  `parquet:"u64,optional"`
	Bool    bool     `parquet:"bool"`
	F32     float32  `parquet:"f32"`
	F64     *float64 `parquet:"f64,optional"`
	Text    string   `parquet:"text"`
	DLen    string   `parquet:"dlen"`
	DText   *string  `parquet:"dtext,dict,optional"`
	Fixed   [4]byte  `parquet:"fixed"`
	List    []int32  `parquet:"list"`
	Last    int64    `parquet:"last"`
}

// TestReadsLibrary reads what the library's own writer writes, in all
// compressions and both versions of pages.
func TestReadsLibrary(t *testing.T) {
	const n = 3000
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]exotic, n)
	want := make([][]string, 14)
	for i := range rows {
		x := rng.Uint64()
		r := exotic{Plain: int64(x), Delta: int64(i) * 1000, Delta32: int32(x), U8: uint8(x), U32: uint32(x), Bool: x&1 != 0,
			F32: float32(x), Text: fmt.Sprint("t", x%100), Fixed: [4]byte{'a', byte(x), 'c', 'd'}, Last: -int64(i)}
		r.DLen = fmt.Sprint("prefix", x%77)
		texts := []string{"null", "null", "null", r.DLen, "null"}
		if x&2 != 0 {
			d, u, f, dt := int64(x%9), x, float64(x), fmt.Sprint("d", x%5)
			r.Dict, r.U64, r.F64, r.DText = &d, &u, &f, &dt
			texts = []string{fmt.Sprint(d), fmt.Sprint(u), fmt.Sprint(f), r.DLen, dt}
		}
		r.List = make([]int32, x%3)
		rows[i] = r
		b := "0"
		if r.Bool {
			b = "1"
		}
		for k, s := range []string{fmt.Sprint(r.Plain), fmt.Sprint(r.Delta), fmt.Sprint(r.Delta32), texts[0], fmt.Sprint(r.U8),
			fmt.Sprint(r.U32), texts[1], b, fmt.Sprint(float64(r.F32)), texts[2], r.Text, texts[3], texts[4], fmt.Sprint(r.Last)} {
			want[k] = append(want[k], s)
		}
	}
	for _, codec := range []lib.WriterOption{lib.Compression(&lib.Uncompressed), lib.Compression(&lib.Snappy), lib.Compression(&lib.Gzip),
		lib.Compression(&lib.Brotli), lib.Compression(&lib.Zstd), lib.Compression(&lib.Lz4Raw)} {
		for _, version := range []int{1, 2} {
			var b bytes.Buffer
			w := lib.NewGenericWriter[exotic](&b, codec, lib.DataPageVersion(version), lib.MaxRowsPerRowGroup(2000), lib.PageBufferSize(4000))
			if _, err := w.Write(rows); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f := open(t, b.Bytes())
			if cols := f.Columns(); len(cols) != 14 || f.Has("list") || f.Has("fixed") || cols[13].Name != "last" || cols[6].Type != Uint64 {
				t.Fatalf("columns %v", cols)
			}
			compare(t, scanAll(t, f, All, 777), want)
		}
	}
}

// TestDamage flips each byte of a sealed file: an error, or the same rows.
func TestDamage(t *testing.T) {
	b, want := write(t, Options{GroupRows: 100, Sealed: true}, 150, 150)
	if os.Getenv("HOSTBOUND_ALL") == "" {
		t.Skip("HOSTBOUND_ALL=1 takes it")
	}
	same := 0
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= []byte{0x01, 0x80, 0xff}[i%3]
		f, err := NewFile(bytes.NewReader(bad), int64(len(bad)))
		if err != nil || !f.Sealed() {
			continue
		}
		got, err := readAll(f)
		if err != nil {
			continue
		}
		same++
		compare(t, got, want)
	}
	t.Logf("%d bytes, %d flips that change nothing", len(b), same)
	for n := 0; n < len(b); n += 16 {
		if _, err := NewFile(bytes.NewReader(b[:n]), int64(n)); err == nil {
			t.Fatalf("%d bytes of %d are taken for a file", n, len(b))
		}
	}
}

func TestWriterErrors(t *testing.T) {
	w := NewWriter(&bytes.Buffer{}, []Column{{Name: "a", Type: Int64}}, Options{})
	if err := w.Append(&Chunk{N: 3, Cols: []Vector{{Int: []int64{1, 2, 3}, Valid: []byte{5}}}}); err == nil {
		t.Error("a null in a column that has none")
	}
	if w.Close() == nil {
		t.Error("closed after an error")
	}
	if err := NewWriter(failing{}, columns, Options{}).Close(); err == nil {
		t.Error("a failing file")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestManyStrings checks that a column of strings that all differ is not held
// twice, and that its dictionary stays small.
func TestManyStrings(t *testing.T) {
	var b builder
	var s event.Strings
	for i := range 200000 {
		s.AppendBytes(fmt.Appendf(nil, "some long literal text of a range that differs from all others by a number, %d", i))
	}
	if b.strings(&s) || len(b.numbers) > 4*maxDictionary {
		t.Errorf("a dictionary of %d strings", b.textValues.Len())
	}
	b.strings(&event.Strings{Offsets: []int32{0, 1, 2}, Data: []byte("aa")})
	if len(b.ofText) > 1<<12 || !slices.Equal(b.numbers, []int32{0, 0}) {
		t.Error("memory of the large dictionary is kept")
	}
}

// TestLongStrings checks that long strings do not make a row group too large to
// hold.
func TestLongStrings(t *testing.T) {
	cols := []Column{{Name: "text", Type: Text}}
	var b bytes.Buffer
	w := NewWriter(&b, cols, Options{Sealed: true})
	text := bytes.Repeat([]byte("0123456789"), 1<<16)
	const n = 200
	for range n {
		var v Vector
		v.Text.AppendBytes(text)
		if err := w.Append(&Chunk{N: 1, Cols: []Vector{v}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, b.Bytes())
	if f.Groups() < 2 || f.Rows() != n {
		t.Errorf("%d rows in %d row groups", f.Rows(), f.Groups())
	}
	rows := 0
	err := f.Scan([]string{"text"}, All, 10, func(c *Chunk) error {
		for i := range c.N {
			if !bytes.Equal(c.Cols[0].Text.Get(i), text) {
				t.Fatalf("row %d differs", rows+i)
			}
		}
		rows += c.N
		return nil
	})
	if err != nil || rows != n {
		t.Error(rows, err)
	}
}

// TestSplicedPages puts whole pages of one file into another, which no checksum
// of a page notices.
func TestSplicedPages(t *testing.T) {
	cols := []Column{{Name: "a", Type: Int64, Encoding: Delta}}
	make1 := func(first int64) []byte {
		var b bytes.Buffer
		w := NewWriter(&b, cols, Options{Sealed: true})
		w.Append(&Chunk{N: 3, Cols: []Vector{{Int: []int64{first, 2, 3}}}})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	whole := make1(1)
	spliced := 0
	for first := int64(2); first < 30; first++ {
		other := make1(first)
		f, g := open(t, whole), open(t, other)
		size := f.ChunkSize(0, "a")
		if g.ChunkSize(0, "a") != size { // the checksum in the page's header takes another number of bytes
			continue
		}
		bad := bytes.Clone(whole)
		copy(bad[len(magic):int64(len(magic))+size], other[len(magic):])
		var v Vector
		if err := open(t, bad).ReadColumn(0, "a", nil, &v); err == nil {
			t.Fatalf("read %d instead of 1", v.Int[0])
		}
		spliced++
	}
	if spliced == 0 {
		t.Error("no other file is of the same length")
	}
}
