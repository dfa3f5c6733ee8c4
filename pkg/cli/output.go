package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/term"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// OutputPath returns the file of --output, "" for standard output.
func (c *Call) OutputPath() string {
	if path := c.String(outputFlag); path != "-" {
		return path
	}
	return ""
}

// ToTerminal reports whether the output goes to a terminal.
func (c *Call) ToTerminal() bool { return c.OutputPath() == "" && IsTerminal(c.Stdout) }

// Screen returns the width and height of the output's terminal, 0 if unknown, and
// whether colours are wanted (https://no-color.org).
func (c *Call) Screen() (width, height int, color bool) {
	if file, ok := c.Stdout.(*os.File); ok {
		width, height, _ = term.GetSize(int(file.Fd()))
	}
	kind := os.Getenv("TERM")
	return width, height, os.Getenv("NO_COLOR") == "" && kind != "" && kind != "dumb"
}

// Output calls write with the output: standard output, or a file that appears when
// write has succeeded.
func (c *Call) Output(write func(io.Writer) error) error {
	path := c.OutputPath()
	if path == "" {
		return write(c.Stdout)
	}
	return WriteFile(path, write)
}

// WriteFile calls write with a file that appears when write has succeeded. path may
// also be a device, a pipe, or the name of an open descriptor; these are written
// directly.
func WriteFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && isStream(info) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	switch fd := spill.Descriptor(path); fd {
	case -1:
	case int(os.Stdout.Fd()):
		return write(os.Stdout)
	case int(os.Stderr.Fd()):
		return write(os.Stderr)
	default:
		f := os.NewFile(uintptr(fd), path)
		return errors.Join(write(f), f.Close())
	}
	f, err := spill.CreateFile(path, "")
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}

// isStream reports whether a file is a device or a pipe, which may be input and output
// at once.
func isStream(info fs.FileInfo) bool { return !info.Mode().IsRegular() && !info.IsDir() }

// IsStream reports whether a path is a device or a pipe.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && isStream(info)
}

// SameFile reports whether two names refer to the same file, which is not a device or
// pipe.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y) && !isStream(x)
}
