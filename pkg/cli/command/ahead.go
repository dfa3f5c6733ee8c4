package command

import (
	"errors"
	"io"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// ahead is a source whose batches are made by its own goroutine, so that making and
// using them can each take a processor.
type ahead struct {
	event.Source
	stop    chan struct{}     // closed when the command ends
	batches chan *event.Batch // nil before the first batch is asked for
	err     error             // set before batches is closed
}

// aheadBatches is for how many calls of Next the batches of a source that runs ahead
// must stay valid. While one is made, one is with the caller, one waits for it, and one
// is on its way there.
const aheadBatches = 3

// ahead makes a source, or each of its parts, run ahead of the caller, from the first
// batch until the command ends.
func (r *reader) ahead(src event.Source) event.Source {
	stop := make(chan struct{})
	r.Cleanup(func() { close(stop) }) // so that the source need not be read to its end
	return &ahead{Source: src, stop: stop}
}

// Parts implements event.Parted.
func (a *ahead) Parts() (parts []event.Source, beside int) {
	sources, beside := event.PartsOf(a.Source)
	for _, src := range sources {
		parts = append(parts, &ahead{Source: src, stop: a.stop})
	}
	return parts, beside
}

// Rest implements event.Parted.
func (a *ahead) Rest() (event.Source, error) { return a.Source.(event.Parted).Rest() }

// run makes batches until the source or the command ends, or an error occurs; then err
// is set.
func (a *ahead) run() {
	defer close(a.batches)
	a.err = event.Each(a.Source, func(b *event.Batch) error {
		select {
		case <-a.stop:
			return errStopped
		case a.batches <- b:
			return nil
		}
	})
	if a.err == nil {
		a.err = io.EOF
	}
}

// errStopped ends a source whose command has ended. It is never reported.
var errStopped = errors.New("stopped")

// Next returns the next batch.
func (a *ahead) Next() (*event.Batch, error) {
	if a.batches == nil {
		a.batches = make(chan *event.Batch, 1)
		go a.run()
	}
	b, ok := <-a.batches
	if !ok {
		return nil, a.err
	}
	return b, nil
}
