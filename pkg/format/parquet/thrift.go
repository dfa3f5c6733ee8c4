package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// errShort means that a structure goes on after the given bytes.
var errShort = errors.New("cut short")

// The types of Thrift's compact protocol that Parquet's structures consist of.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// unmarshal reads the Thrift structure at the start of b into v and returns its
// length. The decoder allocates lists at the length they claim to have, so the
// structure is walked first: whatever is claimed is there.
func unmarshal(b []byte, v any) (int, error) {
	w := walker{b: b}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	var compact thrift.CompactProtocol
	r := compact.NewReaderFromBytes(b[:w.i])
	if err := thrift.NewDecoder(r).Decode(v); err != nil {
		return 0, err
	}
	if r.BytesRead() != w.i {
		return 0, errors.New("damaged structure")
	}
	return w.i, nil
}

// walker steps over a structure in the compact protocol.
type walker struct {
	b []byte
	i int
}

// skip leaves n bytes out, which have to be there.
func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.b)-w.i) {
		return errShort
	}
	w.i += int(n)
	return nil
}

// byte takes a byte.
func (w *walker) byte() (byte, error) {
	if w.i == len(w.b) {
		return 0, errShort
	}
	w.i++
	return w.b[w.i-1], nil
}

// varint takes a number of at most 64 bits.
func (w *walker) varint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.i:])
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errors.New("damaged structure: a number of more than 64 bits")
	}
	w.i += n
	return v, nil
}

// structure walks over a structure. What is nested deeper than any footer is refused.
func (w *walker) structure(depth int) error {
	if depth > 16 {
		return errors.New("damaged structure: nested too deeply")
	}
	for {
		field, err := w.byte()
		if err != nil || field == 0 {
			return err
		}
		if field>>4 == 0 { // the number is not a small step from the last one
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		typ := field & 15
		if typ == thriftTrue || typ == thriftFalse { // the type is the value
			continue
		}
		if err := w.value(typ, depth); err != nil {
			return err
		}
	}
}

// value walks over a value of a type and decodes nothing. Lengths come from the file: skip
// refuses those beyond the end, and structures count their depth, so that a hostile footer
// costs neither memory nor stack.
func (w *walker) value(typ byte, depth int) error {
	switch {
	case typ == thriftByte:
		return w.skip(1)
	case typ >= thriftI16 && typ <= thriftI64:
		_, err := w.varint()
		return err
	case typ == thriftDouble:
		return w.skip(8)
	case typ == thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case typ == thriftList:
		return w.list(depth)
	case typ == thriftStruct:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("damaged structure: type %d", typ)
}

// list steps over a list. No structure of Parquet is shorter than 3 bytes, and
// the longest takes some 500 in memory; that bounds what decoding can ask for.
func (w *walker) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	typ, n := head&15, uint64(head>>4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if typ <= thriftFalse {
		return fmt.Errorf("damaged structure: list of type %d", typ)
	}
	for range n {
		start := w.i
		if err := w.value(typ, depth); err != nil {
			return err
		}
		if typ == thriftStruct && w.i-start < 3 {
			return errors.New("damaged structure: empty element")
		}
	}
	return nil
}
