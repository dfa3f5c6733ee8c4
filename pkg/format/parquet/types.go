package parquet

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// intTypes tells how each type of whole numbers is annotated.
var intTypes = [...]struct {
	bits      int8
	signed    bool
	converted deprecated.ConvertedType
}{
	Int8:   {8, true, deprecated.Int8},
	Int16:  {16, true, deprecated.Int16},
	Int32:  {32, true, deprecated.Int32},
	Int64:  {64, true, deprecated.Int64},
	Uint8:  {8, false, deprecated.Uint8},
	Uint16: {16, false, deprecated.Uint16},
	Uint32: {32, false, deprecated.Uint32},
	Uint64: {64, false, deprecated.Uint64},
}

// intType returns the type of a column of whole numbers: what its annotation
// says, or else, as for times, the signed type of its width.
func intType(e *format.SchemaElement) Type {
	logical, _ := e.LogicalType.Value.(*format.IntType)
	for t := Int8; t <= Uint64; t++ {
		a := &intTypes[t]
		if logical != nil && logical.BitWidth == a.bits && logical.IsSigned == a.signed ||
			logical == nil && e.ConvertedType.Valid && e.ConvertedType.V == a.converted {
			return t
		}
	}
	if e.Type.V == format.Int32 {
		return Int32
	}
	return Int64
}

// isText reports whether bytes are text, by the newer way of saying so or the older one.
func isText(e *format.SchemaElement) bool {
	switch e.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return true
	}
	c := e.ConvertedType
	return c.Valid && (c.V == deprecated.UTF8 || c.V == deprecated.Enum || c.V == deprecated.Json)
}

// physical returns how values of a type that is written are stored.
func physical(t Type) format.Type {
	switch t {
	case Bool:
		return format.Boolean
	case Int32:
		return format.Int32
	case Int64:
		return format.Int64
	case Float64:
		return format.Double
	case Text:
		return format.ByteArray
	}
	panic("BUG: a column of type " + t.String() + " is not written")
}

// schemaElement describes a column in a footer.
func schemaElement(c *Column) format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, Type: thrift.New(physical(c.Type)), RepetitionType: thrift.New(format.Required)}
	if c.Nullable {
		e.RepetitionType.V = format.Optional
	}
	if c.Type == Text {
		e.LogicalType.Value = &format.StringType{}
		e.ConvertedType = thrift.New(deprecated.UTF8)
	}
	return e
}
