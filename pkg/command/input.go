package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/checkpoint"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/nsys"
	"github.com/hostbound/hostbound/pkg/table"
	"github.com/hostbound/hostbound/pkg/wire"
)

// input is what a filter was given: events, or the rows that come out of them.
type input struct {
	events  event.Source
	table   *table.Table
	isStdin bool
	warner  event.Warner // what events come from, nil where it has no warnings
}

// kind is what a file holds.
type kind int

const (
	export kind = iota
	capture
	stream
	parquet
)

// open opens files, or standard input where there are none.
func (c *Context) open(files []string) (*input, error) {
	in, err := c.openAny(files)
	if err == nil {
		c.inputs = append(c.inputs, in)
	}
	return in, err
}

func (c *Context) openAny(files []string) (*input, error) {
	if len(files) == 0 || len(files) == 1 && files[0] == "-" {
		if isTerminal(c.Stdin) {
			return nil, &UsageError{"no input", "give a file, or pipe a stream in; '" + c.name + " --help' shows how"}
		}
		in, err := openStdin(c.Stdin)
		if err != nil {
			return nil, err
		}
		return c.choose(in)
	}
	kinds := make([]kind, len(files))
	for i, f := range files {
		k, err := kindOf(f)
		if err != nil {
			return nil, err
		}
		kinds[i] = k
		if k := sameAsOneOf(f, files[:i]); k >= 0 {
			return nil, &UsageError{f + " and " + files[k] + " are the same file", "give each report once"}
		}
		if i > 0 && (k != kinds[0] && max(k, kinds[0]) > capture) {
			return nil, &UsageError{"cannot read " + f + " together with " + files[0], "give exports alone, or one stream"}
		}
		if i > 0 && k > capture {
			return nil, &UsageError{"one stream or checkpoint at a time, not also " + f, "give the exports themselves: nsys2arrow numbers ranks over all of them"}
		}
	}
	if kinds[0] > capture && c.IsSet("separate") {
		return nil, &UsageError{"--separate comes too late: the reports were put together already", "give it to nsys2arrow, or give the exports themselves"}
	}
	switch kinds[0] {
	case stream:
		f, err := os.Open(files[0])
		if err != nil {
			return nil, err
		}
		in, err := openStream(f, files[0])
		if err != nil {
			return nil, err
		}
		return c.choose(in)
	case parquet:
		return c.openCheckpoint(files[0])
	}
	in, err := c.openExports(files, kinds)
	if err != nil {
		return nil, err
	}
	return c.choose(in)
}

// warner returns a source as one with warnings, nil where it has none.
func warner(src event.Source) event.Warner {
	w, _ := src.(event.Warner)
	return w
}

// sameAsOneOf returns the place of the file among others that is the same one,
// be it by another name, -1 for none.
func sameAsOneOf(path string, others []string) int {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(others, func(o string) bool {
		other, err := os.Stat(o)
		return err == nil && os.SameFile(info, other)
	})
}

// kindOf looks at a file's first bytes.
func kindOf(path string) (kind, error) {
	if path == "-" {
		return 0, &UsageError{"standard input cannot be read together with files", "give either"}
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	switch {
	case info.IsDir() && checkpoint.IsDataSet(path):
		return parquet, nil
	case info.IsDir():
		return export, nil
	case !info.Mode().IsRegular(): // a pipe, such as <(isolate …), of which nothing may be read ahead
		return stream, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var head [16]byte
	n, err := io.ReadFull(f, head[:])
	switch {
	case n == 0 && (err == io.EOF || err == nil):
		return 0, &event.Error{Msg: path + ": the file is empty", Advice: "export again: 'nsys export --type sqlite REPORT.nsys-rep'"}
	case err != nil && err != io.ErrUnexpectedEOF:
		return 0, fmt.Errorf("%s: %w", path, err)
	case bytes.HasPrefix(head[:n], []byte("PAR1")):
		return parquet, nil
	case bytes.HasPrefix(head[:n], []byte("\xff\xff\xff\xff")), bytes.HasPrefix(head[:n], []byte("ARROW1")):
		return stream, nil
	case filepath.Ext(path) == ".nsys-rep", filepath.Ext(path) == ".qdrep":
		return capture, nil
	case filepath.Ext(path) == ".arrows":
		return stream, nil
	}
	return export, nil
}

// openStdin opens a stream on standard input, which is at any stage.
func openStdin(r io.Reader) (*input, error) {
	br := bufio.NewReaderSize(r, 64)
	if head, _ := br.Peek(16); bytes.HasPrefix(head, []byte("SQLite format 3")) || bytes.HasPrefix(head, []byte("PAR1")) {
		return nil, &UsageError{"standard input is a file that cannot be read front to back", "give its name as an argument"}
	}
	in, err := openStream(unread{br, r}, "")
	if in != nil {
		in.isStdin = true
	}
	return in, err
}

// unread reads what was peeked at and then the input itself, without the copy
// through the buffer.
type unread struct {
	peeked *bufio.Reader
	r      io.Reader
}

func (u unread) Read(p []byte) (int, error) {
	if n := u.peeked.Buffered(); n > 0 {
		return u.peeked.Read(p[:min(n, len(p))])
	}
	return u.r.Read(p)
}

func openStream(r io.Reader, path string) (*input, error) {
	events, rows, err := wire.Open(r)
	if err != nil {
		if path != "" {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return nil, err
	}
	if rows != nil {
		return &input{table: rows}, nil
	}
	return &input{events: events, warner: warner(events)}, nil
}

// openExports opens nsys exports, converting captures first.
func (c *Context) openExports(files []string, kinds []kind) (*input, error) {
	paths := append([]string(nil), files...)
	var converted string
	for i, k := range kinds {
		if k != capture {
			continue
		}
		if converted == "" {
			dir, err := os.MkdirTemp("", "hostbound-")
			if err != nil {
				return nil, err
			}
			converted = dir
			c.cleanup = append(c.cleanup, func() { os.RemoveAll(dir) }) // rows may be read to the very end
		}
		path, err := convert(c.Context.Context, files[i], filepath.Join(converted, fmt.Sprint(i)))
		if err != nil {
			return nil, err
		}
		paths[i] = path
	}
	progress := newProgress(c)
	r, err := nsys.Open(paths, nsys.Options{Progress: progress.rows, Separate: c.Bool("separate")})
	progress.done()
	if err != nil {
		return nil, err
	}
	c.warn(r.Header())
	c.sayParts(r.Header())
	return &input{events: r}, nil
}

// warn says what is wrong with reports.
func (c *Context) warn(h *event.Header) {
	for _, rep := range h.Reports {
		for _, w := range rep.Warnings {
			fmt.Fprintf(c.Stderr, "%s: %s%s: %s\n", c.name, warningPrefix, rep.File, w) // Warnings has it from the header
		}
	}
}

// sayParts says which reports are parts of one run of a process.
func (c *Context) sayParts(h *event.Header) {
	for _, rank := range h.RankNumbers() {
		var files []string
		for i := range h.Reports {
			if slices.Contains(h.Reports[i].Ranks, rank) {
				files = append(files, h.Reports[i].File)
			}
		}
		if len(files) > 1 {
			c.Log(fmt.Sprintf("rank %d is in %s, one after the other; the time between is not recorded", rank, strings.Join(files, ", ")))
		}
	}
}

// convert exports a capture into a folder of its own.
func convert(ctx context.Context, path, dir string) (string, error) {
	program, err := exec.LookPath("nsys")
	if err != nil {
		return "", &event.Error{Msg: path + ": reading a .nsys-rep takes the program nsys, which is not on PATH",
			Advice: "export it where Nsight Systems is installed: nsys export --type sqlite " + path}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	base := filepath.Base(path)
	out := filepath.Join(dir, strings.TrimSuffix(base, filepath.Ext(base))+".sqlite")
	cmd := exec.CommandContext(ctx, program, "export", "--type", "sqlite", "--output", out, path)
	if err := cmd.Run(); err != nil { // what it prints may hold the command line of the capture
		return "", &event.Error{Msg: fmt.Sprintf("%s: nsys export failed: %v", path, err), Advice: "run it by hand to see why: nsys export --type sqlite " + path}
	}
	return out, nil
}

// hintFor says what to do about errors that do not say it themselves.
func hintFor(err error) string {
	switch {
	case errors.Is(err, wire.ErrCut):
		return "the filter that wrote it failed or was killed: its own message comes before this one"
	case errors.Is(err, fs.ErrNotExist):
		return "check the name"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file"
	}
	return ""
}
