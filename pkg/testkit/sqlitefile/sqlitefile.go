// Package sqlitefile writes SQLite files to test with, through modernc's driver.
//
// A row goes into its table with others, [rowsPerStatement] to a statement: a driver
// call costs about as much as ten rows of such a statement, so this is four times as fast as
// a row at a time. A column that has one value in all rows of a statement is bound once, not
// in every row: binding is a third of the time, and most columns of an export are so.
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
// The first error sticks, and Close returns it, so a caller in a hurry checks only Close.
// A Writer belongs to one goroutine.
type Writer struct {
	path   string
	conn   driver.Conn
	tables []*Inserter
	err    error
}

// Create begins a SQLite file at path, or adds to the one that is there. It is complete
// once Close has returned nil: there is no journal, so a file whose Close failed is garbage.
func Create(path string) (*Writer, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	// As an address, a path may hold any character and cannot be taken for ":memory:".
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

// Exec runs SQL statements, separated by semicolons, that return nothing of interest. The
// transaction that Close commits is under way: what cannot run inside one stands between
// COMMIT and BEGIN.
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

// exec runs a statement with the values of its parameters, which it does not keep.
func exec(stmt driver.Stmt, values []driver.Value) error {
	named := make([]driver.NamedValue, len(values))
	for i, v := range values {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	_, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), named)
	return err
}

// keep makes err that of the writer if it is the first.
func (w *Writer) keep(err error) error {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write %s: %w", w.path, err)
	}
	return w.err
}

// flush has the tables write the rows that they hold.
func (w *Writer) flush() {
	for _, in := range w.tables {
		in.flush()
	}
}

// Close ends the transaction and the file and returns the first error there was. A second
// Close does nothing.
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

// Table creates a table and returns the way to fill it. The columns are in the words of
// CREATE TABLE: "id INTEGER NOT NULL PRIMARY KEY -- a comment". Where the table cannot be
// made, the Inserter swallows rows and the error is that of the Writer.
func (w *Writer) Table(name string, columns []string) *Inserter {
	in := &Inserter{w: w, name: name, columns: len(columns), row: make([]driver.Value, len(columns)), many: map[string]driver.Stmt{}}
	in.batch = max(1, min(rowsPerStatement, maxVariables/max(1, len(columns))))
	if w.Exec("CREATE TABLE "+name+" ("+joinColumns(columns)+")") == nil {
		w.tables = append(w.tables, in)
	}
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

// Inserter adds rows to one table. Set the columns, then Step. What was set stays set for
// the rows after it; a column that was never set is NULL. Columns count from 0; setting one
// below 0 does nothing, so that a row can go to tables of several versions with the columns
// that a version lacks at -1. Setting a column that the table does not have is an error.
type Inserter struct {
	w       *Writer
	name    string
	columns int
	batch   int // rows of a statement
	// many are the statements for a whole batch, by which columns differ between its rows.
	many    map[string]driver.Stmt
	row     []driver.Value
	pending []driver.Value // rows that wait for their statement
	bound   []driver.Value // what the statement takes, reused
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

// Text sets column i to s, which need not be valid UTF-8.
func (in *Inserter) Text(i int, s string) { in.set(i, s) }

// Null sets column i to NULL.
func (in *Inserter) Null(i int) { in.set(i, nil) }

// Step adds the row.
func (in *Inserter) Step() error {
	in.pending = append(in.pending, in.row...)
	in.rows++
	if len(in.pending) == in.batch*in.columns {
		in.flush()
	}
	return in.w.err
}

// flush writes the rows that wait.
func (in *Inserter) flush() {
	if len(in.pending) > 0 && in.w.err == nil {
		in.w.keep(in.write(in.differing()))
	}
	in.pending = in.pending[:0]
}

// differing has a byte for each column: 1 where its value is not the same in all rows that
// wait, else 0.
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

// insert is the statement for so many rows: first come the parameters of columns that do not
// differ, then those of the others, row by row.
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
		row = "(0)" // which nothing selects
	}
	return "INSERT INTO " + in.name + " SELECT " + strings.Join(selected, ",") + " FROM (VALUES " + strings.Join(slices.Repeat([]string{row}, rows), ",") + ")"
}

// Rows is how many rows Step has added.
func (in *Inserter) Rows() int64 { return in.rows }
