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

// OutputPath is the file of --output, empty for standard output.
func (c *Call) OutputPath() string {
	if path := c.String(outputFlag); path != "-" {
		return path
	}
	return ""
}

// ToTerminal reports whether the output is read by a person at a terminal.
func (c *Call) ToTerminal() bool { return c.OutputPath() == "" && IsTerminal(c.Stdout) }

// Screen is how wide and high the terminal is that the output goes to, 0 where that is not
// known, and whether colours are wanted there (https://no-color.org).
func (c *Call) Screen() (width, height int, color bool) {
	if file, ok := c.Stdout.(*os.File); ok {
		width, height, _ = term.GetSize(int(file.Fd()))
	}
	kind := os.Getenv("TERM")
	return width, height, os.Getenv("NO_COLOR") == "" && kind != "" && kind != "dumb"
}

// Output runs write on where the output goes: standard output, or a file that
// appears when write has succeeded.
func (c *Call) Output(write func(io.Writer) error) error {
	path := c.OutputPath()
	if path == "" {
		return write(c.Stdout)
	}
	return WriteFile(path, write)
}

// WriteFile runs write on a file that appears when write has succeeded, on a device or
// pipe, or on a file that is open already, whose name is that of its descriptor.
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

// isStream reports whether a file is a device or a pipe, which may be input and
// output at once.
func isStream(info fs.FileInfo) bool { return !info.Mode().IsRegular() && !info.IsDir() }

// IsStream reports whether a path is that of a device or a pipe.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && isStream(info)
}

// SameFile reports whether two names are of one file, which is no stream.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y) && !isStream(x)
}
