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

// formats are compared with a file in this order; the first that matches is its
// format.
var formats = []*Format{&parquetCheckpoint, &arrowStream, &nsysCapture, &nsysDirectory, &torchTrace, &rocpdDatabase, &nsysDatabase}

// Format is one kind of input.
type Format struct {
	// Name is what a person calls a file of this format.
	Name string
	// Reports is what the files are reports of; several of the same can be read
	// together, as those of one run. Empty for what is read alone: rows that a
	// filter wrote.
	Reports string
	// Matches recognises a file.
	Matches func(*File) bool
	// Certain says of a file that matches whether it can be nothing else, such as
	// a document that a filter wrote. nil: it cannot.
	Certain func(*File) bool
	// Convert makes a file of another format of the same Reports out of one, in a
	// directory that it makes, and returns its name; nil where none is needed.
	Convert func(ctx context.Context, path, dir string) (string, error)
	// Again says how to write such a file once more.
	Again string
	// Open opens files, one where they are no reports.
	Open func(paths []string, opt *Options) (*Input, error)
}

// File is a file that is to be recognised.
type File struct {
	// Path is its name as it was given.
	Path string
	// Info says what it is; links are followed.
	Info fs.FileInfo
	// Head is its first bytes, up to headBytes, of regular files. Of a pipe
	// nothing may be read ahead.
	Head []byte
}

// headBytes is more than any format takes to be told by: of JSON the first keys.
const headBytes = 512

// Options say what of the inputs is read, and how.
type Options struct {
	// Context ends programs that convert files.
	Context context.Context
	// Selection chooses rows. A choice of steps has to wait for whoever finds them
	// where there are none yet.
	Selection checkpoint.Selection
	// Columns returns the columns that are looked at of what has this header,
	// 0 for all. nil: all.
	Columns func(*event.Header) event.Set
	// Launched returns the class of the kernels whose launching calls are looked at of what
	// has this header, false where those of all GPU rows are. nil: of all. It is no more than a
	// saving, which only reports of Nsight Systems make.
	Launched func(*event.Header) (event.Class, bool)
	// HostClasses returns the classes of API calls and NVTX ranges that are looked at of what
	// has this header, false where all are. nil: all. It is no more than a saving, which only
	// reports of Nsight Systems make.
	HostClasses func(*event.Header) (event.ClassSet, bool)
	// Host are the kinds of rows about host threads that are wanted, of event.OS and
	// event.Run: reading them takes time, and few filters look at them. Streams and
	// checkpoints have what they have.
	Host []event.Kind
	// Callers leaves out those of threads of which no GPU waits for what they do: see
	// nsys.Options. That is no more than a saving, which only reports make.
	Callers bool
	// Pause is for how long, in ns, no GPU works before all that the host does is wanted: see
	// nsys.Options. It takes back savings, which only reports of Nsight Systems make.
	Pause int64
	// Separate takes reports as those of different machines or runs that may
	// lie apart in time, or hold processes that look the same.
	Separate bool
	// Partial reads what there is of a trace that was cut short, Python also the
	// functions of Python that it has; of formats that have such things.
	Partial, Python bool
	// Memory is how many bytes reading exports may take, 0 for what is usual.
	Memory int64
	// Progress, where not nil, is told the file that is being read and how many
	// of its rows have been, from several goroutines.
	Progress func(path string, rows int64)
}

// Input is what a filter was given: events, or the rows that come out of them.
// It is read by one goroutine at a time.
type Input struct {
	// Events are the rows that were chosen, nil where there is a Table.
	Events event.Source
	// Warner has the warnings of the filters that Events went through, nil
	// where there are none.
	Warner event.Warner
	// Table is the rows of a result.
	Table *table.Table
	// Fresh: these are reports, whose warnings no filter has passed on yet.
	Fresh bool

	chosen  bool // the format has left out what was not chosen
	closers []func()
}

// opened is the input of reports that were opened.
func opened[R interface {
	event.Source
	Close()
}](r R, err error) (*Input, error) {
	if err != nil {
		return nil, err
	}
	return &Input{Events: r, closers: []func(){r.Close}}, nil
}

// Reports is the Events of several reports, while nothing was left out of them.
// Rows of a report that shares no rank with another come together.
type Reports interface {
	event.Source
	// Paths are the files of the reports, in the order of the header's.
	Paths() []string
	// Report is the number of the report that the last batch is of.
	Report() int
}

// Close removes what was made to open the input. Its rows end with it.
func (in *Input) Close() {
	for _, f := range in.closers {
		f()
	}
	in.closers = nil
}

// Done closes an input that was read to its end: its header and its warnings are left.
func (in *Input) Done() {
	in.Close()
	if in.Events != nil {
		in.Events = &ended{*in.Events.Header()}
	}
	if in.Warner != nil {
		in.Warner = warned(in.Warner.Warnings())
	}
}

// ended is events of which no more come.
type ended struct{ header event.Header }

func (e *ended) Header() *event.Header       { return &e.header }
func (e *ended) Next() (*event.Batch, error) { return nil, io.EOF }

// warned is warnings that were given.
type warned []string

func (w warned) Warnings() []string { return w }

// refused is the error of an input that cannot be read, with what to do about it.
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
	in.closers = append(in.closers, remove) // rows may be read from there to the very end
	in.Fresh = format.Reports != ""
	if err := in.choose(opt); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// check refuses options that have no effect on files of a format.
func (f *Format) check(opt *Options) error {
	switch {
	case f.Reports == "" && opt.Separate:
		return refused("give it to nsys2arrow, or give the exports themselves", "--separate has no effect: the reports were put together already")
	case f != &torchTrace && (opt.Partial || opt.Python):
		return refused("leave them out, or give a trace of PyTorch's profiler", "--partial and --python have no effect: no trace of PyTorch's profiler")
	}
	return nil
}

// Check returns the error of files of which Open would say, before it reads any, that
// they are missing, empty or cannot be read together.
func Check(paths []string) error {
	_, err := recognise(paths)
	return err
}

// recognise returns the formats of files that can be read together.
// Reports of one profiler can be read together, anything else alone. Files are opened for
// their first bytes only, so that a mistake in the last name costs nothing.
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

// inspect reads the first bytes of a file.
// A directory has no first bytes; an empty file is an error, since nothing tells what it was
// to be.
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

// match returns the format of a file, nil for none.
func match(f *File) *Format {
	for _, format := range formats {
		if format.Matches(f) {
			return format
		}
	}
	return nil
}

// unknown returns the format whose business it is to refuse a file of none: the name
// says what somebody took it for.
func unknown(path string) *Format {
	if name := strings.ToLower(filepath.Base(path)); strings.Contains(name, ".json") || strings.HasSuffix(name, ".gz") {
		return &torchTrace
	}
	return &nsysDatabase
}

// Recognise returns the format that a file is certainly of, nil where it is none of
// ours, may be something else or cannot be read.
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

// convert converts those files that need it into a directory that remove removes,
// and returns the names of what is to be opened.
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
