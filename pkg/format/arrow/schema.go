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
	dictionary int64 // id of its dictionary, if it has one
}

// head is the beginning of a stream: its schema, and Arrow's own reader for what
// follows, if needed. Arrow parses the schema, which may have any types; its vectors
// and strings were checked before (checkFields).
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

// feed passes messages that were checked to Arrow's own reader.
type feed struct {
	first *message // the schema, until it is read
	next  func() (*message, error)
	err   error // of next
}

// Message implements ipc.MessageReader.
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

// Retain implements ipc.MessageReader. It does nothing: the memory is Go's.
func (f *feed) Retain() {}

// Release implements ipc.MessageReader.
func (f *feed) Release() {}

// encodeHeader returns the metadata of a schema.
func encodeHeader(h *event.Header) arrow.Metadata {
	valid := *h
	valid.Domains = validUTF8(h.Domains) // as in their dictionary
	return sortedMetadata(valid.Metadata())
}

// validUTF8 returns strings as valid UTF-8, which Arrow and JSON require.
func validUTF8(all []string) []string {
	valid := make([]string, len(all))
	for i, t := range all {
		valid[i] = strings.ToValidUTF8(t, "\ufffd")
	}
	return valid
}

// sortedMetadata returns metadata sorted by key, so that equal input gives equal bytes.
func sortedMetadata(meta map[string]string) arrow.Metadata {
	keys := slices.Sorted(maps.Keys(meta))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = meta[k]
	}
	return arrow.NewMetadata(keys, values)
}

// columns returns the column of each field, event.NumCols for unknown ones.
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

// complete returns an error unless each stage's columns are all present or all absent.
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

// checkType returns an error if column c cannot be read from type t.
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
			ok = c != event.ColStack // its values must be known before the first row
		}
		ok = ok && (value.ID() == arrow.STRING || value.ID() == arrow.LARGE_STRING)
	}
	if !ok {
		return fmt.Errorf("not hostbound events: column %s is of type %s", event.Fields[c].Name, t)
	}
	return nil
}

// arrowType returns the type that column c is written as.
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
