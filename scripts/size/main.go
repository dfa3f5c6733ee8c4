// Size prints the size of a checkpoint and of each of its columns: bytes, bytes per row,
// and the share of the whole.
//
//	go run ./scripts/size EXPORT CHECKPOINT
package main

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/parquet"
)

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) != 3 {
		fmt.Fprintln(stderr, "size: error: want EXPORT CHECKPOINT")
		return 2
	}
	if err := report(stdout, args[1], args[2]); err != nil {
		fmt.Fprintln(stderr, "size: error:", err)
		return 2
	}
	return 0
}

// column is the size of a column in all files together.
type column struct {
	name  string
	bytes int64
}

func report(w io.Writer, export, checkpoint string) error {
	in, err := bytesOf(export)
	if err != nil {
		return err
	}
	out, err := bytesOf(checkpoint)
	if err != nil {
		return err
	}
	columns, rows, err := columnsOf(checkpoint)
	if err != nil {
		return err
	}
	if rows == 0 || in == 0 {
		return fmt.Errorf("%s: nothing in it", checkpoint)
	}
	perRow := func(bytes int64) float64 { return float64(bytes) / float64(rows) }
	fmt.Fprintf(w, "%-14s %11s  %s\n", "", "bytes", "a row")
	fmt.Fprintf(w, "%-14s %11d  %6.3f\n", "export", in, perRow(in))
	fmt.Fprintf(w, "%-14s %11d  %6.3f  1/%.1f of the export, %d rows\n", "checkpoint", out, perRow(out), float64(in)/float64(out), rows)
	rest := out
	for _, c := range columns {
		rest -= c.bytes
		fmt.Fprintf(w, "  %-12s %11d  %6.3f  %4.1f %%\n", c.name, c.bytes, perRow(c.bytes), 100*float64(c.bytes)/float64(out))
	}
	fmt.Fprintf(w, "  %-12s %11d  %6.3f  %4.1f %%\n", "(footers)", rest, perRow(rest), 100*float64(rest)/float64(out))
	return nil
}

// bytesOf returns the size of a file, or of all files in a directory.
func bytesOf(path string) (n int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// columnsOf adds up the columns of all Parquet files in a checkpoint, largest first.
func columnsOf(checkpoint string) (columns []column, rows int64, err error) {
	err = filepath.WalkDir(checkpoint, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		f, err := parquet.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		rows += f.Rows()
		for _, c := range f.Columns() {
			i := slices.IndexFunc(columns, func(o column) bool { return o.name == c.Name })
			if i < 0 {
				i = len(columns)
				columns = append(columns, column{name: c.Name})
			}
			for g := range f.Groups() {
				columns[i].bytes += f.ChunkSize(g, c.Name)
			}
		}
		return nil
	})
	slices.SortStableFunc(columns, func(a, b column) int { return cmp.Compare(b.bytes, a.bytes) })
	return columns, rows, err
}
