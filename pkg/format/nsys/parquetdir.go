package nsys

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/format/sqlite"
)

// parquetDir is an export with a Parquet file for each table.
type parquetDir struct {
	path  string
	files map[string]string // by table
}

// openParquetDir finds the files of the tables that are read and ignores all others.
func openParquetDir(path string) (*parquetDir, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	d := &parquetDir{path, map[string]string{}}
	for _, e := range entries {
		if table, ok := strings.CutSuffix(e.Name(), ".parquet"); ok && known(table) {
			d.files[table] = filepath.Join(path, e.Name())
		}
	}
	if len(d.files) == 0 {
		return nil, problem(path, "a directory without Parquet tables of nsys",
			"give a .sqlite file, or the directory that 'nsys export --type parquetdir' wrote")
	}
	return d, nil
}

// columns returns the columns of each table. An empty file is a table without rows.
func (d *parquetDir) columns() (map[string][]string, error) {
	tables := map[string][]string{}
	for table := range d.files {
		f, err := d.file(table)
		if err != nil {
			return nil, err
		}
		tables[table] = []string{}
		for _, c := range f.Columns() {
			tables[table] = append(tables[table], c.Name)
		}
		f.Close()
	}
	return tables, nil
}

// open returns a scanner for one goroutine.
func (d *parquetDir) open() (scanner, error) { return &parquetScanner{dir: d}, nil }

// file opens the file of a table.
func (d *parquetDir) file(table string) (*parquet.File, error) {
	f, err := parquet.Open(d.files[table])
	if err != nil {
		return nil, d.damaged(table, err)
	}
	return f, nil
}

// damaged returns the error of a table's file, with advice.
func (d *parquetDir) damaged(table string, err error) error {
	return problem(filepath.Join(d.path, table+".parquet"), strings.TrimPrefix(err.Error(), d.files[table]+": "),
		"copy the directory again or repeat 'nsys export --type parquetdir'")
}

// parquetScanner keeps the file of the last table open.
type parquetScanner struct {
	dir   *parquetDir
	table string
	file  *parquet.File
}

// Close closes the file, if one is open.
func (s *parquetScanner) Close() (err error) {
	if s.file != nil {
		err = s.file.Close()
	}
	s.file = nil
	return err
}

// use opens the file of a table, unless it is open already.
func (s *parquetScanner) use(table string) error {
	if s.file != nil && s.table == table {
		return nil
	}
	s.Close()
	f, err := s.dir.file(table)
	s.table, s.file = table, f
	return err
}

// Rows returns the range of rows of a table, both ends included. They have no ids and
// are numbered from 0; low > high if there are none.
func (s *parquetScanner) Rows(table string) (int64, int64, error) {
	if err := s.use(table); err != nil {
		return 0, -1, err
	}
	return 0, s.file.Rows() - 1, nil
}

// Scan is sqlite.DB.Scan for Parquet: rows low to high, both included, in blocks that
// are valid during the call of fn. An error of fn is returned as it is; any other error
// names the file.
func (s *parquetScanner) Scan(table string, columns []sqlite.Column, low, high int64, fn func(*sqlite.Block) error) error {
	if err := s.use(table); err != nil {
		return err
	}
	block := &sqlite.Block{Cols: make([]sqlite.Vector, len(columns))}
	types := map[string]parquet.Type{}
	for _, c := range s.file.Columns() {
		types[c.Name] = c.Type
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
		block.Cols[i].Null = make([]bool, sqlite.BlockRows)
	}
	var stop error
	err := s.file.Scan(names, [2]int64{low, high + 1}, sqlite.BlockRows, func(chunk *parquet.Chunk) error {
		block.N = chunk.N
		for i := range columns {
			convert(&block.Cols[i], columns[i].Type, &chunk.Cols[i], types[names[i]], chunk.N)
		}
		stop = fn(block)
		return stop
	})
	if err != nil && stop == nil {
		return s.dir.damaged(table, fmt.Errorf("%w", err))
	}
	return err
}

// convert makes v hold n rows of a Parquet column. As in SQLite, a value of another
// type than wanted is null.
func convert(v *sqlite.Vector, want sqlite.Type, from *parquet.Vector, have parquet.Type, n int) {
	fits := have.IsInt() && want == sqlite.Int || have.IsText() && want == sqlite.Text
	for i := range n {
		v.Null[i] = !fits || from.IsNull(i)
	}
	switch {
	case want == sqlite.Int && fits:
		v.Int = from.Int
	case want == sqlite.Int:
		v.Int = absent.Int
	case fits:
		v.Offsets, v.Data = from.Text.Offsets, from.Text.Data
	default:
		v.Offsets, v.Data = absent.Offsets, nil
	}
}
