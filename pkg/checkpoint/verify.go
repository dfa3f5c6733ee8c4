package checkpoint

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hostbound/hostbound/pkg/parquet"
)

// Verify reads all of a checkpoint, a file or a data set, and tells whether it
// is what was written.
func Verify(path string) error {
	if !IsDataSet(path) {
		return verifyFile(path)
	}
	r, err := Open(path, ReadOptions{}) // which compares the files with the manifest
	if err != nil {
		return err
	}
	defer r.Close()
	var errs []error
	for i, f := range r.files {
		if err := f.Verify(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.paths[i], err))
		}
	}
	return errors.Join(errs...)
}

// verifyFile reads a file to its end and compares all hashes. The error names the file.
func verifyFile(path string) error {
	f, err := parquet.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = readHeader(f); err == nil {
		err = f.Verify()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Clean(path), err)
	}
	return nil
}
