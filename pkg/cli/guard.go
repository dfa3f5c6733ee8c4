package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Guard refuses outputs that are inputs, even under another name, through a link, in a
// directory or as a shell redirection, and two outputs that are the same file. Files on
// the command line are checked before a command begins; a command calls Guard for
// further files that only it knows.
func (c *Call) Guard(moreInputs []string) error {
	inputs, outputs := c.filePaths(c.cmd)
	inputs = append(inputs, realFiles(moreInputs)...)
	for _, out := range outputs {
		for _, in := range inputs {
			if err := checkNotInput(out, in); err != nil {
				return err
			}
		}
	}
	if err := checkApart(outputs); err != nil {
		return err
	}
	return c.checkStdio(inputs, outputs)
}

// checkApart refuses two outputs that are the same file: one of them would be lost.
func checkApart(outputs []string) error {
	for i, a := range outputs {
		for _, b := range outputs[:i] {
			if !IsStream(a) && (SameFile(a, b) || realPath(a) == realPath(b)) {
				return Misuse(a+": two outputs are one file", "write each to a file of its own")
			}
		}
	}
	return nil
}

// filePaths returns the files that the command line says are read and written. An
// argument may be a comma-separated list, or a pattern.
func (c *Call) filePaths(cmd *Command) (inputs, outputs []string) {
	named := c.Files
	for _, f := range cmd.Flags {
		switch f.File {
		case Reads:
			named = append(named[:len(named):len(named)], c.given(&f)...)
		case Writes:
			outputs = append(outputs, c.given(&f)...)
		}
	}
	for _, name := range named {
		for _, p := range append(strings.Split(name, ","), name) {
			more, _ := filepath.Glob(p) // a name that is not a pattern is kept, too
			inputs = append(append(inputs, p), more...)
		}
	}
	return realFiles(inputs), realFiles(outputs)
}

// realFiles removes names that stand for standard input and output.
func realFiles(paths []string) (files []string) {
	for _, p := range paths {
		if p != "" && p != "-" {
			files = append(files, p)
		}
	}
	return files
}

// checkNotInput refuses an output that is an input, is within one, or contains one.
func checkNotInput(out, in string) error {
	info, err := os.Stat(in)
	if err != nil {
		return nil // the error is reported when the file is opened
	}
	if SameFile(out, in) {
		return Misuse(out+": the output is the input "+in, "write to another file")
	}
	o, i := realPath(out), realPath(in)
	if info.IsDir() && within(o, i) {
		return Misuse(fmt.Sprintf("%s: the output is in the input %s", out, in), "write somewhere else")
	}
	if within(i, o) {
		return Misuse(fmt.Sprintf("%s: the input %s is in the output", out, in), "write somewhere else")
	}
	return nil
}

// realPath returns a path without links. If the file does not exist yet, it resolves
// the folder that it will be in.
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

// within reports whether a path is in a folder, but is not the folder itself.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// checkStdio refuses standard output that goes to an input, and an output that standard
// input is read from.
func (c *Call) checkStdio(inputs, outputs []string) error {
	in, out := regular(c.Stdin), regular(c.Stdout)
	if out != nil {
		for _, path := range inputs {
			if info, err := os.Stat(path); err == nil && os.SameFile(out, info) {
				return Misuse("standard output is the input "+path, "write to another file")
			}
		}
		if in != nil && len(c.Files) == 0 && os.SameFile(in, out) {
			return Misuse("standard output is standard input", "write to another file")
		}
	}
	if in == nil || len(inputs) > 0 {
		return nil
	}
	for _, path := range outputs {
		if info, err := os.Stat(path); err == nil && os.SameFile(in, info) {
			return Misuse(path+": the output is standard input", "write to another file")
		}
	}
	return nil
}

// regular returns the FileInfo of a stream that is a regular file, nil for any other.
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
