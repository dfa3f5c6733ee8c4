package step

import "github.com/hostbound/hostbound/pkg/event"

// Without returns the rows of a stream whose steps cannot be found, as those of a stream
// that has none: its header says None for the method.
func Without(src event.Source) event.Source {
	w := &without{Source: src, header: *src.Header()}
	w.header.Stage, w.header.Isolation = "isolate", &event.Isolation{Method: None}
	w.header.Columns |= event.StepCols
	return w
}

type without struct {
	event.Source
	header       event.Header
	nulls, batch event.Batch // columns of steps; what was returned last
}

// Header returns the header of the stream.
func (w *without) Header() *event.Header { return &w.header }

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
