package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// extra are columns that are not ours: three values each, as JSON.
var extra = []struct {
	typ  arrow.DataType
	rows string
}{
	{arrow.PrimitiveTypes.Float64, `[1.5, null, -2]`},
	{arrow.FixedWidthTypes.Boolean, `[true, null, false]`},
	{arrow.BinaryTypes.LargeString, `["a", null, "ccc"]`},
	{arrow.BinaryTypes.StringView, `["short", null, "longer than the twelve bytes inline"]`},
	{arrow.FixedWidthTypes.Timestamp_ns, `["2026-01-02", null, "2026-01-03"]`},
	{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `["YWI=", null, "Y2Q="]`},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["x", null, "y"]`},
	{arrow.ListOf(arrow.PrimitiveTypes.Int32), `[[1, 2], null, [3, null]]`},
	{arrow.LargeListOf(arrow.BinaryTypes.String), `[["a"], null, []]`},
	{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int64), `[[1, 2], null, [3, 4]]`},
	{arrow.StructOf(arrow.Field{Name: "p", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
		arrow.Field{Name: "q", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}), `[{"p": 1, "q": ["z"]}, null, {"p": null, "q": []}]`},
	{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), `[[{"key": "k", "value": 1}], null, []]`},
	{arrow.Null, `[null, null, null]`},
}

// extraKeys is the metadata of foreignRecord that is not ours.
var extraKeys = map[string]string{"theirs": "kept", "hostbound.future": "too"}

// foreignRecord returns our columns and the extra ones, which stand between
// ours, as Arrow would have them from somebody else.
func foreignRecord(t testing.TB, b *event.Batch, h *event.Header, types map[string]arrow.DataType, extras int) arrow.Record {
	t.Helper()
	withExtra := *h
	withExtra.Extra = extraKeys
	meta := encodeHeader(&withExtra)
	var fields []arrow.Field
	var cols []arrow.Array
	shown := table.FromEvents(h, b)
	for k := range extras {
		arr, _, err := array.FromJSON(memory.DefaultAllocator, extra[k].typ, strings.NewReader(extra[k].rows))
		if err != nil {
			t.Fatal(err)
		}
		for arr.Len() < b.Len {
			if arr, err = array.Concatenate([]arrow.Array{arr, arr}, memory.DefaultAllocator); err != nil {
				t.Fatal(err)
			}
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("extra%d", k), Type: extra[k].typ, Nullable: k > 0,
			Metadata: arrow.NewMetadata([]string{"unit"}, []string{"furlong"})})
		cols = append(cols, array.NewSlice(arr, 0, int64(b.Len)))
	}
	for i := range shown.Columns {
		c := &shown.Columns[i]
		typ, ok := types[c.Name]
		if !ok {
			typ = map[table.Type]arrow.DataType{table.Text: arrow.BinaryTypes.String, table.Int: arrow.PrimitiveTypes.Int64}[c.Type]
		}
		arr := columnAs(t, c, typ, b.Len)
		at := len(cols) / 2
		fields = append(fields[:at], append([]arrow.Field{{Name: c.Name, Type: typ, Nullable: true}}, fields[at:]...)...)
		cols = append(cols[:at], append([]arrow.Array{arr}, cols[at:]...)...)
	}
	return array.NewRecord(arrow.NewSchema(fields, &meta), cols, int64(b.Len))
}

// columnAs returns a column of a table as an array of some type. Dictionaries
// number their values from the last row on.
func columnAs(t testing.TB, c *table.Column, typ arrow.DataType, n int) arrow.Array {
	t.Helper()
	dict, ok := typ.(*arrow.DictionaryType)
	if !ok {
		bld := array.NewBuilder(memory.DefaultAllocator, typ)
		for row := range n {
			if c.Null(row) {
				bld.AppendNull()
			} else if err := bld.AppendValueFromString(fmt.Sprint(c.Value(row))); err != nil {
				t.Fatal(err)
			}
		}
		return bld.NewArray()
	}
	codes := table.New("", 0, table.Field{Name: c.Name, Type: table.Int})
	values := table.New("", 0, table.Field{Name: c.Name, Type: table.Text})
	seen := map[string]int{}
	for row := n - 1; row >= 0; row-- {
		if v := string(c.Values.Strings.Get(row)); !c.Null(row) && seen[v] == 0 {
			values.Append(v)
			seen[v] = values.Len()
		}
	}
	for row := range n {
		if c.Null(row) {
			codes.Append(nil)
		} else {
			codes.Append(seen[string(c.Values.Strings.Get(row))] - 1)
		}
	}
	return array.NewDictionaryArray(typ, columnAs(t, &codes.Columns[0], dict.IndexType, n),
		columnAs(t, &values.Columns[0], dict.ValueType, values.Len()))
}

func encodeRecord(t testing.TB, rec arrow.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func foreignStream(t testing.TB, extras int) []byte {
	b := randomBatch(seeded(4), 3, event.BaseCols, 3)
	return encodeRecord(t, foreignRecord(t, b, testHeader(event.BaseCols), nil, extras))
}

func TestStreamsThatOthersWrote(t *testing.T) {
	dict := func(index, value arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: value}
	}
	text, long := arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString
	for name, types := range map[string]map[string]arrow.DataType{
		"plain":        {},
		"long texts":   {"kind": long, "class": long, "name": long, "domain": long, "phase": long},
		"dictionaries": {"kind": dict(arrow.PrimitiveTypes.Int8, text), "class": dict(arrow.PrimitiveTypes.Uint16, long), "name": dict(arrow.PrimitiveTypes.Int32, text), "domain": dict(arrow.PrimitiveTypes.Uint64, text), "phase": dict(arrow.PrimitiveTypes.Int64, long)},
		"narrow":       {"rank": arrow.PrimitiveTypes.Uint32, "device": arrow.PrimitiveTypes.Int32, "start": arrow.PrimitiveTypes.Int16, "end": arrow.PrimitiveTypes.Uint16},
	} {
		h := testHeader(allCols &^ event.StackCols)
		want := randomBatch(seeded(6), 100, h.Columns, 3)
		gotHeader, got, err := readAll(bytes.NewReader(encodeRecord(t, foreignRecord(t, want, h, types, 0))))
		if err == nil {
			err = differ(got, want)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		h.Extra = extraKeys
		sameHeader(t, gotHeader, h)
	}
}

func TestNumbersThatDoNotFit(t *testing.T) {
	h := testHeader(event.BaseCols)
	b := randomBatch(seeded(6), 10, event.BaseCols, 3)
	rec := foreignRecord(t, b, h, map[string]arrow.DataType{"rank": arrow.PrimitiveTypes.Int64}, 0)
	at := rec.Schema().FieldIndices("rank")[0]
	bld := array.NewInt64Builder(memory.DefaultAllocator)
	for range 10 {
		bld.Append(1 << 31)
	}
	rec, err := rec.SetColumn(at, bld.NewArray())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = readAll(bytes.NewReader(encodeRecord(t, rec)))
	if err == nil || !strings.Contains(err.Error(), "column rank: 2147483648 in row 0 is out of range") {
		t.Error(err)
	}
}

// TestForeignColumnsSurvive takes a stream through what isolate does: rows go
// over into another batch, one by one and in ranges, with rows of its own
// between them.
func TestForeignColumnsSurvive(t *testing.T) {
	h := testHeader(event.BaseCols)
	rec := foreignRecord(t, randomBatch(seeded(4), 50, event.BaseCols, 3), h, nil, len(extra))
	in, err := openEvents(bytes.NewReader(encodeRecord(t, rec)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	next := new(event.Batch)
	next.Reset(b.Columns)
	var from []int // the row of each row, -1 for our own
	take := func(i, j int) {
		next.AppendRange(b, i, j)
		for ; i < j; i++ {
			from = append(from, i)
		}
	}
	blank := func() { next.AppendNulls(); from = append(from, -1) }
	blank()
	take(0, 1)
	take(1, 2)
	take(2, 20)
	blank()
	blank()
	take(20, 50)
	take(3, 5)
	take(1, 2)
	if _, err := in.Next(); err != io.EOF {
		t.Fatal(err)
	}
	out := encode(t, in.Header(), next.Slice(0, 24), next.Slice(24, next.Len))
	checkForeign(t, out, rec, from)
}

// checkForeign makes sure that the rows of a stream have the foreign values of
// the rows of rec that from names.
func checkForeign(t *testing.T, stream []byte, rec arrow.Record, from []int) {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	meta := r.Schema().Metadata().ToMap()
	if meta["theirs"] != "kept" || meta["hostbound.future"] != "too" {
		t.Errorf("metadata %v", meta)
	}
	for _, f := range r.Schema().Fields()[event.ColStep:] {
		if unit, _ := f.Metadata.GetValue("unit"); !f.Nullable || unit != "furlong" {
			t.Errorf("field %v", f)
		}
	}
	row := 0
	for ; r.Next(); row += int(r.Record().NumRows()) {
		for k := range extra {
			got := r.Record().Column(int(event.ColStep) + k)
			want := rec.Column(rec.Schema().FieldIndices(fmt.Sprintf("extra%d", k))[0])
			for i := range got.Len() {
				w := array.NullValueStr
				if from[row+i] >= 0 {
					w = want.ValueStr(from[row+i])
				}
				if g := got.ValueStr(i); g != w {
					t.Fatalf("%s row %d: %s, want %s", got.DataType(), row+i, g, w)
				}
			}
		}
	}
	if r.Err() != nil || row != len(from) {
		t.Errorf("%d rows of %d: %v", row, len(from), r.Err())
	}
}

func TestForeignColumnsAreCutBack(t *testing.T) {
	in, err := openEvents(bytes.NewReader(foreignStream(t, 1)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	c := b.Foreign[0].Slice(0, 3).Append(1, b.Foreign[0], 2, 3).(*column)
	if text, ok := c.Text(1); c.n != 2 || text != "-2" || !ok {
		t.Errorf("%d rows, the second %q", c.n, text)
	}
}

func TestLargeBatchesOfOthers(t *testing.T) {
	h := testHeader(event.BaseCols)
	b := randomBatch(seeded(6), event.MaxBatchRows+9, event.BaseCols, 3)
	_, got, err := readAll(bytes.NewReader(encodeRecord(t, foreignRecord(t, b, h, nil, 1))))
	if err == nil {
		got.Foreign = nil
		err = differ(got, b)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestDictionariesThatChange(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	types := map[string]arrow.DataType{"kind": dict, "class": dict, "name": dict, "domain": dict}
	h := testHeader(event.BaseCols)
	one := randomBatch(seeded(6), 9, event.BaseCols, 3)
	two := join(event.BaseCols, randomBatch(seeded(7), 3, event.BaseCols, 3), one)
	for _, deltas := range []bool{false, true} {
		var out bytes.Buffer
		rec := foreignRecord(t, one, h, types, 0)
		w := ipc.NewWriter(&out, ipc.WithSchema(rec.Schema()), ipc.WithDictionaryDeltas(deltas))
		for _, b := range []*event.Batch{one, two} {
			if err := w.Write(foreignRecord(t, b, h, types, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, got, err := readAll(&out)
		if err == nil {
			err = differ(got, join(event.BaseCols, one, two))
		}
		if err != nil {
			t.Errorf("deltas %v: %v", deltas, err)
		}
	}
}

func TestTwoColumnsOfOneName(t *testing.T) {
	rec := foreignRecord(t, randomBatch(seeded(6), 9, event.BaseCols, 3), testHeader(event.BaseCols), nil, 1)
	fields := rec.Schema().Fields()
	meta := rec.Schema().Metadata()
	fields[rec.Schema().FieldIndices("extra0")[0]].Name = "rank"
	twice := array.NewRecord(arrow.NewSchema(fields, &meta), rec.Columns(), rec.NumRows())
	if _, err := openEvents(bytes.NewReader(encodeRecord(t, twice))); err == nil || !strings.Contains(err.Error(), "two columns rank") {
		t.Error(err)
	}
}

func TestForeignMemoryIsLimited(t *testing.T) {
	h := testHeader(event.BaseCols)
	rec := foreignRecord(t, randomBatch(seeded(6), 500, event.BaseCols, 3), h, nil, 2)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(rec.Schema()))
	for range 10 {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(stream []byte) error {
		m := newMessages(bytes.NewReader(stream))
		m.limit = 128 << 10
		in, err := eventsOf(m)
		for err == nil {
			_, err = in.Next()
		}
		return err
	}
	if err := read(out.Bytes()); err != io.EOF {
		t.Errorf("ten batches, each below the limit: %v", err)
	}
	bad := patch(t, out.Bytes(), recordMessage, func(meta []byte, f *flat, header flatTable) {
		start, count := header.vector(2, 16)
		root := f.root()
		body := root.i64(3)
		for p := start; p < start+16*count; p += 16 {
			if f.i64(p+8) > 0 { // every buffer is the whole body
				binary.LittleEndian.PutUint64(meta[p:], 0)
				binary.LittleEndian.PutUint64(meta[p+8:], uint64(body))
			}
		}
	})
	if err := read(bad); err == nil || !strings.Contains(err.Error(), "too much memory") {
		t.Errorf("buffers that overlap: %v", err)
	}
}

// TestForeignArraysOfAnotherLength has a column that claims rows which the
// batch lacks, as many as it likes.
func TestForeignArraysOfAnotherLength(t *testing.T) {
	bad := patch(t, foreignStream(t, 2), recordMessage, func(meta []byte, _ *flat, header flatTable) {
		start, count := header.vector(1, 16) // extra1 comes last
		binary.LittleEndian.PutUint64(meta[start+16*(count-1):], 1<<40)
	})
	if _, _, err := readAll(bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "column extra1: it has 1099511627776 rows, its batch 3") {
		t.Error(err)
	}
}

func TestForeignColumnsAreShown(t *testing.T) {
	in, err := openEvents(bytes.NewReader(foreignStream(t, 2)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	shown := table.FromEvents(in.Header(), b)
	if shown.Text(0, "extra0") != "1.5" || shown.Value(1, "extra0") != nil || shown.Text(2, "extra1") != "false" {
		t.Errorf("%v", shown.Column("extra0"))
	}
}

// Stacks have to be known before the first row: a dictionary says them, of any
// numbering, and plain text does not.
func TestStacksThatOthersWrote(t *testing.T) {
	h := testHeader(event.BaseCols | event.StackCols)
	want := randomBatch(seeded(6), 100, h.Columns, 3)
	dict := map[string]arrow.DataType{"stack": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.LargeString}}
	header, got, err := readAll(bytes.NewReader(encodeRecord(t, foreignRecord(t, want, h, dict, 0))))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Len {
		g, gotOK := got.Stack.Get(i)
		w, wantOK := want.Stack.Get(i)
		if gotOK != wantOK || gotOK && header.Stacks[g] != h.Stacks[w] {
			t.Errorf("row %d: stack %d, want %d", i, g, w)
		}
	}
	if _, _, err = readAll(bytes.NewReader(encodeRecord(t, foreignRecord(t, want, h, nil, 0)))); err == nil || !strings.Contains(err.Error(), "stack is of type utf8") {
		t.Errorf("stacks as text: %v", err)
	}
}
