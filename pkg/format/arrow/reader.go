package arrow

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Reader reads a stream of events; it is an event.Source. It owns the memory of its
// batches: each is valid until the next call of Next. Values of null rows are
// undefined.
type Reader struct {
	in     *messages
	msg    *message
	header *event.Header
	fields []field
	cols   []event.Col // of the fields, event.NumCols for unknown ones

	enums   [event.NumCols]*enum
	names   coded
	scratch [event.NumCols]struct {
		short []int32
		long  []int64
	}

	ahead    []*message // read when the stream was opened
	aheadErr error      // the error after them

	others *others // the unknown columns, nil if there are none

	batch event.Batch
	rest  *event.Batch // rest of a batch with more than event.MaxBatchRows rows
	err   error        // returned by every further call
}

var _ event.Source = (*Reader)(nil)

// newEventReader continues after the schema of a stream of events, up to the first
// record batch (lookAhead).
func newEventReader(m *messages, head *head) (*Reader, error) {
	h, err := event.ParseMetadata(head.meta)
	if err != nil {
		return nil, err
	}
	cols, have, err := columns(head.fields)
	if err != nil {
		return nil, err
	}
	h.Columns = have
	r := &Reader{in: m, header: h, fields: head.fields, cols: cols}
	for c := range event.NumCols {
		if event.Fields[c].Type == event.Enum {
			r.enums[c] = newEnum(h.Values(c))
		}
	}
	r.enums[event.ColKind].grow = func(name string) int32 { return int32(event.AddKind(name)) }
	r.enums[event.ColClass].grow = func(name string) int32 { return int32(event.AddClass(name)) }
	r.enums[event.ColStack].grow = func(stack string) int32 {
		h.Stacks = append(h.Stacks, stack)
		return int32(len(h.Stacks) - 1)
	}
	r.lookAhead()
	r.enums[event.ColStack].grow = nil // the header is final
	r.batch.Columns = have
	r.findForeign(head)
	return r, nil
}

// findForeign prepares reading the unknown columns.
func (r *Reader) findForeign(head *head) {
	f := new(foreign)
	var at []int
	for i, c := range r.cols {
		if c == event.NumCols {
			f.fields = append(f.fields, r.fields[i].Field)
			at = append(at, i)
		}
	}
	if len(at) > 0 {
		head.feed.next = r.step
		r.others = &others{head: head, at: at, limit: r.in.limit}
		r.header.Foreign = f
	}
}

// caught turns a panic due to an input into an error. Our own mistakes, whose text
// begins with BUG, keep panicking.
func caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		*err = fmt.Errorf("damaged stream: %w", p)
	case error:
		*err = fmt.Errorf("damaged stream: %w", p)
	default:
		if text := fmt.Sprint(p); len(text) < 3 || text[:3] != "BUG" {
			*err = fmt.Errorf("damaged stream: %s", text)
			return
		}
		panic(p)
	}
}

// Header returns the header of the rows.
func (r *Reader) Header() *event.Header { return r.header }

// Warnings returns the warnings at the end of the stream, those of the filters that
// wrote it. They are known once Next has returned io.EOF.
func (r *Reader) Warnings() []string { return r.in.warnings }

// Next returns the next batch, of 1 to event.MaxBatchRows rows. It returns io.EOF after
// the last one if and only if the stream ended properly. After an error it returns the
// same error again.
func (r *Reader) Next() (*event.Batch, error) {
	if r.err != nil {
		return nil, r.err
	}
	b := r.rest
	if b == nil {
		if b, r.err = r.read(); r.err != nil {
			return nil, r.err
		}
	}
	r.rest = nil
	if b.Len > event.MaxBatchRows {
		r.rest = b.Slice(event.MaxBatchRows, b.Len)
		b = b.Slice(0, event.MaxBatchRows)
	}
	return b, nil
}

// read reads the next batch that has rows.
func (r *Reader) read() (b *event.Batch, err error) {
	defer caught(&err)
	for {
		if r.others != nil {
			err = r.others.advance()
		} else {
			_, err = r.step()
		}
		if err != nil {
			return nil, err
		}
		if r.msg.kind != recordMessage || r.msg.rows == 0 {
			continue
		}
		before := r.in.rows - r.msg.rows
		if err := r.decode(); err != nil {
			return nil, fmt.Errorf("damaged batch after %s: %w", rows(before), err)
		}
		return &r.batch, nil
	}
}

// step returns the next message, whether read ahead or not.
func (r *Reader) step() (msg *message, err error) {
	switch {
	case len(r.ahead) > 0:
		msg, r.ahead = r.ahead[0], r.ahead[1:]
	case r.aheadErr != nil:
		err = r.aheadErr
	default:
		msg, err = r.next()
	}
	r.msg = msg
	return msg, err
}

// next reads a message and defines dictionaries of known columns.
func (r *Reader) next() (*message, error) {
	msg, err := r.in.next()
	switch {
	case err != nil:
	case msg.kind == schemaMessage:
		err = errors.New("damaged stream: a second schema")
	case msg.kind == dictionaryMessage:
		err = r.define(msg)
	}
	return msg, err
}

// lookAhead reads the messages up to the first record batch. The dictionaries before it
// have unknown kinds and classes, and the stacks: a program that passes rows on must
// know them before the first row.
func (r *Reader) lookAhead() {
	for {
		msg, err := r.next()
		if err != nil {
			r.aheadErr = err
			return
		}
		if r.ahead = append(r.ahead, msg.clone()); msg.kind == recordMessage {
			return
		}
	}
}

// define passes the values of a dictionary to the columns that use it. A repeated
// dictionary replaces the values, or adds to them as a delta; earlier rows keep their
// codes, which are ours.
func (r *Reader) define(msg *message) error {
	for i, c := range r.cols {
		d, ok := r.fields[i].Type.(*arrow.DictionaryType)
		if c == event.NumCols || !ok || r.fields[i].dictionary != msg.dictionary {
			continue
		}
		values, err := dictionaryValues(msg, d.ValueType)
		if err != nil {
			return fmt.Errorf("damaged dictionary of column %s: %w", r.fields[i].Name, err)
		}
		if c != event.ColName {
			r.enums[c].define(values, msg.delta)
		} else if err := r.names.define(values, msg.delta); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes the record batch in msg.
func (r *Reader) decode() error {
	cur := &cursor{msg: r.msg, rows: int(r.msg.rows)}
	r.batch.Len = cur.rows
	for i, c := range r.cols {
		if c == event.NumCols {
			cur.skip(r.fields[i].Type)
			continue
		}
		if err := r.column(cur, c, r.fields[i].Type); err != nil {
			return fmt.Errorf("column %s: %w", r.fields[i].Name, err)
		}
	}
	if r.others != nil {
		var err error
		if r.batch.Foreign, err = r.others.columns(r.batch.Foreign[:0]); err != nil {
			return err
		}
	}
	return checkSpans(r.batch.Start.Values, r.batch.End.Values)
}

// column reads column c of the batch.
func (r *Reader) column(cur *cursor, c event.Col, t arrow.DataType) (err error) {
	var valid event.Bitmap
	switch col := r.batch.Column(c).(type) {
	case *event.Ints[int64]:
		*col, err = ints(cur, t, &r.scratch[c].long)
		valid = col.Valid
	case *event.Ints[int32]:
		if e := r.enums[c]; e != nil {
			*col, err = e.read(cur, t)
		} else {
			*col, err = ints(cur, t, &r.scratch[c].short)
		}
		valid = col.Valid
	case *event.Strings:
		if d, ok := t.(*arrow.DictionaryType); ok {
			*col, valid, err = r.names.read(cur, d, r.in.limit)
		} else {
			*col, valid, err = text(cur, t, &r.scratch[c].short)
		}
	}
	if err == nil && valid != nil && !event.Fields[c].Nullable {
		err = errors.New("it has a null")
	}
	return err
}

// checkSpans returns an error if a row ends before it starts.
func checkSpans(start, end []int64) error {
	end = end[:len(start)]
	ok := true
	for i, s := range start {
		ok = ok && s <= end[i]
	}
	if !ok {
		return errors.New("a row ends before it starts")
	}
	return nil
}
