package filter

import (
	"errors"
	"io"

	"github.com/hostbound/hostbound/pkg/event"
)

// ahead is a source whose batches are made by a goroutine of its own, so that
// what comes before them and what is done with them take a processor each. It
// costs a copy of the rows.
type ahead struct {
	event.Source
	full chan *event.Batch
	free chan *event.Batch
	last *event.Batch // with the caller
	err  error        // set before full is closed
}

// aheadBatches is the number of batches in use: one being made, one waiting, one
// with the caller.
const aheadBatches = 3

// ahead makes a source run ahead of the caller, until the command ends.
func (c *Context) ahead(src event.Source) event.Source {
	a := &ahead{Source: src, full: make(chan *event.Batch, aheadBatches), free: make(chan *event.Batch, aheadBatches)}
	for range aheadBatches {
		a.free <- new(event.Batch)
	}
	stop := make(chan struct{})
	c.cleanup = append(c.cleanup, func() { close(stop) })
	go a.run(stop)
	return a
}

func (a *ahead) run(stop chan struct{}) {
	defer close(a.full)
	a.err = event.Each(a.Source, func(b *event.Batch) error {
		select {
		case <-stop:
			return errStopped
		case own := <-a.free:
			own.Reset(b.Columns)
			own.AppendRange(b, 0, b.Len)
			a.full <- own
			return nil
		}
	})
	if a.err == nil {
		a.err = io.EOF
	}
}

var errStopped = errors.New("stopped")

// Next returns the next batch.
func (a *ahead) Next() (*event.Batch, error) {
	if a.last != nil {
		a.free <- a.last
		a.last = nil
	}
	b, ok := <-a.full
	if !ok {
		return nil, a.err
	}
	a.last = b
	return b, nil
}
