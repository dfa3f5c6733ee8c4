package command

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/checkpoint"
	"github.com/hostbound/hostbound/pkg/event"
)

// What can be refused before anything is read is refused then: an output that
// is an input, or a file that is never ours to replace, or cannot be written,
// and a format that there is not.

// Flags that name inputs beside the arguments, and outputs.
var (
	inputFlags     = []string{"thresholds", "source-map"}
	inputListFlags = []string{"baseline", "target"}
	outputFlags    = []string{"o", "checkpoint", "flame"}
)

// guard refuses what cannot or must not be written.
func (c *Context) guard(formats []string) error {
	if err := c.checkFormat(formats); err != nil {
		return err
	}
	inputs := c.inputPaths()
	for _, name := range outputFlags {
		out := c.String(name)
		if out == "" || out == "-" {
			continue
		}
		for _, in := range inputs {
			if err := c.checkNotInput(out, in); err != nil {
				return err
			}
		}
		var err error
		if name == "checkpoint" {
			err = checkpoint.Check(out)
		} else {
			err = checkFile(out)
		}
		if err != nil {
			return err
		}
	}
	return c.checkStdio(inputs)
}

// checkFormat refuses formats that the command does not write.
func (c *Context) checkFormat(formats []string) error {
	format := c.String("format")
	if format != "" && len(formats) > 0 && !slices.Contains(formats, format) {
		shown := slices.DeleteFunc(slices.Clone(formats), func(f string) bool { return f == formatJSONL && !slices.Contains(formats, formatText) })
		last := len(shown) - 1
		return &UsageError{"unknown format " + format, "--format takes " + strings.Join(shown[:last], ", ") + " or " + shown[last]}
	}
	if slices.Contains(formats, formatArrow) && format != formatText && format != formatJSON {
		_, err := c.rowFormat()
		return err
	}
	return nil
}

// inputPaths are the files that the command line says are read.
func (c *Context) inputPaths() []string {
	var paths []string
	for _, name := range inputFlags {
		paths = append(paths, c.String(name))
	}
	runs := slices.Clone(c.Files) // of diff they may be lists, too
	for _, name := range inputListFlags {
		runs = append(runs, c.StringSlice(name)...)
	}
	for _, run := range runs {
		for _, p := range append(strings.Split(run, ","), run) {
			more, _ := filepath.Glob(p) // what is no pattern is itself
			paths = append(append(paths, p), more...)
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return p == "" || p == "-" })
}

// checkNotInput refuses an output that is an input, also by another name, or
// that is within one or has one within it.
func (c *Context) checkNotInput(out, in string) error {
	info, err := os.Stat(in)
	if err != nil {
		return nil // whoever opens it says so
	}
	if o, err := os.Stat(out); err == nil && os.SameFile(o, info) && !isStream(o) {
		return &UsageError{out + ": the output is the input " + in, "write to another file"}
	}
	o, i := realPath(out), realPath(in)
	if info.IsDir() && within(o, i) {
		return &UsageError{fmt.Sprintf("%s: the output is in the input %s", out, in), "write somewhere else"}
	}
	if within(i, o) {
		return &UsageError{fmt.Sprintf("%s: the input %s is in the output", out, in), "write somewhere else"}
	}
	return nil
}

// isStream tells whether a file is a device or a pipe: that may be both.
func isStream(info fs.FileInfo) bool { return !info.Mode().IsRegular() && !info.IsDir() }

// realPath is a path without links, of what is not there yet that of the folder
// it will be in.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if p, err := filepath.EvalSymlinks(abs); err == nil {
		return p
	}
	if dir := filepath.Dir(abs); dir != abs {
		return filepath.Join(realPath(dir), filepath.Base(abs))
	}
	return abs
}

// within tells whether a path lies in a folder, which it is not itself.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// checkStdio refuses standard output that goes to an input, and an output that
// is what standard input is read from.
func (c *Context) checkStdio(inputs []string) error {
	if out := regular(c.Stdout); out != nil {
		for _, in := range inputs {
			if info, err := os.Stat(in); err == nil && os.SameFile(out, info) {
				return &UsageError{"standard output is the input " + in, "write to another file"}
			}
		}
		if in := regular(c.Stdin); in != nil && len(c.Files) == 0 && os.SameFile(in, out) {
			return &UsageError{"standard output is standard input", "write to another file"}
		}
	}
	in := regular(c.Stdin)
	if in == nil || len(inputs) > 0 {
		return nil
	}
	for _, name := range outputFlags {
		if info, err := os.Stat(c.String(name)); err == nil && os.SameFile(in, info) {
			return &UsageError{c.String(name) + ": the output is standard input", "write to another file"}
		}
	}
	return nil
}

// regular describes a stream that is a regular file, nil for any other.
func regular(stream any) fs.FileInfo {
	f, ok := stream.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// checkFile refuses a file that cannot be written, or that no command of ours
// can have written: an export that a filter before this one may be reading.
func checkFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return &UsageError{path + ": is a directory", "give the name of a file"}
	case err == nil && isStream(info):
		return nil
	case err == nil:
		if err := checkReplaceable(path); err != nil {
			return err
		}
	}
	return checkpoint.CheckDir(filepath.Dir(path))
}

// checkReplaceable refuses to replace databases and captures.
func checkReplaceable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // it is replaced by renaming
	}
	defer f.Close()
	var head [16]byte
	n, _ := f.Read(head[:])
	if ext := filepath.Ext(path); ext == ".nsys-rep" || ext == ".qdrep" || bytes.HasPrefix(head[:n], []byte("SQLite format 3")) {
		return &event.Error{Msg: path + ": will not replace an nsys report, which may be what is read", Advice: "write to another file, or remove it first"}
	}
	return nil
}
