package step

import "github.com/hostbound/hostbound/pkg/trace/event"

// Without returns the rows of a stream whose steps cannot be found with null step
// columns. Its header has the method None.
func Without(src event.Source) event.Source {
	w := &without{Relabelled: Relabel(src, src.Header(), &event.Isolation{Method: None})}
	w.header.Stage = "isolate"
	w.header.Columns |= event.StepCols
	return w
}

type without struct {
	*Relabelled
	nulls, batch event.Batch // null step columns; the batch returned last
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

// LeaveOut returns the rows of a stream without steps unchanged. Its header tells later
// stages to analyse the whole trace.
func LeaveOut(src event.Source) event.Source {
	l := Relabel(src, src.Header(), &event.Isolation{Method: None, LeftOut: true})
	l.header.Stage = "isolate"
	return l
}

// Relabel returns the rows of src with header h, in which isolation replaces how steps
// were isolated.
func Relabel(src event.Source, h *event.Header, isolation *event.Isolation) *Relabelled {
	l := &Relabelled{src, *h}
	l.header.Isolation = isolation
	return l
}

// Relabelled is a source with another header.
type Relabelled struct {
	event.Source
	header event.Header // replaces that of Source
}

// Header returns the header of the stream.
func (l *Relabelled) Header() *event.Header { return &l.header }
