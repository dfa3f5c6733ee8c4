package nsys

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// complain checks that reading a path fails with an error that a person can do
// something with: one line with the name of the file, and a hint.
func complain(t *testing.T, what, path string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	if hinted, ok := err.(interface{ Hint() string }); !ok || hinted.Hint() == "" {
		t.Errorf("%s: no hint: %v", what, err)
	}
	if msg := err.Error(); strings.ContainsAny(msg, "\n\r") || !strings.Contains(msg, filepath.Base(path)) || len(msg) > 500 {
		t.Errorf("%s: error %q", what, msg)
	}
}

// tryRead opens a path and reads all its rows.
func tryRead(path string) error {
	r, err := Open([]string{path}, Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = drain(r)
	return err
}

// TestBadInputs opens what is no export.
func TestBadInputs(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	export, _ := written(t, simulate(t, small(nil)), sim.Options{})
	content, err := os.ReadFile(export)
	if err != nil {
		t.Fatal(err)
	}
	wal := append([]byte(nil), content...)
	wal[18], wal[19] = 2, 2
	journal := file("journal.sqlite", string(content))
	file("journal.sqlite-journal", "x")
	for what, path := range map[string]string{
		"empty file":           file("empty", ""),
		"short file":           file("short", "SQLite format 3\x00"),
		"text":                 file("text.sqlite", strings.Repeat("start,end\n", 100)),
		"WAL":                  file("wal.sqlite", string(wal)),
		"journal":              journal,
		"empty directory":      dir + "/none",
		"directory":            filepath.Dir(file("files/x.sqlite", "x")),
		"Parquet of others":    filepath.Dir(file("others/x.parquet", "PAR1")),
		"Parquet without data": filepath.Dir(file("empty_pqtdir/StringIds.parquet", "")),
		"damaged Parquet":      filepath.Dir(file("damaged_pqtdir/"+kernelTable+".parquet", "PAR1xxxxPAR1")),
		"other database":       database(t, "CREATE TABLE t (start, end_)"),
		"empty database":       database(t, "CREATE TABLE t (x); DROP TABLE t"),
	} {
		if what == "empty directory" {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		complain(t, what, path, tryRead(path))
	}
	if err := tryRead(filepath.Join(dir, "missing")); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
}

// TestTruncated cuts an export at many lengths. Cut off pages of the last table
// are always missed, as the file says how many it has.
func TestTruncated(t *testing.T) {
	export, _ := written(t, simulate(t, small(nil)), sim.Options{})
	content, err := os.ReadFile(export)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.sqlite")
	for n := 0; n < len(content); n += max(1, len(content)/97) {
		if err := os.WriteFile(path, content[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		complain(t, "cut", path, tryRead(path))
	}
}

// TestDamaged overwrites pieces of exports, as a file and as a directory. Not
// all damage can be seen; but what is seen is one error, and nothing panics.
func TestDamaged(t *testing.T) {
	tr := simulate(t, small(func(c *sim.Config) { c.Ranks, c.Steps, c.Overheads = 1, 2, true }))
	export, _ := written(t, tr, sim.Options{})
	dir := filepath.Join(t.TempDir(), "x_pqtdir")
	if err := tr.WriteParquetDir(dir, sim.Options{}); err != nil {
		t.Fatal(err)
	}
	files := []string{export}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if table := strings.TrimSuffix(d.Name(), ".parquet"); known(table) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	noticed, tries := 0, 150
	if os.Getenv("HOSTBOUND_ALL") == "" {
		tries = 30
	}
	for i := range tries {
		file := files[max(0, i-tries/2)%len(files)]
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bad := append([]byte(nil), good...)
		for range 1 + r.IntN(4) {
			at := r.IntN(len(bad))
			for k := at; k < min(at+1+r.IntN(64), len(bad)); k++ {
				bad[k] = byte(r.UintN(256))
			}
		}
		if err := os.WriteFile(file, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		path := export
		if file != export {
			path = dir
		}
		if err := tryRead(path); err != nil {
			noticed++
			complain(t, file, path, err)
		}
		if err := os.WriteFile(file, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if noticed < tries/10 {
		t.Errorf("%d of %d damages noticed", noticed, tries)
	}
}

// TestNvprof refuses databases of nvprof by name, and reads exports that
// somebody gave a table of such a name.
func TestNvprof(t *testing.T) {
	for sql, want := range map[string]string{
		`CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER)`: "nvprof",
		`CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start INTEGER, "end" INTEGER, name INTEGER)`:                                          "nvprof",
		// As nvprof writes it: the kernel table of nsys is there, and empty.
		`CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER);
			CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER); CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, "end" INTEGER);
			CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start INTEGER, "end" INTEGER, name INTEGER);
			INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1, 2, 3)`: "nvprof",
		`CREATE TABLE StringTable (a); CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)`: "",
	} {
		path := database(t, sql)
		err := tryRead(path)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		complain(t, sql, path, err)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// Views in place of tables are refused by name: what they hold would be missing without a
// word. Others', as nsys stats makes them, are nobody's business.
func TestNoTable(t *testing.T) {
	for sql, want := range map[string]string{
		`CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 2 AS "end"`:                           "NVTX_EVENTS is a view",
		`CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT) WITHOUT  ROWID`:         "StringIds is a table without row ids",
		`CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT) STRICT, without rowid;`: "StringIds is a table without row ids",
		`CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT) WITHOUT ROWID, STRICT`:  "StringIds is a table without row ids",
		`CREATE VIEW cudaAPIStats AS SELECT 1; CREATE TABLE other (a PRIMARY KEY) WITHOUT ROWID;
			CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)`: "",
	} {
		err := tryRead(database(t, sql))
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
}
