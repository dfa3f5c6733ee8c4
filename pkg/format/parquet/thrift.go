package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// errShort is returned if a structure goes on after the given bytes.
var errShort = errors.New("cut short")

// The types of Thrift's compact protocol in Parquet's structures.
const (
	thriftTrue = 1 + iota
	thriftFalse
	thriftByte
	thriftI16
	_ // I32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	_ // set
	_ // map
	thriftStruct
)

// unmarshal decodes the Thrift structure at the start of b into v and returns its
// length. The decoder trusts the stated length of lists, so the structure is walked
// first, which checks that everything stated is there.
func unmarshal(b []byte, v any) (int, error) {
	w := walker{b: b}
	if err := w.walk(); err != nil {
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

// walker skips over a structure in the compact protocol. It panics with a walkError if
// it cannot.
type walker struct {
	b []byte
	i int
}

// walkError is the error of a malformed structure.
type walkError struct{ error }

// walk skips over the structure at the start of b.
func (w *walker) walk() (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case walkError:
			err = p.error
		default:
			panic(p)
		}
	}()
	w.structure(0)
	return nil
}

// damaged ends the walk.
func damaged(format string, args ...any) {
	panic(walkError{fmt.Errorf("damaged structure: "+format, args...)})
}

// skip skips n bytes, which must exist.
func (w *walker) skip(n uint64) {
	if n > uint64(len(w.b)-w.i) {
		panic(walkError{errShort})
	}
	w.i += int(n)
}

// byte consumes a byte.
func (w *walker) byte() byte {
	w.skip(1)
	return w.b[w.i-1]
}

// varint consumes a number of at most 64 bits.
func (w *walker) varint() uint64 {
	v, n := binary.Uvarint(w.b[w.i:])
	switch {
	case n == 0:
		panic(walkError{errShort})
	case n < 0:
		damaged("a number of more than 64 bits")
	}
	w.i += n
	return v
}

// structure skips over a structure. Nesting deeper than any footer's is refused.
func (w *walker) structure(depth int) {
	if depth > 16 {
		damaged("nested too deeply")
	}
	for field := w.byte(); field != 0; field = w.byte() {
		if field>>4 == 0 { // the field number is not a small step from the last one
			w.varint()
		}
		if typ := field & 15; typ != thriftTrue && typ != thriftFalse { // a boolean's type is its value
			w.value(typ, depth)
		}
	}
}

// value skips over a value of a type without decoding it. Lengths come from the file:
// skip refuses those beyond the end, and depth is limited, so that a hostile footer
// costs neither memory nor stack.
func (w *walker) value(typ byte, depth int) {
	switch {
	case typ == thriftByte:
		w.skip(1)
	case typ >= thriftI16 && typ <= thriftI64:
		w.varint()
	case typ == thriftDouble:
		w.skip(8)
	case typ == thriftBinary:
		w.skip(w.varint())
	case typ == thriftList:
		w.list(depth)
	case typ == thriftStruct:
		w.structure(depth + 1)
	default:
		damaged("type %d", typ)
	}
}

// list skips over a list. No structure of Parquet is shorter than 3 bytes, and the
// longest takes about 500 in memory; this bounds what decoding can allocate.
func (w *walker) list(depth int) {
	head := w.byte()
	typ, n := head&15, uint64(head>>4)
	if n == 15 {
		n = w.varint()
	}
	if typ <= thriftFalse {
		damaged("list of type %d", typ)
	}
	for range n {
		start := w.i
		if w.value(typ, depth); typ == thriftStruct && w.i-start < 3 {
			damaged("empty element")
		}
	}
}
