package arrow

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// plains are columns with the values that they have as plain ones, "null" for
// null.
var plains = []struct {
	typ   arrow.DataType
	rows  string
	plain event.PlainType
	want  []string
}{
	{arrow.PrimitiveTypes.Int8, `[-128, null, 127]`, event.PlainInt, []string{"-128", "null", "127"}},
	{arrow.PrimitiveTypes.Int16, `[-32768, null, 32767]`, event.PlainInt, []string{"-32768", "null", "32767"}},
	{arrow.PrimitiveTypes.Int32, `[-2147483648, null, 7]`, event.PlainInt, []string{"-2147483648", "null", "7"}},
	{arrow.PrimitiveTypes.Int64, `[-9223372036854775808, null, 9223372036854775807]`, event.PlainInt,
		[]string{"-9223372036854775808", "null", "9223372036854775807"}},
	{arrow.PrimitiveTypes.Uint8, `[255, null, 0]`, event.PlainInt, []string{"255", "null", "0"}},
	{arrow.PrimitiveTypes.Uint16, `[65535, null, 0]`, event.PlainInt, []string{"65535", "null", "0"}},
	{arrow.PrimitiveTypes.Uint32, `[4294967295, null, 0]`, event.PlainInt, []string{"4294967295", "null", "0"}},
	{arrow.PrimitiveTypes.Uint64, `[18446744073709551615, null, 0]`, event.PlainText, []string{"18446744073709551615", "null", "0"}},
	{arrow.FixedWidthTypes.Float16, `[1.5, null, -2]`, event.PlainFloat, []string{"1.5", "null", "-2"}},
	{arrow.PrimitiveTypes.Float32, `[1.5, null, -2]`, event.PlainFloat, []string{"1.5", "null", "-2"}},
	{arrow.PrimitiveTypes.Float64, `[0.1, null, -1e300]`, event.PlainFloat, []string{"0.1", "null", "-1e+300"}},
	{arrow.FixedWidthTypes.Boolean, `[true, null, false]`, event.PlainText, []string{"true", "null", "false"}},
	{arrow.BinaryTypes.String, `["(null)", null, ""]`, event.PlainText, []string{"(null)", "null", ""}},
	{arrow.BinaryTypes.LargeString, `["a", null, "é"]`, event.PlainText, []string{"a", "null", "é"}},
	{arrow.BinaryTypes.Binary, `["YWI=", null, ""]`, event.PlainText, []string{"YWI=", "null", ""}},
	{arrow.FixedWidthTypes.Date32, `["2026-01-02", null, "2026-01-03"]`, event.PlainText, []string{"2026-01-02", "null", "2026-01-03"}},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}, `["x", null, "y"]`, event.PlainText, []string{"x", "null", "y"}},
	{arrow.ListOf(arrow.PrimitiveTypes.Int32), `[[1, 2], null, [3, null]]`, event.PlainText, []string{"[1,2]", "null", "[3,null]"}},
	{arrow.StructOf(arrow.Field{Name: "p", Type: arrow.PrimitiveTypes.Int16, Nullable: true}), `[{"p": 1}, null, {"p": null}]`, event.PlainText,
		[]string{`{"p":1}`, "null", `{"p":null}`}},
	{arrow.Null, `[null, null, null]`, event.PlainText, []string{"null", "null", "null"}},
}

// inPlain puts the values of a plain column as text.
func inPlain(p *event.Plain) []string {
	words := make([]string, p.Len())
	for i := range words {
		text, ok := p.Text(i)
		if words[i] = text; !ok {
			words[i] = "null"
		}
	}
	return words
}

// TestPlainOut takes columns of all types apart, puts them together with nulls
// between them, and makes them plain.
func TestPlainOut(t *testing.T) {
	for _, c := range plains {
		arr, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.rows), array.WithUseNumber())
		if err != nil {
			t.Fatal(err)
		}
		all := &column{typ: c.typ, n: 3, parts: []part{{arr, 0, 3}}}
		col := all.Slice(0, 0).Append(0, all, 0, 3).Append(3, nil, 0, 9).Append(12, all, 1, 3).Append(14, all, 0, 1)
		want := append(append([]string{}, c.want...), strings.Split(strings.Repeat("null ", 9), " ")[:9]...)
		want = append(append(want, c.want[1:]...), c.want[0])
		p := col.(*column).Plain()
		if got := inPlain(p); p.Type != c.plain || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: type %d, %q instead of type %d, %q", c.typ, p.Type, got, c.plain, want)
		}
		none := all.Slice(1, 1).(*column).Plain()
		one := all.Slice(2, 3).(*column).Plain()
		if none.Len() != 0 || none.Valid != nil || one.Len() != 1 || one.Valid != nil && c.typ.ID() != arrow.NULL {
			t.Errorf("%s: no row %+v, one row %+v", c.typ, none, one)
		}
	}
}

// TestPlainNullsBelow has nulls that the array itself knows nothing of.
func TestPlainNullsBelow(t *testing.T) {
	values := array.NewStringBuilder(memory.DefaultAllocator)
	values.AppendValues([]string{"x", ""}, []bool{true, false})
	codes := array.NewInt8Builder(memory.DefaultAllocator)
	codes.AppendValues([]int8{1, 0, 1}, nil)
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	below := values.NewArray()
	ends := array.NewInt32Builder(memory.DefaultAllocator)
	ends.AppendValues([]int32{2, 3}, nil)
	for _, c := range []struct {
		arr  arrow.Array
		want []string
	}{
		{array.NewDictionaryArray(typ, codes.NewArray(), below), []string{"null", "x", "null"}},
		{array.NewRunEndEncodedArray(ends.NewArray(), below, 3, 0), []string{"x", "x", "null"}},
	} {
		col := &column{typ: c.arr.DataType(), n: 3, parts: []part{{c.arr, 0, 3}}}
		if got := inPlain(col.Plain()); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q instead of %q", c.arr.DataType(), got, c.want)
		}
	}
}

// TestPlainNullsAreZero has nulls with a value after them.
func TestPlainNullsAreZero(t *testing.T) {
	buffers := []*memory.Buffer{memory.NewBufferBytes([]byte{1}), buffer([]int64{5, 6})}
	arr := array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, 2, buffers, nil, 1, 0))
	col := &column{typ: arr.DataType(), n: 2, parts: []part{{arr, 0, 2}}}
	if got := col.Plain().Ints; !reflect.DeepEqual(got, []int64{5, 0}) {
		t.Errorf("%d", got)
	}
}

func TestPlainStringsAreLimited(t *testing.T) {
	arr, _, err := array.FromJSON(memory.DefaultAllocator, arrow.BinaryTypes.String, strings.NewReader(`["aa", "bbb", "c"]`))
	if err != nil {
		t.Fatal(err)
	}
	col := &column{typ: arr.DataType(), n: 3, parts: []part{{arr, 0, 3}}}
	p, err := col.plain(4)
	values, valid := p.Strings, p.Valid
	if got := inPlain(&event.Plain{Strings: values, Valid: valid}); !reflect.DeepEqual(got, []string{"aa", "null", "c"}) || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPlainNamesDiffer(t *testing.T) {
	f := &foreign{}
	for _, name := range []string{"x", "x", "y", "x_2", "x", ""} {
		f.fields = append(f.fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int8})
	}
	for i, want := range []string{"x", "x_3", "y", "x_2", "x_4", ""} {
		if got := f.PlainFields()[i].Name; got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

// plainFields and plainColumns are one column of each type; every third row is
// null, but none of the first eight.
var plainFields = event.PlainFields{{Name: "note", Type: event.PlainText}, {Name: "mark", Type: event.PlainInt}, {Name: "weight", Type: event.PlainFloat}}

func plainColumns(n int) []event.Foreign {
	cols := make([]event.Foreign, len(plainFields))
	for k, f := range plainFields {
		one := &event.Plain{Type: f.Type, Strings: event.Strings{Offsets: []int32{0}}}
		cols[k] = one.Slice(0, 0)
		for i := range n {
			if i > 8 && i%3 == 0 {
				cols[k] = cols[k].Append(i, nil, 0, 1)
				continue
			}
			value := &event.Plain{Type: f.Type, Ints: []int64{math.MaxInt64 - int64(i)}}
			if f.Type == event.PlainFloat {
				value.Ints[0] = int64(math.Float64bits(float64(i) / 4))
			}
			value.Strings.Append(fmt.Sprint("note ", i))
			cols[k] = cols[k].Append(i, value, 0, 1)
		}
	}
	return cols
}

// TestPlainIn writes plain columns, whole and in pieces, and a batch without
// them.
func TestPlainIn(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 100, event.MaxBatchRows - 1, event.MaxBatchRows, event.MaxBatchRows + 1} {
		h := testHeader(event.BaseCols)
		h.Foreign = plainFields
		b := randomBatch(seeded(8), n, event.BaseCols, 3)
		b.Foreign = plainColumns(n)
		without := randomBatch(seeded(9), 5, event.BaseCols, 3)
		got, all, err := readAll(bytes.NewReader(encode(t, h, without, b, b.Slice(n/2&^7, n))))
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		if fields := got.Foreign.(*foreign).PlainFields(); !reflect.DeepEqual(fields, plainFields) {
			t.Errorf("%d rows: columns %v", n, fields)
		}
		for k, f := range b.Foreign {
			none := f.Slice(0, 0).Append(0, nil, 0, 5)
			want := none.Append(5, f, 0, n).Append(5+n, f, n/2&^7, n)
			if p := all.Foreign[k].(*column).Plain(); !reflect.DeepEqual(inPlain(p), inPlain(want.(*event.Plain))) {
				t.Errorf("%d rows: column %s changed", n, plainFields[k].Name)
			}
		}
	}
}

// TestPlainTypes looks at such a stream with Arrow's eyes.
func TestPlainTypes(t *testing.T) {
	h := testHeader(event.BaseCols)
	h.Foreign = event.PlainFields{{Name: "b\xffd", Type: event.PlainText}, plainFields[1], plainFields[2]}
	b := randomBatch(seeded(8), 10, event.BaseCols, 3)
	b.Foreign = plainColumns(10)
	bad := event.Strings{}
	for range 10 {
		bad.AppendBytes([]byte("a\xff\xfeb"))
	}
	b.Foreign[0] = &event.Plain{Strings: bad}
	r, err := ipc.NewReader(bytes.NewReader(encode(t, h, b)))
	if err != nil || !r.Next() {
		t.Fatal(err)
	}
	for k, want := range []string{
		"b\ufffdd: type=utf8, nullable a\ufffdb", "mark: type=int64, nullable (null)", "weight: type=float64, nullable (null)"} {
		i := int(event.ColStep) + k
		if got := fmt.Sprint(r.Schema().Field(i), " ", r.Record().Column(i).ValueStr(9)); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

// writePlain writes a batch with its foreign columns as plain ones, as if it
// came through another format, and reads that back.
func writePlain(t testing.TB, h *event.Header, b *event.Batch) {
	t.Helper()
	there, plain := *h, *b
	fields := h.Foreign.(*foreign).PlainFields()
	there.Foreign, plain.Foreign = fields, nil
	for _, f := range b.Foreign {
		plain.Foreign = append(plain.Foreign, f.(*column).Plain())
	}
	got, all, err := readAll(bytes.NewReader(encode(t, &there, &plain)))
	if err != nil {
		t.Fatal(err)
	}
	for k := range fields {
		want := plain.Foreign[k].(*event.Plain)
		back := all.Foreign[k].(*column).Plain()
		if back.Type != fields[k].Type || got.Foreign.(*foreign).fields[k].Name != strings.ToValidUTF8(fields[k].Name, "\ufffd") {
			t.Fatalf("column %v: %v, type %d", fields[k], got.Foreign, back.Type)
		}
		for i, w := range inPlain(want)[:b.Len] {
			if g := inPlain(back.Slice(i, i+1).(*event.Plain))[0]; g != strings.ToValidUTF8(w, "\ufffd") {
				t.Fatalf("column %v row %d: %q instead of %q", fields[k], i, g, w)
			}
		}
	}
}

func TestPlainThereAndBack(t *testing.T) {
	in, err := openEvents(bytes.NewReader(foreignStream(t, len(extra))))
	if err != nil {
		t.Fatal(err)
	}
	b, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	writePlain(t, in.Header(), b)
	if _, err := in.Next(); err != io.EOF {
		t.Fatal(err)
	}
}

func TestDomainsAreUTF8(t *testing.T) {
	h := testHeader(event.BaseCols)
	h.Domains = []string{"a\xff\xfeb", "c"}
	b := randomBatch(seeded(8), 2, event.BaseCols, 2)
	b.Domain.Set(0, 0)
	b.Domain.Set(1, 1)
	got, all, err := readAll(bytes.NewReader(encode(t, h, b)))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a\ufffdb", "c"}; !reflect.DeepEqual(got.Domains, want) || all.Domain.Values[0] != 0 || all.Domain.Values[1] != 1 {
		t.Errorf("%q, %v", got.Domains, all.Domain.Values)
	}
}
