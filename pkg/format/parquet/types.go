package parquet

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// intType returns the type of an integer column. It is signed unless its logical type
// or its converted type says otherwise.
func intType(e *format.SchemaElement) Type {
	logical, ok := e.LogicalType.Value.(*format.IntType)
	unsigned := ok && !logical.IsSigned
	if c := e.ConvertedType; !ok && c.Valid {
		unsigned = c.V == deprecated.Uint8 || c.V == deprecated.Uint16 || c.V == deprecated.Uint32 || c.V == deprecated.Uint64
	}
	switch {
	case e.Type.V == format.Int32 && unsigned:
		return Uint32
	case e.Type.V == format.Int32:
		return Int32
	case unsigned:
		return Uint64
	}
	return Int64
}

// isText reports whether bytes are text, by their logical type or converted type.
func isText(e *format.SchemaElement) bool {
	switch e.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return true
	}
	c := e.ConvertedType
	return c.Valid && (c.V == deprecated.UTF8 || c.V == deprecated.Enum || c.V == deprecated.Json)
}

// physical returns the physical type in which a writer stores a type.
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

// schemaElement returns the footer's description of a column.
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
