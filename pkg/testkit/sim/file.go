package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
)

// sqliteSink writes tables into one SQLite file.
type sqliteSink struct{ w *sqlitefile.Writer }

// add begins a table. Close of the writer returns its errors.
func (s sqliteSink) add(name string, columns []column) rowSink {
	lines := make([]string, len(columns))
	for i, c := range columns {
		lines[i] = c.ddl()
	}
	return s.w.Table(name, lines)
}

// WriteSQLite writes the trace as a SQLite export. The file appears whole or not at all.
// The same trace and options give the same bytes. Writing interns the strings that
// describe the target, so only one writer may use a trace at a time.
func (t *Trace) WriteSQLite(path string, opt Options) error {
	out, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer out.Cleanup()
	w, err := sqlitefile.Create(out.Name())
	if err != nil {
		return err
	}
	err = export(t, sqliteSink{w}, opt)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := out.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// WriteParquetDir writes the trace as a directory of Parquet files, one per table. Ids
// are unsigned, as in such exports. The directory must not exist; it appears whole or not
// at all.
func (t *Trace) WriteParquetDir(dir string, opt Options) error {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("write %s: the directory is already there", dir)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	defer os.RemoveAll(temp)
	sink := &parquetSink{dir: temp}
	if err := errors.Join(export(t, sink, opt), sink.close()); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	if err := errors.Join(os.Chmod(temp, 0o755), os.Rename(temp, dir)); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	return nil
}
