package sim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// parquetColumns reads a file: the type of each column, and its values as text.
func parquetColumns(t *testing.T, path string) (types map[string]string, values map[string][]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	types, values = map[string]string{}, map[string][]string{}
	fields := file.Schema().Fields()
	for _, field := range fields {
		types[field.Name()] = field.Type().String()
		if field.Optional() {
			types[field.Name()] += "?"
		}
	}
	r := parquet.NewReader(file)
	defer r.Close()
	rows := make([]parquet.Row, 100)
	for {
		n, err := r.ReadRows(rows)
		for _, row := range rows[:n] {
			for _, v := range row {
				name := fields[v.Column()].Name()
				values[name] = append(values[name], v.String())
			}
		}
		if err != nil {
			return types, values
		}
	}
}

// TestParquetDir wants the tables and values of the SQLite export, and the
// native unsigned ids.
func TestParquetDir(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Steps, c.Layers = 6, 2 })
	dir := filepath.Join(t.TempDir(), "run_pqtdir")
	if err := tr.WriteParquetDir(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	w := write(t, tr, Options{})
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(w.tables) {
		t.Errorf("%d files for %d tables", len(files), len(w.tables))
	}
	for name, columns := range w.tables {
		types, values := parquetColumns(t, filepath.Join(dir, name+".parquet"))
		if len(types) != len(columns) {
			t.Errorf("%s: columns %v, want %v", name, types, columns)
		}
		for _, column := range columns {
			if !strings.HasPrefix(types[column], "INT") {
				continue
			}
			if n := len(w.ints(name, column)); n != len(values[column]) {
				t.Errorf("%s.%s: %d rows, want %d", name, column, len(values[column]), n)
			}
		}
	}
	types, values := parquetColumns(t, filepath.Join(dir, "CUPTI_ACTIVITY_KIND_KERNEL.parquet"))
	for column, want := range map[string]string{
		"start": "INT(64,true)", "globalPid": "INT(64,false)?", "correlationId": "INT(32,false)?", "deviceId": "INT(32,false)",
		"graphNodeId": "INT(64,false)?", "shortName": "INT(32,false)", "tensorSizeMinusOneElements": "STRING",
	} {
		if types[column] != want {
			t.Errorf("%s is %s, want %s", column, types[column], want)
		}
	}
	i := 0
	for k := range tr.Kernels.All() {
		if want := (k.Node == 0); (values["graphNodeId"][i] == "<null>") != want {
			t.Fatalf("kernel %d: graphNodeId %s", i, values["graphNodeId"][i])
		}
		i++
	}
	_, names := parquetColumns(t, filepath.Join(dir, "StringIds.parquet"))
	if !slices.Equal(names["value"], w.texts("StringIds", "value")) {
		t.Error("the strings differ")
	}
	if err := tr.WriteParquetDir(dir, Options{}); err == nil {
		t.Error("a directory was overwritten")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestWholeFiles wants no file where the writing failed.
func TestWholeFiles(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Steps, c.Layers = 1, 1 })
	missing := filepath.Join(t.TempDir(), "no", "x")
	if err := tr.WriteSQLite(missing, Options{}); err == nil {
		t.Error("written into a folder that is not there")
	}
	if err := tr.WriteParquetDir(missing, Options{}); err == nil {
		t.Error("written into a folder that is not there")
	}
}
