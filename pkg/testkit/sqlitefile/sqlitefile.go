// Package sqlitefile writes SQLite files for tests, through modernc's driver.
//
// Rows are inserted [rowsPerStatement] to a statement: a driver call costs about as much
// as ten rows, so this is four times as fast as one row at a time. A column with the same
// value in all rows of a statement is bound once: binding takes a third of the time, and
// most columns of an export are like that.
package sqlitefile

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"modernc.org/sqlite"
)

const (
	rowsPerStatement = 64
	// maxVariables is SQLite's default limit on the parameters of a statement.
	maxVariables = 32766
)

// Writer fills one SQLite file in one transaction. The same calls give the same bytes.
// The first error is kept and returned by Close, so it is enough to check Close. A Writer
// must be used by one goroutine.
type Writer struct {
	path   string
	conn   driver.Conn
	tables []*Inserter
	err    error
}

// Create begins a SQLite file at path, or adds to an existing one. The file is complete
// once Close has returned nil. There is no journal, so it is garbage if Close fails.
func Create(path string) (*Writer, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	// As a URI, a path may contain any character and cannot be taken for ":memory:".
	conn, err := new(sqlite.Driver).Open((&url.URL{Scheme: "file", Path: abs}).String())
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	w := &Writer{path: path, conn: conn}
	err = w.Exec(`PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;
		PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY; BEGIN`)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return w, nil
}

// Exec runs SQL statements, separated by semicolons, and discards their results. They run
// inside the transaction that Close commits. What cannot run inside one must stand
// between COMMIT and BEGIN.
func (w *Writer) Exec(sql string) error {
	w.flush()
	if w.err != nil {
		return w.err
	}
	stmt, err := w.conn.Prepare(sql)
	if err != nil {
		return w.keep(err)
	}
	return w.keep(errors.Join(exec(stmt, nil), stmt.Close()))
}

// exec runs a statement with the values of its parameters, which it does not retain.
func exec(stmt driver.Stmt, values []driver.Value) error {
	named := make([]driver.NamedValue, len(values))
	for i, v := range values {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	_, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), named)
	return err
}

// keep records err if it is the writer's first, and returns the first.
func (w *Writer) keep(err error) error {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write %s: %w", w.path, err)
	}
	return w.err
}

// flush makes the tables write their pending rows.
func (w *Writer) flush() {
	for _, in := range w.tables {
		in.flush()
	}
}

// Close ends the transaction, closes the file, and returns the writer's first error.
// Another Close only returns it again.
func (w *Writer) Close() error {
	if w.conn == nil {
		return w.err
	}
	w.flush()
	for _, in := range w.tables {
		for _, stmt := range in.many {
			w.keep(stmt.Close())
		}
	}
	if w.err == nil {
		w.Exec("COMMIT")
	}
	w.keep(w.conn.Close())
	w.conn = nil
	return w.err
}

// Table creates a table and returns its Inserter. Columns are written as in CREATE TABLE:
// "id INTEGER NOT NULL PRIMARY KEY -- a comment". If the table cannot be created, the
// Inserter discards rows and the Writer keeps the error.
func (w *Writer) Table(name string, columns []string) *Inserter {
	in := &Inserter{w: w, name: name, columns: len(columns), row: make([]driver.Value, len(columns)), many: map[string]driver.Stmt{}}
	in.batch = max(1, min(rowsPerStatement, maxVariables/max(1, len(columns))))
	if w.Exec("CREATE TABLE "+name+" ("+joinColumns(columns)+")") == nil {
		w.tables = append(w.tables, in)
	}
	return in
}

// joinColumns joins column definitions, with the comma before a column's comment.
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

// Inserter adds rows to one table: set the columns, then call Step. A column keeps its
// value for later rows, and is NULL until it is set. Columns count from 0. Setting one
// below 0 does nothing, so callers can use -1 for a column that a version of the table
// lacks. Setting one beyond the last is an error.
type Inserter struct {
	w       *Writer
	name    string
	columns int
	batch   int // rows per statement
	// many are the statements for a whole batch, by the columns that differ between its
	// rows.
	many    map[string]driver.Stmt
	row     []driver.Value
	pending []driver.Value // rows not yet written
	bound   []driver.Value // parameters of the statement, reused
	rows    int64
}

func (in *Inserter) set(i int, v driver.Value) {
	if i >= in.columns {
		in.w.keep(fmt.Errorf("column %d of %s is out of range", i, in.name))
	} else if i >= 0 {
		in.row[i] = v
	}
}

// Int sets column i to v.
func (in *Inserter) Int(i int, v int64) { in.set(i, v) }

// Float sets column i to v.
func (in *Inserter) Float(i int, v float64) { in.set(i, v) }

// Text sets column i to s, which may be invalid UTF-8.
func (in *Inserter) Text(i int, s string) { in.set(i, s) }

// Null sets column i to NULL.
func (in *Inserter) Null(i int) { in.set(i, nil) }

// Step adds the row, and returns the writer's first error.
func (in *Inserter) Step() error {
	in.pending = append(in.pending, in.row...)
	in.rows++
	if len(in.pending) == in.batch*in.columns {
		in.flush()
	}
	return in.w.err
}

// flush writes the pending rows.
func (in *Inserter) flush() {
	if len(in.pending) > 0 && in.w.err == nil {
		in.w.keep(in.write(in.differing()))
	}
	in.pending = in.pending[:0]
}

// differing returns a byte per column: 1 if its value differs between pending rows,
// otherwise 0.
func (in *Inserter) differing() []byte {
	differs := make([]byte, in.columns)
	for i, v := range in.pending {
		if k := i % in.columns; v != in.pending[k] {
			differs[k] = 1
		}
	}
	return differs
}

func (in *Inserter) write(differs []byte) error {
	rows := len(in.pending) / in.columns
	stmt := in.many[string(differs)]
	if stmt == nil || rows < in.batch {
		var err error
		if stmt, err = in.w.conn.Prepare(in.insert(differs, rows)); err != nil {
			return err
		}
		if rows == in.batch {
			in.many[string(differs)] = stmt
		} else {
			defer stmt.Close()
		}
	}
	in.bound = in.bound[:0]
	for k, v := range in.pending[:in.columns] {
		if differs[k] == 0 {
			in.bound = append(in.bound, v)
		}
	}
	for i, v := range in.pending {
		if differs[i%in.columns] == 1 {
			in.bound = append(in.bound, v)
		}
	}
	return exec(stmt, in.bound)
}

// insert returns the statement for a number of rows. Its parameters are first those of
// columns that do not differ, then those of the others, row by row.
func (in *Inserter) insert(differs []byte, rows int) string {
	selected, varying := make([]string, in.columns), 0
	for k, d := range differs {
		selected[k] = "?"
		if d == 1 {
			varying++
			selected[k] = fmt.Sprint("column", varying)
		}
	}
	row := "(" + strings.Join(slices.Repeat([]string{"?"}, varying), ",") + ")"
	if varying == 0 {
		row = "(0)" // a column that nothing selects
	}
	return "INSERT INTO " + in.name + " SELECT " + strings.Join(selected, ",") + " FROM (VALUES " + strings.Join(slices.Repeat([]string{row}, rows), ",") + ")"
}

// Rows returns how many rows Step has added.
func (in *Inserter) Rows() int64 { return in.rows }
