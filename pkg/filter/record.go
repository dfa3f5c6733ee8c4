package filter

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/hostbound/hostbound/pkg/checkpoint"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/nsys"
)

// CheckpointFlag makes a filter keep the rows that it writes.
func CheckpointFlag() Flag {
	return &StringFlag{Name: "checkpoint", Usage: "keep the rows in the data set `DIR`, a Parquet file for each rank, and pass them on; reports that it holds already are not written again, nor read where it holds just these"}
}

// recorder is a source whose rows are kept in a data set as they pass. Rows
// that come straight from reports make a part of the data set for each report,
// so that a report that has changed replaces just its own ranks.
type recorder struct {
	event.Source
	set     *checkpoint.Set
	reports *nsys.Reader // nil where the rows come from elsewhere
	files   []string     // of the reports
	out     *checkpoint.Writer
	part    int // that out writes
	skip    bool
}

// Reports opens the reports that nsys2arrow was given. Where --checkpoint holds
// them as they are, their rows come from there, and need not be kept again.
func (c *Context) Reports() (event.Source, error) {
	dir := c.String("checkpoint")
	if dir == "" || len(c.given(selectFlagNames)) > 0 || !checkpoint.MadeOf(dir, c.Files) {
		return c.Events(Raw)
	}
	c.Log(dir + " holds these reports already")
	c.kept = true
	src, err := c.eventsOf([]string{dir}, Raw)
	if err != nil {
		return nil, err
	}
	c.warn(src.Header())
	return src, nil
}

// record makes a source keep its rows in the data set of --checkpoint.
func (c *Context) record(src event.Source) (*recorder, error) {
	set, err := checkpoint.OpenSet(c.String("checkpoint"))
	if err != nil {
		return nil, err
	}
	r := &recorder{Source: src, set: set, part: -1}
	if reports, ok := src.(*nsys.Reader); ok {
		r.reports, r.files = reports, c.reports
	}
	return r, nil
}

// Next returns the next batch, which has been kept.
func (r *recorder) Next() (*event.Batch, error) {
	b, err := r.Source.Next()
	switch {
	case err == io.EOF:
		if err := r.finish(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	case err != nil:
		r.abort()
		return nil, err
	}
	part := 0
	if r.reports != nil {
		part = r.reports.Report()
	}
	if err := r.begin(part); err != nil {
		return nil, err
	}
	if r.skip {
		return b, nil
	}
	return b, r.out.Write(b)
}

// begin begins the part of the given number, ending those before it.
func (r *recorder) begin(part int) error {
	for r.part < part {
		if err := r.end(); err != nil {
			return err
		}
		r.part++
		header, opt := r.Header(), checkpoint.Options{}
		if r.reports != nil {
			id, err := checkpoint.Identify(r.files[r.part])
			if err != nil {
				return err
			}
			one := *header
			one.Reports = header.Reports[r.part : r.part+1]
			id.Schema = one.Reports[0].Schema
			header, opt = &one, checkpoint.Options{Name: checkpoint.PartName(r.part), Source: &id}
			if r.skip = r.set.Holds(header, opt.Name, opt.Source); r.skip {
				continue
			}
		}
		var err error
		if r.out, err = r.set.Create(header, opt); err != nil {
			return err
		}
	}
	return nil
}

// end completes the part under way.
func (r *recorder) end() error {
	if r.out == nil {
		return nil
	}
	out := r.out
	r.out = nil
	return out.Commit()
}

func (r *recorder) finish() error {
	last := 0
	if r.reports != nil {
		last = len(r.files) - 1
	}
	if err := r.begin(last); err != nil {
		return err
	}
	if err := r.end(); err != nil {
		return err
	}
	return r.set.Commit()
}

func (r *recorder) abort() {
	if r.out != nil {
		r.out.Abort()
	}
}

// nobodyReads tells whether rows that are kept need not be passed on, too: to a
// terminal they would go as binary.
func (c *Context) nobodyReads() bool { return c.String("o") == "" && isTerminal(c.Stdout) }

// passOn writes the rows of r to standard output for as long as somebody reads
// them there, and keeps all of them in any case.
func (c *Context) passOn(r *recorder, write func(io.Writer, event.Source) error) error {
	if c.nobodyReads() {
		return event.Each(r, func(*event.Batch) error { return nil })
	}
	// A reader that goes away must not end this process: a data set is under way.
	signal.Ignore(syscall.SIGPIPE)
	err := c.output(func(w io.Writer) error { return write(w, r) })
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return event.Each(r, func(*event.Batch) error { return nil })
	}
	if err != nil {
		r.abort()
	}
	return err
}
