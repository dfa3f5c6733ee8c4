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

// File is a file that has not appeared yet. Its owner calls Commit, and Abort in any
// case.
//
// On Linux it has no name until Commit, so nothing is left behind however the process
// ends. Where the file system has no such files (NFS, some overlays) and elsewhere, it
// has a hidden name. It is removed if the process is told to end; a process that is
// killed leaves it behind. An existing file is replaced in one step: its readers go on
// with the old one. The new file gets the old one's permissions and, if allowed, owner
// and group, as if it had been overwritten.
type File struct {
	*os.File
	path string
	end  func() error // replaces the file at path; nil once done or given up
	drop func()       // gives the file up
}

// CreateFile begins a file. Until Commit it is in the folder within, which must be on
// the same file system; "" stands for the folder of path. Commit makes the folder of
// path. If path is a link, its target is replaced, not the link.
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

// hidden begins a file with a hidden name.
func hidden(path, within string) (*File, error) {
	p, err := renameio.NewPendingFile(path, renameio.WithTempDir(within), renameio.WithPermissions(0o644))
	if err != nil {
		return nil, pathError(path, err)
	}
	stop := RemoveOnSignal(p.Name())
	return &File{p.File, path, func() error { defer stop(); return p.CloseAtomicallyReplace() }, func() { p.Cleanup(); stop() }}, nil
}

// Commit makes the file appear.
func (f *File) Commit() error {
	if info, err := os.Stat(f.path); err == nil {
		if was, ok := info.Sys().(*syscall.Stat_t); ok { // before Chmod, as it clears mode bits
			if f.Chown(int(was.Uid), int(was.Gid)) != nil { // only root may change the owner; the group is worth a try
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

// Abort gives up a file that has not appeared. After Commit it does nothing.
func (f *File) Abort() {
	if f.drop != nil {
		f.drop()
		f.end, f.drop = nil, nil
	}
}

// pathError returns an error about the file under its final name.
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

// ending is set once a signal is about to end the process.
var ending atomic.Bool

// Settle blocks for ever if a signal is about to end the process: an error is then due
// to files that were removed, and must not be reported.
func Settle() {
	if ending.Load() {
		select {}
	}
}

// RemoveOnSignal removes a file, or a folder with its contents, if a signal tells the
// process to end. The process then ends by that signal. It lasts until stop is called;
// further calls of stop do nothing.
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
			for range 100 { // files being written may be in the way
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
