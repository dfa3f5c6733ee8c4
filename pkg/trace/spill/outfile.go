package spill

import (
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/google/renameio/v2"
)

// File is a file that has not appeared yet. Its owner calls Commit, and Abort in any case.
//
// On Linux it has no name until then, so that nothing of it is left whatever ends the process.
// Where the file system has no such files (NFS, some overlays) and elsewhere it has a hidden one,
// which is removed where the process is told to end; a process that is killed leaves it. A file
// that is there is replaced in one step: whoever reads it goes on with the old one. The new one
// has its permissions and, where that is allowed, its owner and group, as if it had been written
// over.
type File struct {
	*os.File
	path string
	end  func() error // replaces what is at path; nil once that is done, or given up
	drop func()       // gives the file up
}

// CreateFile begins a file. Until it appears it is in the folder within, "" for that of the
// path, which must be of the same file system. The folder of the path is made
// when the file appears. Where the path is a link what it names is replaced, not the link.
func CreateFile(path, within string) (*File, error) {
	path = follow(path, func(string) bool { return false })
	if within == "" {
		within = filepath.Dir(path)
	}
	f, err := unnamed(path, within)
	if f != nil || err != nil {
		return f, err
	}
	return hidden(path, within)
}

// hidden begins a file with a name of its own.
func hidden(path, within string) (*File, error) {
	p, err := renameio.NewPendingFile(path, renameio.WithTempDir(within), renameio.WithPermissions(0o644))
	if err != nil {
		return nil, pathError(path, err)
	}
	stop := RemoveOnSignal(p.Name())
	return &File{p.File, path, func() error { defer stop(); return p.CloseAtomicallyReplace() }, func() { p.Cleanup(); stop() }}, nil
}

// Commit has the file appear.
func (f *File) Commit() error {
	if info, err := os.Stat(f.path); err == nil {
		if was, ok := info.Sys().(*syscall.Stat_t); ok { // first, as it clears bits of the mode
			if f.Chown(int(was.Uid), int(was.Gid)) != nil { // only root may, and need not
				_ = f.Chown(-1, int(was.Gid)) // whose members may
			}
		}
		if err := f.Chmod(info.Mode().Perm()); err != nil {
			return pathError(f.path, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	if err := f.end(); err != nil {
		return pathError(f.path, err)
	}
	f.end, f.drop = nil, nil
	return nil
}

// Abort gives up a file that has not appeared; of one that has it does nothing.
func (f *File) Abort() {
	if f.drop != nil {
		f.drop()
		f.end, f.drop = nil, nil
	}
}

// pathError is an error about the file by the name that it is to have.
func pathError(path string, err error) error {
	for {
		switch e := err.(type) {
		case *os.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			return &os.PathError{Op: "write", Path: path, Err: err}
		}
	}
}

// ending is set from a signal that ends the process on.
var ending atomic.Bool

// Settle does not return where a signal is about to end the process: what fails meanwhile
// fails because its file was removed.
func Settle() {
	if ending.Load() {
		select {}
	}
}

// RemoveOnSignal removes a file, or a folder with all that it holds, when the process is
// told to end, which then ends as it would have; until stop is called, once or more often.
func RemoveOnSignal(path string) (stop func()) {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			ending.Store(true)
			for range 100 { // files that are written meanwhile may be in its way
				if os.RemoveAll(path) == nil {
					break
				}
			}
			signal.Reset(s)
			if p, err := os.FindProcess(os.Getpid()); err != nil || p.Signal(s) != nil {
				os.Exit(2)
			}
		case <-done:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(signals)
		close(done)
	})
}
