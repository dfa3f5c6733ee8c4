// Package sqlite is the project's door to SQLite: it reads columns out of the
// tables of a database file that nobody else writes to, a chunk of rows at a
// time.
//
// # Two ways to read a table
//
// SQLite itself, as modernc.org/sqlite/lib, the C library in Go, opens the file,
// reads the schema and all that is small. Its statements are stepped without
// database/sql, which costs six times as much a row as the library does.
//
// The rows of nearly all tables are decoded here, out of the pages of the file, whose
// format is documented and will not change. That way ten columns of a table of kernels
// come at 20 million rows a second and processor, against 4.5 million through SQLite,
// where most of the time goes into its virtual machine. An export has millions of rows,
// and everybody waits for them. layout decides how a table is read, and both ways return
// the same blocks. If the decoder does not know for certain what a value is, the table is
// left to SQLite.
//
// Query is SQLite's machine itself, for joins and sorting over the tables of a source
// that is rarely read: package rocpd asks for all of its rows in one statement.
//
// page.go reads pages, cursor.go walks the tree of a table, record.go and rows.go make
// rows of the leaves, and overflow.go continues rows that do not fit into one. Every
// number from the file is checked before it is used. A damaged file is an error or, at
// worst, has lost rows without a trace; SQLite would not notice that either, as pages
// have no checksums.
//
// # Journals
//
// A database is opened as immutable: no lock is taken and no file is made
// beside it. An immutable database is read without its journal, so one that
// has a journal or is in WAL mode is refused: what is missing from the main
// file could be half of the trace.
package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Error is the error of a database that cannot be read, with advice.
type Error struct {
	Path string // path as given
	Msg  string // one line without the path
	Fix  string // advice, "" if there is none
}

// Error names the file and what is wrong with it.
func (e *Error) Error() string { return e.Path + ": " + e.Msg }

// Hint returns the advice, "" if there is none.
func (e *Error) Hint() string { return e.Fix }

const damaged = "copy the file again, or let the profiler write it again; 'sqlite3 FILE \"PRAGMA quick_check\"' shows where it is broken"

// DB is an open database. It may be used by one goroutine at a time; open one for each.
type DB struct {
	path    string
	tls     *libc.TLS
	db      uintptr
	file    pager
	layouts *layouts
	idle    *reader // of the last scan, nil during a scan
	spare   *Block  // of the last scan, nil during a scan
}

// Open opens the database in the file path for reading.
func Open(path string) (*DB, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	pages, err := checkFile(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	d := &DB{path: path, tls: libc.NewTLS(), file: pages, layouts: &layouts{}}
	runtime.SetFinalizer(d, (*DB).Close)
	if err := d.connect(path); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Another opens the database again, for another goroutine. It shares what is known
// about table layouts. d may be closed.
func (d *DB) Another() (*DB, error) {
	other, err := Open(d.path)
	if err == nil {
		other.layouts = d.layouts
	}
	return other, err
}

// connect has SQLite open the file.
func (d *DB) connect(path string) error {
	uri, err := libc.CString("file:" + escape(path) + "?mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer libc.Xfree(d.tls, uri)
	slot := d.tls.Alloc(8)
	defer d.tls.Free(8)
	flags := int32(sqlite3.SQLITE_OPEN_READONLY | sqlite3.SQLITE_OPEN_URI | sqlite3.SQLITE_OPEN_NOMUTEX)
	rc := sqlite3.Xsqlite3_open_v2(d.tls, uri, slot, flags, 0)
	d.db = *(*uintptr)(pointer(slot))
	if rc != sqlite3.SQLITE_OK {
		return d.fail(rc)
	}
	return nil
}

// pointer converts an address in the C heap, which the garbage collector does not own,
// to a pointer.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// Close closes the database.
func (d *DB) Close() error {
	if d.tls == nil {
		return nil
	}
	runtime.SetFinalizer(d, nil)
	sqlite3.Xsqlite3_close_v2(d.tls, d.db)
	d.file.file.Close()
	d.tls.Close()
	d.tls, d.db = nil, 0
	return nil
}

// damage turns an error of the decoder into one of the database.
func (d *DB) damage(err error) error {
	return &Error{Path: d.path, Msg: "the database is damaged or truncated: " + err.Error(), Fix: damaged}
}

// fail turns a result code of SQLite into an error.
func (d *DB) fail(rc int32) error {
	e := &Error{Path: d.path}
	switch rc & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR:
		e.Msg, e.Fix = "the database is damaged or truncated", damaged
	case sqlite3.SQLITE_NOTADB:
		e.Msg, e.Fix = "not an SQLite database", damaged
	case sqlite3.SQLITE_CANTOPEN:
		e.Msg, e.Fix = "SQLite cannot open the file", "check that the file can be read"
	default:
		e.Msg, e.Fix = "SQLite: "+libc.GoString(sqlite3.Xsqlite3_errstr(d.tls, rc)), damaged
		if d.db != 0 {
			e.Msg = "SQLite: " + libc.GoString(sqlite3.Xsqlite3_errmsg(d.tls, d.db))
		}
	}
	return e
}

// checkFile checks the file for problems that SQLite would not report clearly, and
// returns its pages.
func checkFile(f *os.File, path string) (p pager, err error) {
	info, err := f.Stat()
	if err != nil {
		return p, err
	}
	if info.IsDir() {
		return p, &Error{path, "is a directory", "give the file that 'nsys export' or rocprofv3 wrote"}
	}
	if !info.Mode().IsRegular() {
		return p, &Error{path, "is not a file that can be read back and forth", "save the database to a file first"}
	}
	var h header
	if _, err := io.ReadFull(f, h[:]); err != nil || string(h[:16]) != "SQLite format 3\x00" {
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return p, fmt.Errorf("%s: %w", path, err)
		}
		return p, &Error{path, "not an SQLite database", "give what 'nsys export --type sqlite REPORT.nsys-rep' makes, a trace of PyTorch's profiler, or rocprofv3's .db; a profile of Python lines is for hotspots"}
	}
	if h[atWriteVersion] == 2 || h[atReadVersion] == 2 {
		return p, &Error{path, "the database is in WAL mode, so its last rows may lie in another file",
			"'sqlite3 " + path + " \"PRAGMA journal_mode=DELETE\"' puts them all into this one"}
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if s, err := os.Stat(path + suffix); err == nil && s.Size() > 0 {
			return p, &Error{path, "there is a journal next to it, so the database is being written or was left half-written",
				"wait for the writer, or open it once with sqlite3 to recover it"}
		}
	}
	if want := int64(h.pageSize()) * int64(h.pages()); info.Size() < want {
		return p, &Error{path, fmt.Sprintf("file is truncated: %d of %d bytes", info.Size(), want), damaged}
	}
	return newPager(f, &h, info.Size()), nil
}

// escape escapes a path for a file: URI.
func escape(path string) string {
	var b strings.Builder
	if strings.HasPrefix(path, "//") {
		path = "/" + strings.TrimLeft(path, "/")
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case '?', '#', '%':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Tables returns the columns of every table, without views and virtual tables.
func (d *DB) Tables() (map[string][]string, error) {
	tables := map[string][]string{}
	sql := `SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, c.cid`
	err := d.query(sql, []Type{Text, Text}, BlockRows, func(b *Block) error {
		for i := range b.N {
			table := string(b.Cols[0].Text(i))
			tables[table] = append(tables[table], string(b.Cols[1].Text(i)))
		}
		return nil
	})
	return tables, err
}

// Unlisted returns what cannot be read as a table, by name: "a view", "a virtual table"
// or "a table without row ids".
func (d *DB) Unlisted() (map[string]string, error) {
	what := map[string]string{}
	// A table's options follow the last parenthesis.
	sql := `SELECT m.name, CASE WHEN m.type = 'view' THEN 'a view' WHEN m.rootpage = 0 THEN 'a virtual table' ELSE 'a table without row ids' END
		FROM sqlite_master m WHERE m.type = 'view' OR m.type = 'table' AND
		(m.rootpage = 0 OR replace(m.sql, rtrim(m.sql, replace(m.sql, ')', '')), '') LIKE '%WITHOUT%ROWID%')`
	err := d.query(sql, []Type{Text, Text}, BlockRows, func(b *Block) error {
		for i := range b.N {
			what[string(b.Cols[0].Text(i))] = string(b.Cols[1].Text(i))
		}
		return nil
	})
	return what, err
}

// Rows returns the range of row ids of a table, both ends included; low > high if it is
// empty.
func (d *DB) Rows(table string) (low, high int64, err error) {
	low, high = 0, -1
	l, err := d.layout(table)
	if err != nil {
		return low, high, err
	}
	// Two subqueries: SQLite seeks to the end of a table for one of them, but reads all
	// of it for both at once.
	sql := fmt.Sprintf("SELECT (SELECT min(%s) FROM %s), (SELECT max(%[1]s) FROM %[2]s)", l.rowID, quote(table))
	err = d.query(sql, []Type{Int, Int}, 1, func(b *Block) error {
		if b.N > 0 && !b.Cols[0].Null[0] {
			low, high = b.Cols[0].Int[0], b.Cols[1].Int[0]
		}
		return nil
	})
	return low, high, err
}

// quote quotes an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal returns a text as an SQL literal.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
