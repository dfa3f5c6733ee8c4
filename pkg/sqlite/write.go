package sqlite

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// writerPragmas make one big load fast. There is no journal and no fsync: a
// file whose Close failed is garbage, and its maker removes it.
const writerPragmas = `PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA locking_mode=EXCLUSIVE;
PRAGMA cache_size=-16384;
PRAGMA temp_store=MEMORY;
BEGIN`

// Writer fills one new SQLite file in one transaction. The same calls give the
// same bytes. The first error sticks: every later call returns it, and so does
// Close, so a caller in a hurry need check only Close. A Writer belongs to one
// goroutine.
type Writer struct {
	path   string
	file   string // likewise, absolute
	tls    *libc.TLS
	db     uintptr // sqlite3*, 0 while it is closed
	tables []*Inserter
	bulk   *bulk // the table whose pages are made here, nil for none
	err    error
}

// Create begins a SQLite file at path, which must not exist or be empty. The
// file is complete only once Close has returned nil; to have it appear whole or
// not at all, create it under a temporary name and rename it.
func Create(path string) (*Writer, error) {
	// An absolute path cannot be mistaken for ":memory:" or a "file:" address.
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	if st, err := os.Stat(abs); err == nil && st.Size() > 0 {
		return nil, fmt.Errorf("create %s: the file is there and not empty", path)
	}
	w := &Writer{path: path, file: abs, tls: libc.NewTLS()}
	if err := w.Exec(""); err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

// begin has SQLite open the file for more tables.
func (w *Writer) begin() error {
	w.endBulk()
	if w.db != 0 || w.err != nil {
		return w.err
	}
	if err := w.open(); err != nil {
		return err
	}
	return w.Exec(writerPragmas)
}

// open connects to the file; on failure w.db may still be a handle to close.
func (w *Writer) open() error {
	name, err := libc.CString(w.file)
	if err != nil {
		return fmt.Errorf("create %s: %w", w.path, err)
	}
	defer libc.Xfree(w.tls, name)
	slot := w.tls.Alloc(8)
	defer w.tls.Free(8)
	flags := int32(sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_CREATE | sqlite3.SQLITE_OPEN_NOMUTEX)
	rc := sqlite3.Xsqlite3_open_v2(w.tls, name, slot, flags, 0)
	w.db = *(*uintptr)(pointer(slot))
	if rc != sqlite3.SQLITE_OK {
		return w.fail("create", rc)
	}
	return nil
}

// Exec runs SQL statements that return nothing of interest, separated by
// semicolons.
func (w *Writer) Exec(sql string) error {
	if err := w.begin(); err != nil {
		return err
	}
	text, err := libc.CString(sql)
	if err != nil {
		w.err = fmt.Errorf("write %s: %w", w.path, err)
		return w.err
	}
	defer libc.Xfree(w.tls, text)
	if rc := sqlite3.Xsqlite3_exec(w.tls, w.db, text, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return w.fail("write", rc)
	}
	return nil
}

// Table creates a table and returns the way to fill it. The columns are in the
// words of CREATE TABLE, as they stand between its brackets: "id INTEGER NOT
// NULL PRIMARY KEY". The names must be plain identifiers. When the table cannot
// be made the Inserter swallows rows and the error is that of the Writer.
func (w *Writer) Table(name string, columns []string) *Inserter {
	in := &Inserter{w: w, columns: len(columns)}
	if w.Exec("CREATE TABLE "+name+" ("+joinColumns(columns)+")") != nil {
		return in
	}
	w.tables = append(w.tables, in)
	marks := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	in.prepare("INSERT INTO " + name + " VALUES (" + marks + ")")
	return in
}

// joinColumns puts the commas before the comments that a column may end in.
func joinColumns(columns []string) string {
	var b strings.Builder
	for i, c := range columns {
		definition, comment, commented := strings.Cut(c, "--")
		b.WriteString("\n    " + strings.TrimRight(definition, " "))
		if i < len(columns)-1 {
			b.WriteByte(',')
		}
		if commented {
			b.WriteString(" --" + comment)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// Close ends the transaction and the file and returns the first error there
// was. After an error the file is of no use. A second Close does nothing.
func (w *Writer) Close() error {
	if w.db == 0 && w.bulk == nil {
		return w.err
	}
	w.endBulk()
	w.commit()
	w.release()
	return w.err
}

// commit ends the transaction and has SQLite close the file.
func (w *Writer) commit() error {
	for _, in := range w.tables {
		in.release()
	}
	w.tables = nil
	if w.err == nil && w.db != 0 {
		w.Exec("COMMIT")
	}
	w.disconnect()
	return w.err
}

// disconnect frees the connection and keeps the first error.
func (w *Writer) disconnect() {
	if w.db == 0 {
		return
	}
	rc := sqlite3.Xsqlite3_close_v2(w.tls, w.db)
	if rc != sqlite3.SQLITE_OK && w.err == nil {
		w.fail("close", rc)
	}
	w.db = 0
}

// release frees the connection and the thread's state.
func (w *Writer) release() {
	w.disconnect()
	w.tls.Close()
}

// fail records what SQLite says about rc and returns it, as an *writeErr in the
// chain.
func (w *Writer) fail(doing string, rc int32) error {
	message := libc.GoString(sqlite3.Xsqlite3_errstr(w.tls, rc))
	if w.db != 0 {
		message = libc.GoString(sqlite3.Xsqlite3_errmsg(w.tls, w.db))
	}
	w.err = fmt.Errorf("%s %s: %w", doing, w.path, &writeErr{code: rc, message: message})
	return w.err
}

// writeErr is a result code of SQLite and its message.
type writeErr struct {
	code    int32
	message string
}

func (e *writeErr) Error() string { return fmt.Sprintf("%s (SQLite code %d)", e.message, e.code) }

// errTextTooLong is what a Text of 2 GiB gets.
var errTextTooLong = errors.New("a text is longer than SQLite can store")

// Inserter adds rows to one table. Set the columns, then Step. What was set
// stays set for the rows after it, so constant columns are set once; a column
// that was never set is NULL. Columns count from 0; setting a column below 0
// does nothing, so that a row can be written to tables of several versions with
// the columns that a version lacks at -1. Setting a column the table does not
// have is an error.
type Inserter struct {
	w       *Writer
	stmt    uintptr // sqlite3_stmt*, 0 in a table that could not be made, or has ended
	bulk    *bulk   // nil where SQLite takes the rows
	columns int
	buffers []textBuffer
	rows    int64
}

// textBuffer is the C copy of a column's text. SQLite reads it until the next
// binding of the column, so each column owns one.
type textBuffer struct {
	at  uintptr
	cap int
}

func (in *Inserter) prepare(sql string) {
	w := in.w
	text, err := libc.CString(sql)
	if err != nil {
		w.err = fmt.Errorf("write %s: %w", w.path, err)
		return
	}
	defer libc.Xfree(w.tls, text)
	slot := w.tls.Alloc(8)
	defer w.tls.Free(8)
	if rc := sqlite3.Xsqlite3_prepare_v2(w.tls, w.db, text, -1, slot, 0); rc != sqlite3.SQLITE_OK {
		w.fail("write", rc)
		return
	}
	in.stmt = *(*uintptr)(pointer(slot))
	in.buffers = make([]textBuffer, in.columns)
}

// value is where a column is set whose pages are made here, nil for any other.
func (in *Inserter) value(i int) *value {
	if in.bulk == nil || i < 0 {
		return nil
	}
	if i >= in.columns {
		in.check(sqlite3.SQLITE_RANGE)
		return nil
	}
	return &in.bulk.values[i]
}

// Int sets column i to v.
func (in *Inserter) Int(i int, v int64) {
	if to := in.value(i); to != nil {
		to.setInt(v)
		return
	}
	if i < 0 || in.stmt == 0 {
		return
	}
	in.check(sqlite3.Xsqlite3_bind_int64(in.w.tls, in.stmt, int32(i)+1, v))
}

// Float sets column i to v.
func (in *Inserter) Float(i int, v float64) {
	if to := in.value(i); to != nil {
		to.kind, to.number = 7, math.Float64bits(v)
		return
	}
	if i < 0 || in.stmt == 0 {
		return
	}
	in.check(sqlite3.Xsqlite3_bind_double(in.w.tls, in.stmt, int32(i)+1, v))
}

// Null sets column i to NULL.
func (in *Inserter) Null(i int) {
	if to := in.value(i); to != nil {
		to.kind = 0
		return
	}
	if i < 0 || in.stmt == 0 {
		return
	}
	in.check(sqlite3.Xsqlite3_bind_null(in.w.tls, in.stmt, int32(i)+1))
}

// Text sets column i to s, which is copied and need not be valid UTF-8.
func (in *Inserter) Text(i int, s string) {
	if to := in.value(i); to != nil {
		to.kind, to.text = 13+2*uint64(len(s)), s
		return
	}
	if i < 0 || in.stmt == 0 {
		return
	}
	if i >= in.columns {
		in.check(sqlite3.SQLITE_RANGE)
		return
	}
	b := &in.buffers[i]
	if !in.grow(b, len(s)) {
		return
	}
	copy(unsafe.Slice((*byte)(pointer(b.at)), b.cap), s)
	in.check(sqlite3.Xsqlite3_bind_text(in.w.tls, in.stmt, int32(i)+1, b.at, int32(len(s)), 0))
}

// grow makes room for n bytes in b; the column must be bound anew afterwards.
func (in *Inserter) grow(b *textBuffer, n int) bool {
	if n < b.cap {
		return true
	}
	w := in.w
	if n >= math.MaxInt32 {
		if w.err == nil {
			w.err = fmt.Errorf("write %s: %w", w.path, errTextTooLong)
		}
		return false
	}
	size := max(64, n+n/2+1)
	at := libc.Xmalloc(w.tls, libc.Tsize_t(size))
	if at == 0 {
		in.check(sqlite3.SQLITE_NOMEM)
		return false
	}
	if b.at != 0 {
		libc.Xfree(w.tls, b.at)
	}
	b.at, b.cap = at, size
	return true
}

// Step writes the row.
func (in *Inserter) Step() error {
	w := in.w
	if w.err != nil {
		return w.err
	}
	if in.bulk != nil && in.bulk == w.bulk {
		if err := in.bulk.step(); err != nil {
			w.keep(err)
		}
		in.rows++
		return w.err
	}
	if rc := sqlite3.Xsqlite3_step(w.tls, in.stmt); rc != sqlite3.SQLITE_DONE {
		return w.fail("write", rc)
	}
	in.rows++
	in.check(sqlite3.Xsqlite3_reset(w.tls, in.stmt))
	return w.err
}

// Rows is how many rows Step has written.
func (in *Inserter) Rows() int64 { return in.rows }

func (in *Inserter) check(rc int32) {
	if rc != sqlite3.SQLITE_OK && in.w.err == nil {
		in.w.fail("write", rc)
	}
}

// release frees the statement before the text it may still point to.
func (in *Inserter) release() {
	if in.stmt != 0 {
		// The code is that of the last Step, which has been reported.
		sqlite3.Xsqlite3_finalize(in.w.tls, in.stmt)
		in.stmt = 0
	}
	for _, b := range in.buffers {
		if b.at != 0 {
			libc.Xfree(in.w.tls, b.at)
		}
	}
	in.buffers = nil
}
