package command

import (
	"errors"
	"io"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// ahead is a source whose batches are made by a goroutine of its own, so that
// what comes before them and what is done with them take a processor each.
type ahead struct {
	event.Source
	stop    chan struct{}     // closed where the command ends
	batches chan *event.Batch // nil before the first is asked for
	err     error             // set before batches is closed
}

// aheadBatches is for how many calls of Next the batches of a source have to
// stay valid that runs ahead: while one is made there are one with the caller,
// one that waits for it, and one on its way there.
const aheadBatches = 3

// ahead makes a source, or each of its parts, run ahead of the caller, from the first batch
// that is asked for until the command ends.
func (r *reader) ahead(src event.Source) event.Source {
	stop := make(chan struct{})
	r.Cleanup(func() { close(stop) }) // which shall not hold the source to the end
	return &ahead{Source: src, stop: stop}
}

// Parts is event.Parted's.
func (a *ahead) Parts() (parts []event.Source, beside int) {
	sources, beside := event.PartsOf(a.Source)
	for _, src := range sources {
		parts = append(parts, &ahead{Source: src, stop: a.stop})
	}
	return parts, beside
}

// Rest is event.Parted's.
func (a *ahead) Rest() (event.Source, error) { return a.Source.(event.Parted).Rest() }

// run makes batches until the source ends, fails, or the command does; then err is set.
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

// errStopped ends a source whose command has ended: nobody sees it.
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
