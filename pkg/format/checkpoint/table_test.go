package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// TestTable writes rows of every type, with and without nulls, and wants them back.
func TestTable(t *testing.T) {
	for _, rows := range []int{0, 1, 9, 1000} {
		want := table.New("made up", 3, table.Fields("name text, n int, share float, yes bool, none bool")...)
		want.Meta["key"] = "value"
		for i := range rows {
			values := []any{"row", int64(i), float64(i) / 3, i%3 == 0, nil}
			if i%7 == 1 {
				values[i%4] = nil
			}
			want.Append(values...)
		}
		path := filepath.Join(t.TempDir(), "t.parquet")
		var b bytes.Buffer
		if err := WriteTable(&b, want); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadTable(path)
		if err != nil || !IsTable(path) {
			t.Fatal(err)
		}
		if got.Schema != want.Schema || got.Version != want.Version || got.Meta["key"] != "value" || got.Len() != rows {
			t.Errorf("%d rows: %s %d %v, %d rows", rows, got.Schema, got.Version, got.Meta, got.Len())
		}
		for i := range rows {
			for k := range want.Columns {
				if a, b := want.Columns[k].Value(i), got.Columns[k].Value(i); !reflect.DeepEqual(a, b) {
					t.Errorf("%d rows: row %d, %s: %v, not %v", rows, i, want.Columns[k].Name, b, a)
				}
			}
		}
	}
}
