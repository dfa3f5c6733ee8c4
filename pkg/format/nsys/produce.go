package nsys

import (
	"cmp"
	"errors"
	"io"
	"runtime"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// producer writes the rows of units, in order, in a goroutine that runs ahead of the
// reader. It is an event.Source.
type producer struct {
	r        *Reader
	units    []unit
	emitters map[int]*emitter // its own, by report number, from its first row there on
	fanIn    int              // runs open at a time

	full    chan filled
	free    chan *event.Batch
	stop    chan struct{}
	current filled
	err     error // set before full is closed
}

// batches is the number of batches in use: one being filled, one waiting, one with the
// caller.
const batches = 3

// producer returns a producer of units. It starts when its first batch is asked for.
func (r *Reader) producer(units []unit, fanIn int) *producer {
	p := &producer{r: r, units: units, emitters: map[int]*emitter{}, fanIn: fanIn, stop: make(chan struct{})}
	r.live = append(r.live, p)
	r.left.Add(1)
	return p
}

// newEmitter makes an emitter of a report's rows, for producers to copy.
func (r *Reader) newEmitter(report int) *emitter {
	codes := map[string]int32{}
	for k, name := range r.header.Domains {
		codes[name] = int32(k)
	}
	e := newEmitter(r.reports[report], r.header.Reports[report].Offset, r.header.Columns, codes, r.stacks[report])
	e.report = report
	if r.opts.Launched != nil {
		e.launched, e.fewLaunched = r.opts.Launched(&r.header)
	}
	if r.opts.HostClasses != nil && !r.reports[report].paused {
		e.hostClasses, e.fewHost = r.opts.HostClasses(&r.header)
	}
	return e
}

// Next returns the next batch.
func (r *Reader) Next() (*event.Batch, error) {
	if r.all == nil {
		r.all = r.producer(r.plan(), r.limits.fanIn)
	}
	return r.all.Next()
}

// Report returns the number of the report that the last batch is from; no batch mixes
// reports.
func (r *Reader) Report() int { return r.all.current.report }

// partMemory is the most memory, in bytes, that reading one more rank concurrently
// takes, including what finding its steps holds.
const partMemory = 32 << 20

// Parts returns the rows of each rank, and how many to read at a time: as many as there
// are processors. (Ranks share no memory: two side by side are faster than one whose
// rows move from processor to processor.) Rows without a rank are the last part. It
// implements event.Parted.
func (r *Reader) Parts() (parts []event.Source, beside int) {
	memory := cmp.Or(r.opts.Memory, spill.DefaultBudget)
	if beside = min(runtime.GOMAXPROCS(0), 1+int(memory/4/partMemory)); beside < 2 || len(r.parts) < 2 || r.all != nil {
		return nil, 0
	}
	units := make([][]unit, len(r.parts)+1)
	for _, u := range r.plan() {
		rank := len(r.parts)
		if ranks := r.header.Reports[u.report].Ranks; u.slot < len(ranks) {
			rank = int(ranks[u.slot])
		}
		u.last = false
		units[rank] = append(units[rank], u)
	}
	for _, of := range units {
		parts = append(parts, r.producer(of, max(r.limits.fanIn/beside, 16)))
	}
	return parts, beside
}

// Rest returns no rows: parts have them all. It implements event.Parted.
func (r *Reader) Rest() (event.Source, error) {
	r.all = r.producer(nil, 0)
	return r, nil
}

// Close ends the goroutines that fill batches and releases the reader's resources.
// Batches are no longer valid.
func (r *Reader) Close() {
	for _, p := range r.live {
		close(p.stop) // ends its goroutine
		if p.full != nil {
			for range p.full { // until produce has closed it
			}
		}
	}
	r.live = nil
	r.store.Close()
}

// Header describes the reports.
func (p *producer) Header() *event.Header { return &p.r.header }

// Next returns the next batch.
func (p *producer) Next() (*event.Batch, error) {
	if len(p.units) == 0 {
		return nil, io.EOF
	}
	if p.full == nil {
		p.full, p.free = make(chan filled, batches), make(chan *event.Batch, batches)
		for range batches {
			p.free <- new(event.Batch)
		}
		go p.produce()
	}
	if p.current.batch != nil {
		p.free <- p.current.batch
		p.current.batch = nil
	}
	next, ok := <-p.full
	if !ok {
		p.free, p.emitters = nil, nil // with many ranks, most producers are done
		if p.err == nil {
			return nil, io.EOF
		}
		return nil, p.err
	}
	p.current = next
	return next.batch, nil
}

var errStopped = errors.New("stopped")

// produce writes the rows of all units. The last producer to end releases the store.
func (p *producer) produce() {
	defer close(p.full)
	defer func() {
		if p.r.left.Add(-1) == 0 {
			p.r.store.Close()
		}
	}()
	var now *emitter
	for _, u := range p.units {
		e := p.emitters[u.report]
		if e == nil { // a copy of its own
			e = new(*p.r.emitters[u.report])
			p.emitters[u.report] = e
		}
		if p.err = p.produceUnit(e, now, u); p.err != nil {
			return
		}
		if now = e; u.last {
			p.emitters[u.report], p.r.emitters[u.report], p.r.reports[u.report] = nil, nil, nil
		}
	}
	if now != nil {
		now.batch.Truncate(now.at)
		p.err = p.put(filled{now.batch, now.report})
	}
}

// produceUnit writes the rows of a unit. It goes on with the current batch if that is
// of the same report.
func (p *producer) produceUnit(e, now *emitter, u unit) (err error) {
	if now != e {
		if now != nil {
			now.batch.Truncate(now.at)
			if err := p.put(filled{now.batch, now.report}); err != nil {
				return err
			}
		}
		e.at = 0
		e.flush = func(b *event.Batch) (*event.Batch, error) {
			if err := p.put(filled{b, u.report}); err != nil {
				return nil, err
			}
			return p.blank()
		}
		if e.batch, err = p.blank(); err != nil {
			return err
		}
	}
	return e.emit(u.slot, u.from, p.fanIn)
}

// put hands out a batch; an empty one is reused.
func (p *producer) put(f filled) error {
	if f.batch.Len == 0 {
		p.free <- f.batch
		return nil
	}
	select {
	case p.full <- f:
		return nil
	case <-p.stop:
		return errStopped
	}
}

// blank returns an empty batch in memory that is no longer read. It returns errStopped
// if reading was stopped meanwhile.
func (p *producer) blank() (*event.Batch, error) {
	select {
	case b := <-p.free:
		b.Blank(event.BatchRows, p.r.header.Columns)
		return b, nil
	case <-p.stop:
		return nil, errStopped
	}
}
