package nsys

import (
	"fmt"
	"os"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
)

// export is an export as named tables, in any file format. Its scanners are independent
// of each other; each goroutine has one.
type export interface {
	// columns returns the columns of each table, which may have no rows.
	columns() (map[string][]string, error)
	open() (scanner, error)
}

// scanner reads tables. The rows of a table are numbered from low to high as Rows
// returns them, both included; some numbers may be missing.
type scanner interface {
	Rows(table string) (low, high int64, err error)
	Scan(table string, columns []sqlite.Column, low, high int64, fn func(*sqlite.Block) error) error
	Close() error
}

// openExport opens the export at path, in whichever form it has.
func openExport(path string) (export, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openParquetDir(path)
	}
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	return sqliteFile{path, db}, nil
}

// sqliteFile is an SQLite export. Its database is open until columns returns.
type sqliteFile struct {
	path string
	db   *sqlite.DB
}

func (f sqliteFile) columns() (map[string][]string, error) {
	db := f.db
	defer db.Close()
	unlisted, err := db.Unlisted()
	if err != nil {
		return nil, err
	}
	for _, t := range eventTables {
		for _, name := range []string{t.name, stringsTable, t.stacks} {
			if what, ok := unlisted[name]; ok {
				return nil, problem(f.path, fmt.Sprintf("%s is %s: nsys writes tables with row ids, and no other is read", name, what),
					"repeat 'nsys export', or make a table of it: CREATE TABLE new AS SELECT * FROM "+name)
			}
		}
	}
	return db.Tables()
}

func (f sqliteFile) open() (scanner, error) {
	db, err := f.db.Another()
	if err != nil {
		return nil, err // a nil interface, not a nil *sqlite.DB
	}
	return db, nil
}
