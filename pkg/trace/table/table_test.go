package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

func sample() *Table {
	t := New("metrics", 1, Field{"name", Text}, Field{"n", Int}, Field{"ratio", Float}, Field{"crossed", Bool})
	t.Append("gpu_idle", int32(3), 1.0/3, true)
	t.Append("a,\"b\"\n", nil, 2e-9, nil)
	t.Append(nil, int64(math.MinInt64), nil, false)
	t.Append("", 0, 1234567890.0, true)
	return t
}

// writeAll writes tables as one.
func writeAll(w io.Writer, format Format, tables ...*Table) error {
	out := NewWriter(w, format)
	for _, t := range tables {
		if err := out.Write(t); err != nil {
			return err
		}
	}
	return out.Close()
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	if err := writeAll(&out, CSV, sample(), sample()); err != nil {
		t.Fatal(err)
	}
	rows := "gpu_idle,3,0.3333333333333333,true\n" +
		"\"a,\"\"b\"\"\\n\",,2e-09,\n" +
		",-9223372036854775808,,false\n" +
		"\"\",0,1234567890,true\n"
	if want := "name,n,ratio,crossed\n" + rows + rows; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if all, err := csv.NewReader(&out).ReadAll(); err != nil || len(all) != 9 || all[2][0] != `a,"b"\n` {
		t.Errorf("read back as %q: %v", all, err)
	}
}

// TestCSVOnTerminals writes what a terminal would obey, and broken UTF-8.
// A text that a spreadsheet would run has an apostrophe before it, a number has none.
func TestCSVFormulas(t *testing.T) {
	tbl := New("names", 1, Field{"name", Text}, Field{"n", Int})
	for _, s := range []string{"=1+1", "+cmd", "-x", "@SUM(A1,B1)", "-1.5e3", "+7", "a=b"} {
		tbl.Append(s, -1)
	}
	var out bytes.Buffer
	if err := writeAll(&out, CSV, tbl); err != nil {
		t.Fatal(err)
	}
	if want := "name,n\n'=1+1,-1\n'+cmd,-1\n'-x,-1\n\"'@SUM(A1,B1)\",-1\n-1.5e3,-1\n+7,-1\na=b,-1\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestCSVOnTerminals(t *testing.T) {
	tbl := New("names", 1, Field{"name", Text})
	tbl.Append("\x1b[31mred\x07\u009b1m\xff\u202e")
	tbl.Append("C:\\größe ☃")
	var out bytes.Buffer
	if err := writeAll(&out, CSV, tbl); err != nil {
		t.Fatal(err)
	}
	if want := "name\n" + `\x1b[31mred\a\u009b1m\xff\u202e` + "\n" + `C:\größe ☃` + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestJSON(t *testing.T) {
	tbl := sample()
	tbl.Append("tab\t<&>\u2028 ☃ \xff", nil, math.NaN(), nil)
	tbl.Append("inf", nil, math.Inf(-1), nil)
	var out bytes.Buffer
	if err := writeAll(&out, JSON, tbl); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if want := `{"schema":"metrics/1","name":"gpu_idle","n":3,"ratio":0.3333333333333333,"crossed":true}`; lines[0] != want {
		t.Errorf("%s, want %s", lines[0], want)
	}
	if want := `{"schema":"metrics/1","name":null,"n":-9223372036854775808,"ratio":null,"crossed":false}`; lines[2] != want {
		t.Errorf("%s, want %s", lines[2], want)
	}
	for i, line := range lines {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil || len(v) != 5 {
			t.Errorf("line %d %s: %v", i, line, err)
		}
	}
	if !strings.Contains(lines[4], `<&>`) || !strings.Contains(lines[4], `"ratio":null`) {
		t.Error(lines[4])
	}
}

// A column that is called schema keeps its values: a reader has one key of that name.
func TestJSONOfAColumnNamedSchema(t *testing.T) {
	tbl := New("events", 2, Field{"schema", Text}, Field{"n", Int})
	tbl.Append("s", 1)
	var out bytes.Buffer
	if err := writeAll(&out, JSON, tbl); err != nil || out.String() != `{"schema":"s","n":1}`+"\n" {
		t.Errorf("%s: %v", out.String(), err)
	}
}

func TestHeaderOfAnEmptyTable(t *testing.T) {
	empty := New("s", 1, Field{"a", Text}, Field{"b", Int})
	for format, want := range map[Format]string{CSV: "a,b\n", JSON: ""} {
		var out bytes.Buffer
		if err := writeAll(&out, format, empty, empty); err != nil || out.String() != want {
			t.Errorf("format %d: %q, %v, want %q", format, out.String(), err, want)
		}
	}
}

func TestTablesOfDifferentColumns(t *testing.T) {
	other := New("s", 1, Field{"a", Text})
	if err := writeAll(&bytes.Buffer{}, CSV, sample(), other); err == nil {
		t.Error("no error")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

func TestWriteErrorsAreReported(t *testing.T) {
	for _, format := range []Format{CSV, JSON} {
		if err := writeAll(fullDisk{}, format, sample()); err == nil {
			t.Errorf("format %d: no error from a full disk", format)
		}
	}
}

func TestAccess(t *testing.T) {
	tbl := sample()
	x := 2.5
	tbl.Append("p", (*int64)(nil), &x, (*bool)(nil))
	if v, ok := tbl.Int(4, "n"); ok {
		t.Errorf("a nil pointer is %d", v)
	}
	if v, ok := tbl.Float(4, "ratio"); !ok || v != 2.5 {
		t.Errorf("a pointer is %v %v", v, ok)
	}
	if v, ok := tbl.Float(0, "n"); !ok || v != 3 {
		t.Errorf("a whole number as a number: %v %v", v, ok)
	}
	if v, ok := tbl.Bool(2, "crossed"); !ok || v {
		t.Errorf("crossed: %v %v", v, ok)
	}
	if tbl.Text(2, "name") != "" || tbl.Text(0, "name") != "gpu_idle" || tbl.Value(0, "none") != nil {
		t.Error("texts")
	}
	if err := tbl.Check(Field{"n", Int}, Field{"name", Text}); err != nil {
		t.Error(err)
	}
	for _, f := range []Field{{"n", Float}, {"none", Int}} {
		if tbl.Check(f) == nil {
			t.Errorf("%v is not there", f)
		}
	}
}

func TestOurMistakesPanic(t *testing.T) {
	for _, values := range [][]any{{"a"}, {1, 1, 1.0, true}, {"a", "b", 1.0, true}, {"a", 1, 1, true}} {
		func() {
			defer func() {
				if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "BUG: ") {
					t.Errorf("%v: panic %v", values, p)
				}
			}()
			sample().Append(values...)
		}()
	}
}

func TestFromEvents(t *testing.T) {
	h := &event.Header{Columns: event.BaseCols | event.PhaseCols, Domains: []string{"NCCL"}}
	b := new(event.Batch)
	b.Reset(event.BaseCols)
	for i, name := range []string{"first", "", "third"} {
		b.AppendNulls()
		b.Name.SetLast(name)
		b.Kind.Set(i, event.NVTX)
		b.End.Values[i] = int64(i)
	}
	b.Rank.Set(1, 7)
	b.Domain.Set(2, 0)
	b.Class.Set(0, event.GIL)
	tbl := FromEvents(h, b)
	var names []string
	for i := range tbl.Columns {
		names = append(names, tbl.Columns[i].Name)
	}
	if want := strings.Fields("kind start end rank device stream thread name class correlation launch_start launch_end launch_thread graph_node domain bytes phase ctx gen"); !reflect.DeepEqual(names, want) {
		t.Errorf("columns %v", names)
	}
	var out bytes.Buffer
	if err := writeAll(&out, CSV, tbl); err != nil {
		t.Fatal(err)
	}
	want := "nvtx,0,0,,,,,first,gil,,,,,,,,,,\n" +
		"nvtx,0,1,7,,,,\"\",,,,,,,,,,,\n" +
		"nvtx,0,2,,,,,third,,,,,,,NCCL,,,,\n"
	if _, rows, _ := strings.Cut(out.String(), "\n"); rows != want {
		t.Errorf("got\n%s\nwant\n%s", rows, want)
	}
	if got := FromEvents(h, b.Slice(0, 0)); got.Len() != 0 {
		t.Errorf("%d rows", got.Len())
	}
}
