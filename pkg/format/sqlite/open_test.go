package sqlite

import (
	"encoding/binary"
	"errors"
	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tiny returns the bytes of a small database.
func tiny(t testing.TB) []byte {
	data, err := os.ReadFile(build(t, "PRAGMA page_size=512", func(w *sqlitefile.Writer) {
		in := w.Table("t", []string{"a INTEGER", "b TEXT"})
		for i := range int64(100) {
			in.Int(0, i<<i)
			in.Text(1, strings.Repeat("x", int(i)))
			in.Step()
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestOpenRefuses wants a reason and an advice for each file that is not read.
func TestOpenRefuses(t *testing.T) {
	good := tiny(t)
	edit := func(at int, b ...byte) []byte {
		data := append([]byte{}, good...)
		copy(data[at:], b)
		return data
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an SQLite database"},
		{"short", good[:99], "not an SQLite database"},
		{"text", []byte(strings.Repeat("start,end\n", 100)), "not an SQLite database"},
		{"cut off", good[:len(good)-1], "truncated"},
		{"a page", good[:512], "truncated"},
		{"the header", good[:100], "truncated"},
		{"WAL mode", edit(18, 2, 2), "WAL"},
		{"WAL mode for reading only", edit(19, 2), "WAL"},
	} {
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path)
		if err == nil {
			db.Close()
			t.Errorf("%s: opened", c.name)
			continue
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Error(), path) || e.Hint() == "" {
			t.Errorf("%s: %v, want %q, the path and a hint", c.name, err, c.want)
		}
	}
}

// TestOpenOddHeaders wants headers that SQLite refuses to fail when the tables
// are asked for at the latest, and an unusual but right one to be read.
func TestOpenOddHeaders(t *testing.T) {
	good := tiny(t)
	read := func(change func(data []byte)) (int, error) {
		data := append([]byte{}, good...)
		change(data)
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path)
		if err != nil {
			return 0, err
		}
		defer db.Close()
		if _, err := db.Tables(); err != nil {
			return 0, err
		}
		rows := 0
		err = db.Scan("t", []Column{{Name: "a", Type: Int}, {Name: "b", Type: Text}}, lowest, highest, func(b *Block) error {
			rows += b.N
			return nil
		})
		return rows, err
	}
	for name, page := range map[string]uint16{"page size 0": 0, "page size 600": 600, "page size 256": 256} {
		if _, err := read(func(data []byte) { binary.BigEndian.PutUint16(data[atPageSize:], page) }); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if _, err := read(func(data []byte) { data[atReserved] = 255 }); err == nil {
		t.Error("255 bytes reserved of 512 were read")
	}
	// An old version of SQLite changed the file and left the count as it was.
	rows, err := read(func(data []byte) {
		binary.BigEndian.PutUint32(data[atPages:], 1)
		data[atChanges]++
	})
	if err != nil || rows != 100 {
		t.Errorf("without a page count: %d rows, %v", rows, err)
	}
}

// TestOpenJournals wants what a journal could change not to be read.
func TestOpenJournals(t *testing.T) {
	for _, suffix := range []string{"-wal", "-journal"} {
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, tiny(t), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+suffix, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path)
		if err != nil {
			t.Fatalf("an empty %s: %v", suffix, err)
		}
		db.Close()
		if err := os.WriteFile(path+suffix, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "journal") {
			t.Errorf("%s: %v", suffix, err)
		}
	}
}

// TestOpenNoFile wants the errors of the file system as they are.
func TestOpenNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(path, tiny(t), 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Skip("root may read what nobody may")
	}
	if _, err := Open(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that may not be read: %v", err)
	}
}

// TestOpenLeavesNothing wants odd names to be read and nothing to be made
// beside the file, or of it.
func TestOpenLeavesNothing(t *testing.T) {
	data := tiny(t)
	for _, name := range []string{"a b", "what?", "x?mode=rwc", "50%", "%41", "a#b", "a&b=c", ":memory:", "file:x", "ö 核", "a'b\"c", "back\\slash"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o444); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{path, dir + "//" + name, "/" + path} {
			db, err := Open(path)
			if err != nil {
				t.Errorf("%q: %v", path, err)
				continue
			}
			same(t, db, "t", []Column{{Name: "a", Type: Int}, {Name: "b", Type: Text}}, lowest, highest)
			if _, high, err := db.Rows("t"); high != 100 || err != nil {
				t.Errorf("%q: Rows() ends with %d, %v", path, high, err)
			}
			db.Close()
		}
		t.Chdir(dir)
		if db, err := Open(name); err != nil {
			t.Errorf("%q from its directory: %v", name, err)
		} else {
			if _, err := db.Tables(); err != nil {
				t.Errorf("%q from its directory: %v", name, err)
			}
			db.Close()
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%q: beside it are now %v, %v", name, entries, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(data) {
			t.Errorf("%q changed (%v)", name, err)
		}
	}
}
