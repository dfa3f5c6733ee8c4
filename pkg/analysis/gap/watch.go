package gap

import (
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Watch makes a report of rows that something else reads.
type Watch struct {
	c   *computer
	err error
}

// NewWatch returns what watches the rows of a stream with this header. Close is to be called,
// whatever becomes of the stream.
func NewWatch(h *event.Header, opt Options) *Watch {
	c, err := newComputer(h, opt)
	return &Watch{c, err}
}

// Add observes a batch. It never fails: what goes wrong is the error of Close.
func (w *Watch) Add(b *event.Batch) error {
	if w.err == nil {
		w.err = w.c.add(b)
	}
	return nil
}

// Close returns the report of all rows.
func (w *Watch) Close() (*Report, error) {
	if w.c == nil {
		return nil, w.err
	}
	defer w.c.store.Close()
	if w.err != nil {
		return nil, w.err
	}
	for _, r := range w.c.ranks {
		r.seal()
	}
	w.c.threads.runs.Seal()
	if err := w.c.trace.Finish(w.c.stepsOf); err != nil {
		return nil, err
	}
	rep, err := w.c.report()
	if err != nil {
		return nil, err
	}
	return rep, idle.Kept(w.c.store)
}
