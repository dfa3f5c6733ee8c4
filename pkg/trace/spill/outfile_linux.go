package spill

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// longestBase is how many bytes of a file's name its temporary name begins with. With a
// dot and a number that stays within the 255 bytes that a name may have.
const longestBase = 230

// unnamed begins a file without a name; both results are nil if the system has no such
// files.
func unnamed(path, within string) (*File, error) {
	fd, err := unix.Open(within, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL):
		return nil, nil // older kernels mistake the flag for another
	case err != nil:
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	self := fmt.Sprintf("/proc/self/fd/%d", fd)
	if _, err := os.Lstat(self); err != nil { // without /proc it could never get a name
		return nil, unix.Close(fd)
	}
	f := &File{File: os.NewFile(uintptr(fd), path), path: path}
	f.drop = func() { f.Close() }
	f.end = func() error { return errors.Join(f.appear(self, within), f.Close()) }
	return f, nil
}

// appear links the file to its name. A link cannot replace a file, so if the name
// exists, the file gets a temporary name first and is then renamed.
func (f *File) appear(self, within string) error {
	if err := f.Sync(); err != nil {
		return err
	}
	link := func(name string) error {
		return unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	}
	err := link(f.path)
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	for {
		base := filepath.Base(f.path)
		name := filepath.Join(within, fmt.Sprintf(".%s%d", base[:min(len(base), longestBase)], rand.Uint64()))
		if err = link(name); errors.Is(err, unix.EEXIST) {
			continue
		} else if err != nil {
			return err
		}
		if err = os.Rename(name, f.path); err != nil {
			os.Remove(name)
		}
		return err
	}
}
