package step

import "github.com/hostbound/hostbound/pkg/trace/event"

// Without returns the rows of a stream whose steps cannot be found, as those of a stream
// that has none: its header says None for the method.
func Without(src event.Source) event.Source {
	w := &without{Relabelled: Relabel(src, src.Header(), &event.Isolation{Method: None})}
	w.header.Stage = "isolate"
	w.header.Columns |= event.StepCols
	return w
}

type without struct {
	*Relabelled
	nulls, batch event.Batch // columns of steps; what was returned last
}

// Next returns the next batch, which is valid until the following call.
func (w *without) Next() (*event.Batch, error) {
	b, err := w.Source.Next()
	if err != nil {
		return nil, err
	}
	w.nulls.Blank(b.Len, event.StepCols)
	w.batch = *b
	w.batch.Columns |= event.StepCols
	w.batch.Step, w.batch.Segment, w.batch.Size = w.nulls.Step, w.nulls.Segment, w.nulls.Size
	return &w.batch, nil
}

// LeaveOut returns the rows of a stream without steps as those of one for the whole trace:
// its header says so to the stages after it.
func LeaveOut(src event.Source) event.Source {
	l := Relabel(src, src.Header(), &event.Isolation{Method: None, LeftOut: true})
	l.header.Stage = "isolate"
	return l
}

// Relabel returns rows after a header that says something else of how steps were isolated.
func Relabel(src event.Source, h *event.Header, isolation *event.Isolation) *Relabelled {
	l := &Relabelled{src, *h}
	l.header.Isolation = isolation
	return l
}

// Relabelled is the same rows after another header.
type Relabelled struct {
	event.Source
	header event.Header
}

// Header returns the header of the stream.
func (l *Relabelled) Header() *event.Header { return &l.header }
