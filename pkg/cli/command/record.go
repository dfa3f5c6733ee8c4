package command

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// checkpointFlags make a filter save the rows that it writes.
var checkpointFlags = []cli.Flag{
	{Name: "checkpoint", Usage: "pass the rows on, and keep them in the data set `DIR`, one Parquet file per rank; reports already in DIR are not written again, and not read either if DIR holds exactly these", File: cli.Writes, Check: checkpoint.Check},
}

// recorder is a source that saves its rows in a data set as they pass. Rows that come
// straight from reports make a part of the data set per report, so that a report that
// has changed replaces only its own ranks.
type recorder struct {
	event.Source
	of      *reader
	set     *checkpoint.Set
	reports source.Reports // nil if the rows come from elsewhere
	parts   []recorded     // by report number
}

// recorded is a part of the data set.
type recorded struct {
	out    *checkpoint.Writer // nil before it is begun, when it is done, and if the data set already has it
	begun  bool
	shared bool // other reports have the same ranks, so their rows may come in between
}

// record returns a source that saves its rows in the data set of --checkpoint.
func (r *reader) record(src event.Source) (*recorder, error) {
	set, err := checkpoint.OpenSet(r.String("checkpoint"))
	if err != nil {
		return nil, err
	}
	rec := &recorder{Source: src, of: r, set: set, parts: make([]recorded, 1)}
	if reports, ok := src.(source.Reports); ok {
		rec.reports, rec.parts = reports, make([]recorded, len(reports.Paths()))
		for i := range rec.parts {
			rec.parts[i].shared = rec.sharesRank(i)
		}
	}
	return rec, nil
}

// sharesRank reports whether another report has one of a report's ranks.
func (r *recorder) sharesRank(i int) bool {
	all := r.Header().Reports
	return slices.ContainsFunc(all[i].Ranks, func(rank int32) bool {
		n := 0
		for k := range all {
			if slices.Contains(all[k].Ranks, rank) {
				n++
			}
		}
		return n > 1
	})
}

// Next returns the next batch after saving it.
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
	if err := r.advance(part); err != nil {
		return nil, err
	}
	if out := r.parts[part].out; out != nil {
		return b, r.vanished(out.Write(b))
	}
	return b, nil
}

// advance begins a part, and ends the parts before it that are complete.
func (r *recorder) advance(part int) error {
	for k := range r.parts[:part] {
		if !r.parts[k].shared {
			if err := r.end(k); err != nil {
				return err
			}
		}
	}
	return r.begin(part)
}

// begin begins a part, unless it has begun. If the data set already has the part, from
// the same report with the same ranks and times, it is not written again, and its rows
// are only passed on.
func (r *recorder) begin(part int) error {
	p := &r.parts[part]
	if p.begun {
		return nil
	}
	p.begun = true
	header, opt := r.Header(), checkpoint.Options{}
	if r.reports != nil {
		id, err := checkpoint.Identify(r.reports.Paths()[part])
		if err != nil {
			return err
		}
		one := *header
		one.Reports = header.Reports[part : part+1]
		id.Schema = one.Reports[0].Schema
		header, opt = &one, checkpoint.Options{Name: checkpoint.PartName(part), Source: &id}
		if r.set.Holds(header, opt.Name, opt.Source) {
			return nil
		}
	}
	p.out = r.set.Create(header, opt)
	return nil
}

// end completes a part, which may have no rows.
func (r *recorder) end(part int) error {
	if err := r.begin(part); err != nil {
		return err
	}
	out := r.parts[part].out
	r.parts[part].out = nil
	if out == nil {
		return nil
	}
	if r.reports == nil {
		out.Warn(r.of.late(r.Header()))
	}
	return r.vanished(out.Commit())
}

// vanished explains why files being written may be gone: another command that writes to
// the data set removes what it takes for leftovers.
func (r *recorder) vanished(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return cli.Misuse(r.of.String("checkpoint")+": files of it were removed while they were written", "does another command write to it? let one do so at a time, or give each a data set of its own")
}

// finish completes all parts, even those without rows, and then the data set.
func (r *recorder) finish() error {
	for k := range r.parts {
		if err := r.end(k); err != nil {
			return err
		}
	}
	return r.vanished(r.set.Commit())
}

// abort removes the incomplete parts; complete ones stay in the data set. A new data
// set without any part is removed.
func (r *recorder) abort() {
	for k := range r.parts {
		if out := r.parts[k].out; out != nil {
			out.Abort()
		}
	}
	r.set.Abandon()
}

// write writes a stream of events to its end. With --checkpoint, rows go to the data
// set and on to standard output, if it is read. A stream is sealed only if all of it
// was written.
func (r *reader) write(src event.Source) error {
	if err := r.refuseSteps(src); err != nil {
		return err
	}
	switch {
	case r.kept && r.ToTerminal(): // rows from the checkpoint would be shown as binary
		return nil
	case r.IsSet("checkpoint") && !r.kept:
		rec, err := r.record(src)
		if err != nil {
			return err
		}
		if err = r.passOn(rec); err != nil {
			rec.abort()
		}
		return err
	}
	return r.out.events(src, r.late)
}

// passOn writes the rows of rec to standard output as long as someone reads them, and
// saves all of them in any case.
func (r *reader) passOn(rec *recorder) error {
	if r.ToTerminal() {
		return event.Each(rec, func(*event.Batch) error { return nil })
	}
	// A reader that goes away must not end this process while it writes a data set.
	signal.Ignore(syscall.SIGPIPE)
	err := r.out.events(rec, r.late)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return event.Each(rec, func(*event.Batch) error { return nil })
	}
	return err
}
