package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

var arrowStream = Format{
	Name: "stream",
	Matches: func(f *File) bool {
		if f.Info.IsDir() {
			return false
		}
		return !f.Info.Mode().IsRegular() || // a pipe, such as <(isolate …)
			bytes.HasPrefix(f.Head, []byte("\xff\xff\xff\xff")) || bytes.HasPrefix(f.Head, []byte("ARROW1")) ||
			filepath.Ext(f.Path) == ".arrows"
	},
	Open: func(paths []string, _ *Options) (*Input, error) {
		f, err := os.Open(paths[0])
		if err != nil {
			return nil, err
		}
		name := named{path: paths[0]}
		if info, err := f.Stat(); err == nil {
			name.regular = info.Mode().IsRegular()
		}
		in, err := openStream(f)
		if err != nil {
			return nil, name.of(err)
		}
		if in.Events != nil {
			name.Source = in.Events
			in.Events = &name
		}
		return in, nil
	},
}

// named is a stream from a file whose errors name the file.
type named struct {
	event.Source
	path    string
	regular bool // not a pipe
}

// of adds the file's name to an error.
func (n *named) of(err error) error {
	if n.regular && errors.Is(err, arrow.ErrCut) {
		return refused("write it again: its writer failed, was stopped, or is still running", "%s: file is truncated: %v", n.path, err)
	}
	return Advised(fmt.Errorf("%s: %w", n.path, err))
}

// Advised adds advice to an error of a stream or checkpoint that has none: the input is
// damaged.
func Advised(err error) error {
	var advice interface{ Hint() string }
	if err == nil || err == io.EOF || errors.As(err, &advice) || errors.As(err, new(*fs.PathError)) {
		return err
	}
	return &damaged{err}
}

// damaged is the error of an input that is not as it was written.
type damaged struct{ error }

func (e *damaged) Unwrap() error { return e.error }

// Hint returns the advice.
func (e *damaged) Hint() string {
	return "copy or write it again: it changed after it was written"
}

// Next returns the next batch.
func (n *named) Next() (*event.Batch, error) {
	b, err := n.Source.Next()
	if err != nil && err != io.EOF {
		err = n.of(err)
	}
	return b, err
}

// sound is a source whose errors have advice.
type sound struct{ event.Source }

// Next implements event.Source.
func (s *sound) Next() (*event.Batch, error) {
	b, err := s.Source.Next()
	return b, Advised(err)
}

// openStream opens a stream of events at any stage, or of the rows of a result.
func openStream(r io.Reader) (*Input, error) {
	events, rows, err := arrow.Open(r)
	switch {
	case err != nil:
		return nil, err
	case rows != nil:
		return &Input{Table: rows}, nil
	}
	return &Input{Events: events, Warner: warner(events)}, nil
}

// OpenStdin opens a stream on standard input.
func OpenStdin(r io.Reader, opt *Options) (*Input, error) {
	if err := arrowStream.check(opt); err != nil {
		return nil, err
	}
	in, err := openStream(r)
	if err != nil {
		return nil, Advised(err)
	}
	if in.Events != nil {
		in.Events = &sound{in.Events}
	}
	return in, in.choose(opt)
}
