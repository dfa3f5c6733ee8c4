package arrow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// field is a column of a stream as its schema describes it.
type field struct {
	arrow.Field
	dictionary int64 // the id of its dictionary, where the type is one
}

// head is the beginning of a stream: its schema, and Arrow's own reader after
// it for who needs that. The schema is Arrow's to read: it can be of any types, and its
// vectors and strings were checked (checkFields).
type head struct {
	fields []field
	meta   map[string]string
	feed   feed
	arrow  *ipc.Reader
	mem    capped
}

// readHead reads the first message of a stream.
func readHead(m *messages) (*head, error) {
	msg, err := m.next()
	if err != nil {
		return nil, err
	}
	if msg.kind != schemaMessage || len(msg.body) > 0 {
		return nil, errors.New("damaged stream: it does not begin with a schema")
	}
	h := &head{feed: feed{first: msg}, mem: capped{left: m.limit}}
	if h.arrow, err = ipc.NewReaderFromMessageReader(&h.feed, ipc.WithAllocator(&h.mem)); err != nil {
		return nil, fmt.Errorf("damaged stream: %w", err)
	}
	schema := h.arrow.Schema()
	if !schema.IsNativeEndian() {
		return nil, errors.New("a stream of another byte order is not supported")
	}
	for i, t := range msg.header.tables(1) {
		f := field{Field: schema.Field(i)}
		if dictionary, ok := t.table(4); ok {
			f.dictionary = dictionary.i64(0)
		}
		h.fields = append(h.fields, f)
	}
	h.meta = schema.Metadata().ToMap()
	return h, nil
}

// feed gives messages that were read and checked to Arrow's own reader.
type feed struct {
	first *message // the schema, until it is read
	next  func() (*message, error)
	err   error // of next
}

// Message is ipc.MessageReader's.
func (f *feed) Message() (*ipc.Message, error) {
	msg := f.first
	f.first = nil
	if msg == nil {
		if msg, f.err = f.next(); f.err != nil {
			return nil, f.err
		}
	}
	return ipc.NewMessage(memory.NewBufferBytes(msg.meta), memory.NewBufferBytes(msg.body)), nil
}

// Retain is ipc.MessageReader's: the memory is Go's.
func (f *feed) Retain() {}

// Release is ipc.MessageReader's.
func (f *feed) Release() {}

// encodeHeader returns the schema's metadata.
func encodeHeader(h *event.Header) arrow.Metadata {
	valid := *h
	valid.Domains = validUTF8(h.Domains) // as in their dictionary
	return sortedMetadata(valid.Metadata())
}

// validUTF8 returns strings as UTF-8, which Arrow and JSON demand.
func validUTF8(all []string) []string {
	valid := make([]string, len(all))
	for i, t := range all {
		valid[i] = strings.ToValidUTF8(t, "\ufffd")
	}
	return valid
}

// sortedMetadata is metadata in the order of its keys: equal input, equal bytes.
func sortedMetadata(meta map[string]string) arrow.Metadata {
	keys := slices.Sorted(maps.Keys(meta))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = meta[k]
	}
	return arrow.NewMetadata(keys, values)
}

// columns says which of the fields are which columns, event.NumCols for those
// that are not ours.
func columns(fields []field) ([]event.Col, event.Set, error) {
	byName := make(map[string]event.Col, event.NumCols)
	for c, f := range event.Fields {
		byName[f.Name] = event.Col(c)
	}
	var have event.Set
	cols := make([]event.Col, len(fields))
	for i := range fields {
		c, ok := byName[fields[i].Name]
		if !ok {
			cols[i] = event.NumCols
			continue
		}
		if have.Has(c) {
			return nil, 0, fmt.Errorf("not hostbound events: two columns %s", fields[i].Name)
		}
		if err := checkType(c, fields[i].Type); err != nil {
			return nil, 0, err
		}
		have |= 1 << c
		cols[i] = c
	}
	return cols, have, complete(have)
}

// complete reports whether the columns of each stage are all there or all not.
func complete(have event.Set) error {
	for _, group := range []event.Set{event.BaseCols, event.StepCols, event.PhaseCols} {
		if have&group == 0 && group != event.BaseCols {
			continue
		}
		var missing []string
		for c, f := range event.Fields {
			if group.Has(event.Col(c)) && !have.Has(event.Col(c)) {
				missing = append(missing, f.Name)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("not hostbound events: it lacks the columns %s", strings.Join(missing, ", "))
		}
	}
	return nil
}

// checkType reports whether a column of ours can be read from type t.
func checkType(c event.Col, t arrow.DataType) error {
	ok := false
	switch event.Fields[c].Type {
	case event.Int32, event.Int64:
		ok = arrow.IsInteger(t.ID())
	default:
		value := t
		if d, is := t.(*arrow.DictionaryType); is {
			value, ok = d.ValueType, arrow.IsInteger(d.IndexType.ID())
		} else {
			ok = c != event.ColStack // whose values have to be known before the first row
		}
		ok = ok && (value.ID() == arrow.STRING || value.ID() == arrow.LARGE_STRING)
	}
	if !ok {
		return fmt.Errorf("not hostbound events: column %s is of type %s", event.Fields[c].Name, t)
	}
	return nil
}

// arrowType returns how a column of ours is written.
func arrowType(c event.Col) arrow.DataType {
	switch event.Fields[c].Type {
	case event.Int32:
		return arrow.PrimitiveTypes.Int32
	case event.Int64:
		return arrow.PrimitiveTypes.Int64
	case event.Enum:
		return enumType
	default:
		return arrow.BinaryTypes.String
	}
}

var enumType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
