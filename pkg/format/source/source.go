// Package source opens what the filters read: reports of profilers, streams and
// checkpoints. It joins the formats, which know nothing of one another.
//
// # Adding a source
//
// A new source is one file in this package with its Format, and a line in formats: its
// name, how its files are recognised by their first bytes, and what opens them. Every
// filter then reads it, --checkpoint keeps it as one file per rank, and what cannot be
// read together with it is refused. event.Readers gives the filter stage of its streams.
// Advice on what to record depends on the profiler: package doctor, and remedies in
// verdict, gap and step, look at the header's Source and treat an unknown one as nsys.
package source

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// formats are tried in this order; the first that matches is the format of a file.
var formats = []*Format{&parquetCheckpoint, &arrowStream, &nsysCapture, &nsysDirectory, &torchTrace, &rocpdDatabase, &nsysDatabase}

// Format is a kind of input.
type Format struct {
	// Name is what users call such a file.
	Name string
	// Reports is what the files are reports of. Several files with the same Reports can
	// be read together, as one run. It is "" for files that are read alone: rows
	// written by a filter.
	Reports string
	// Matches reports whether a file may be of this format.
	Matches func(*File) bool
	// Certain reports whether a file that matches is certainly of this format and not, say,
	// a document that a filter wrote. nil: every match is certain.
	Certain func(*File) bool
	// Convert converts a file to another format with the same Reports, in a directory
	// that it makes, and returns the new file's name. nil if no conversion is needed.
	Convert func(ctx context.Context, path, dir string) (string, error)
	// Again says how to write such a file again.
	Again string
	// Open opens files: several if they are reports, else one.
	Open func(paths []string, opt *Options) (*Input, error)
}

// File is a file to be recognised.
type File struct {
	// Path is the name as given.
	Path string
	// Info describes the file; links are followed.
	Info fs.FileInfo
	// Head is the beginning of a regular file, at most headBytes long. It is empty for
	// a pipe, from which nothing may be read ahead.
	Head []byte
}

// headBytes is more than any format needs to be recognised, including the first keys of
// JSON.
const headBytes = 512

// Options say which part of the inputs is read, and how.
type Options struct {
	// Context, when cancelled, ends programs that convert files.
	Context context.Context
	// Selection chooses rows. If the input has no steps yet, its choice of steps is
	// ignored here and left to the stage that finds them.
	Selection checkpoint.Selection
	// Columns returns the columns that are needed of an input with this header, 0 for
	// all. nil: all.
	Columns func(*event.Header) event.Set
	// Launched returns the class of the kernels whose launch calls are needed of an
	// input with this header, false if those of all GPU rows are. nil: all. It only
	// saves time, and only for reports of Nsight Systems.
	Launched func(*event.Header) (event.Class, bool)
	// HostClasses returns the classes of API calls and NVTX ranges that are needed of
	// an input with this header, false if all are. nil: all. It only saves time, and
	// only for reports of Nsight Systems.
	HostClasses func(*event.Header) (event.ClassSet, bool)
	// Host are the wanted kinds of rows about host threads (event.OS, event.Run,
	// event.Sample, event.Backtrace). Reading them takes time, and few filters use
	// them. Streams and checkpoints ignore Host.
	Host []event.Kind
	// Callers leaves out the rows of threads that no GPU waits for: see nsys.Options.
	// It only saves time, and only for reports.
	Callers bool
	// Pause is how long, in ns, GPUs must be idle for all rows about the host to be
	// needed: see nsys.Options. It overrides the savings above, for reports of Nsight
	// Systems only.
	Pause int64
	// Separate treats reports as being of different machines or runs: they may lie
	// apart in time, and processes may look the same.
	Separate bool
	// Partial reads what there is of a trace that was cut short. Python also reads its
	// calls of Python functions. Both are for traces of PyTorch's profiler only.
	Partial, Python bool
	// Memory is how many bytes reading exports may take, 0 for the default.
	Memory int64
	// Progress, if not nil, is called with the file that is being read and the number
	// of its rows read so far, from several goroutines.
	Progress func(path string, rows int64)
}

// Input is what a filter was given: events or a table of results. It is read by one
// goroutine at a time.
type Input struct {
	// Events are the chosen rows, nil if there is a Table.
	Events event.Source
	// Warner has the warnings of the filters that wrote Events, nil if there are none.
	Warner event.Warner
	// Table is the rows of a result.
	Table *table.Table
	// Fresh: the input is reports, so no filter has passed on their warnings yet.
	Fresh bool

	chosen  bool // the format itself has left out rows that were not chosen
	closers []func()
}

// opened returns the input of opened reports.
func opened[R interface {
	event.Source
	Close()
}](r R, err error) (*Input, error) {
	if err != nil {
		return nil, err
	}
	return &Input{Events: r, closers: []func(){r.Close}}, nil
}

// Reports is the Events of several reports, as long as nothing was left out. Rows of a
// report that shares no rank with another are contiguous.
type Reports interface {
	event.Source
	// Paths returns the files of the reports, in the order of the header.
	Paths() []string
	// Report returns the number of the report that the last batch is from.
	Report() int
}

// Close releases the input, converted files included. Its rows must not be read any
// more.
func (in *Input) Close() {
	for _, f := range in.closers {
		f()
	}
	in.closers = nil
}

// Done closes an input that was read to its end. Its header and its warnings stay
// available.
func (in *Input) Done() {
	in.Close()
	if in.Events != nil {
		in.Events = &ended{*in.Events.Header()}
	}
	if in.Warner != nil {
		in.Warner = warned(in.Warner.Warnings())
	}
}

// ended is a source whose events have all been read.
type ended struct{ header event.Header }

func (e *ended) Header() *event.Header       { return &e.header }
func (e *ended) Next() (*event.Batch, error) { return nil, io.EOF }

// warned is the warnings of a source that has been read.
type warned []string

func (w warned) Warnings() []string { return w }

// refused returns the error of an input that cannot be read, with advice.
func refused(advice, format string, args ...any) error {
	return &event.Error{Msg: fmt.Sprintf(format, args...), Advice: advice}
}

// Open opens files: reports of one kind, or one stream or checkpoint.
func Open(paths []string, opt *Options) (*Input, error) {
	found, err := recognise(paths)
	if err != nil {
		return nil, err
	}
	format := found[0]
	if err := format.check(opt); err != nil {
		return nil, err
	}
	paths, remove, err := convert(paths, found, opt)
	if err != nil {
		remove()
		return nil, err
	}
	in, err := format.Open(paths, opt)
	if err != nil {
		remove()
		return nil, err
	}
	in.closers = append(in.closers, remove) // rows may be read from there until the end
	in.Fresh = format.Reports != ""
	if err := in.choose(opt); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// check refuses options that have no effect on files of the format.
func (f *Format) check(opt *Options) error {
	switch {
	case f.Reports == "" && opt.Separate:
		return refused("give it to nsys2arrow, or give the exports themselves", "--separate has no effect: the reports were put together already")
	case f != &torchTrace && (opt.Partial || opt.Python):
		return refused("leave them out, or give a trace of PyTorch's profiler", "--partial and --python have no effect: no trace of PyTorch's profiler")
	}
	return nil
}

// Check returns the error that Open would return before reading any rows: files are
// missing or empty, or cannot be read together.
func Check(paths []string) error {
	_, err := recognise(paths)
	return err
}

// recognise returns the formats of files, or an error if they cannot be read together.
// Reports of one profiler can be read together, anything else only alone. It reads only
// the first bytes, so a mistake in the last name costs nothing.
func recognise(paths []string) (found []*Format, err error) {
	for i, path := range paths {
		if path == "-" {
			return nil, refused("give either", "standard input cannot be read together with files")
		}
		f, err := inspect(path)
		if err != nil {
			return nil, err
		}
		format := match(f)
		if format == nil || format == &torchTrace {
			if what, advice := f.stranger(); what != "" {
				return nil, refused(advice, "%s: %s, not a trace", path, what)
			}
		}
		if format == nil {
			format = unknown(path)
		}
		found = append(found, format)
		if k := sameAsOneOf(path, paths[:i]); k >= 0 {
			return nil, refused("give each report once", "%s and %s are the same file", path, paths[k])
		}
		switch {
		case i == 0:
		case format.Reports != found[0].Reports:
			return nil, refused("give exports alone, or one stream", "cannot read %s together with %s", path, paths[0])
		case format.Reports == "":
			return nil, refused("give the exports themselves: nsys2arrow numbers ranks over all of them", "one stream or checkpoint at a time, not also %s", path)
		}
	}
	return found, nil
}

// inspect reads the first bytes of a file; a directory has none. An empty file is an
// error, since nothing says what it was meant to be.
func inspect(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, Info: info}
	if !info.Mode().IsRegular() {
		return f, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f.Head, err = io.ReadAll(io.LimitReader(file, headBytes))
	switch {
	case err != nil:
		return nil, err
	case len(f.Head) == 0:
		again := "its writer failed, or has not started"
		if format := unknown(path); format != &nsysDatabase || strings.EqualFold(filepath.Ext(path), ".sqlite") {
			again = format.Again
		}
		return nil, refused("write it again: "+again, "%s: empty input", path)
	}
	return f, nil
}

// match returns the format of a file, nil if there is none.
func match(f *File) *Format {
	for _, format := range formats {
		if format.Matches(f) {
			return format
		}
	}
	return nil
}

// unknown returns the format that is to refuse a file of no known format. It goes by
// the name, which shows what the user took the file for.
func unknown(path string) *Format {
	if name := strings.ToLower(filepath.Base(path)); strings.Contains(name, ".json") || strings.HasSuffix(name, ".gz") {
		return &torchTrace
	}
	return &nsysDatabase
}

// Recognise returns the format of a file, nil if it is unknown or not certain, or the
// file cannot be read.
func Recognise(path string) *Format {
	f, err := inspect(path)
	if err != nil {
		return nil
	}
	format := match(f)
	if format == nil || format.Certain != nil && !format.Certain(f) {
		return nil
	}
	return format
}

// sameAsOneOf returns the index in others of the same file, which may have another
// name, or -1.
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

// convert converts the files that need it, in a directory that remove removes, and
// returns the names of the files to open.
func convert(paths []string, found []*Format, opt *Options) (opened []string, remove func(), err error) {
	opened, remove = slices.Clone(paths), func() {}
	dir := ""
	for i, format := range found {
		if format.Convert == nil {
			continue
		}
		if dir == "" {
			if dir, err = os.MkdirTemp("", "hostbound-"); err != nil {
				return nil, remove, err
			}
			remove = func() { os.RemoveAll(dir) }
		}
		opened[i], err = format.Convert(opt.Context, paths[i], filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return nil, remove, err
		}
	}
	return opened, remove, nil
}
