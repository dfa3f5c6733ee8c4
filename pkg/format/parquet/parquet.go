// Package parquet is the project's only door to Parquet files: flat tables of
// numbers and strings, read and written as plain slices. It knows nothing of
// events; packages checkpoint and nsys give the columns their meaning.
//
// # What is read
//
// Columns directly under the root of the schema, required or optional, of booleans, whole
// numbers, floating point numbers and bytes, in the encodings that writers of Parquet
// choose by default (plain, dictionaries, run lengths, DELTA_BINARY_PACKED,
// DELTA_LENGTH_BYTE_ARRAY), uncompressed or in snappy, gzip, brotli, lz4_raw or zstd,
// with data pages of either version. Reading a column in another encoding is an error.
// Repeated and nested columns, decimals, INT96 and FIXED_LEN_BYTE_ARRAY are left out of
// File.Columns.
//
// Written are Bool, Int32, Int64, Float64 and Text.
//
// # Why not the library's own reader and writer
//
// parquet-go supplies what the format consists of: the structures of footer and
// page headers and their Thrift encoding, the encoders, bit packing, xxHash.
// Reading pages and writing row groups is done here.
//
// The library's reader trusts lengths. A file of 17 KB without page checksums, as Arrow's
// writer makes it for nsys, was damaged one byte at a time: for three of up to 6,000 such
// files parquet-go 0.32 asked for 2.5 to 7.8 GB, since it believes the length of a run,
// and Go cannot recover from running out of memory. Here each length is first compared
// with what is there; TestHostile allows 64 MiB for each damaged file of its own. A
// checkpoint's hashes would show such damage before its pages are decoded; for exports
// nothing does. Speed is no reason: all columns of a checkpoint of 2.5 million events are
// decoded in 83 ms here, hashes included, and in 114 ms by the library's pages with its
// levels made bitmaps.
//
// The library's writer takes rows, not columns, and optional values by pointer. Its
// GenericWriter wrote 3.1 million rows/s of 16 columns of events where this package wrote
// 17.1 million, hashes included (BenchmarkWrite of package checkpoint), and is 0.2 to 0.3
// times as fast on the six columns of BenchmarkLibraryWrite, on one processor as on two,
// where 0.8 would have done. It also has no metadata of column chunks for the hashes.
//
// # Files that can be trusted
//
// Page checksums do not cover page headers and the footer, so a Parquet file
// can be damaged and still be read. A file written with Options.Sealed carries
// a hash of the bytes of each column chunk, which reading a column of a row
// group verifies, and a checksum of its footer, which Open verifies.
package parquet

import (
	"fmt"
	"runtime"
)

// Type is the type of a column.
type Type int

// The types. Integer types have their width in storage. All but Text and Bytes are
// handled as int64: Bool as 0 and 1, Uint64 and Float64 as bit patterns. Text is UTF-8,
// Bytes is any bytes.
const (
	Bool   Type = iota
	Int32       // signed
	Int64       // signed
	Uint32      // zero-extended
	Uint64
	Float64
	Text
	Bytes
)

var typeNames = [...]string{"bool", "int32", "int64", "uint32", "uint64", "float64", "text", "bytes"}

// String is the name of the type in errors.
func (t Type) String() string { return typeNames[t] }

// IsInt reports whether values of the type are integers or booleans.
func (t Type) IsInt() bool { return t <= Uint64 }

// IsFloat reports whether values of the type are floating point numbers.
func (t Type) IsFloat() bool { return t == Float64 }

// IsText reports whether values of the type are in Vector.Text.
func (t Type) IsText() bool { return t >= Text }

// Column describes a column.
type Column struct {
	Name     string // in the schema
	Type     Type   // of its values
	Nullable bool   // the column is optional
	// Encoding is how a writer stores the values. Readers ignore it.
	Encoding Encoding
	// Enum lets vectors of a Text column hold indexes of these strings in Int, so that
	// few different strings need not be compared row by row. The file holds the
	// strings. Writers set it; readers pass it to ReadColumn.
	Enum []string
}

// isNumber reports whether the values of the column are in Vector.Int.
func (c *Column) isNumber() bool { return !c.Type.IsText() || c.Enum != nil }

// Encoding is how the values of a column are stored.
type Encoding int

const (
	// Dictionary stores each value once per row group, and its index in each row. If a
	// row group has too many different values, integers fall back to Delta and others
	// to plain values. Floats have no dictionary.
	Dictionary Encoding = iota
	// Delta stores the differences between integers.
	Delta
)

// recovered turns a panic into an error: a panic of a library is due to a damaged file.
// Use: defer recovered(&err).
func recovered(err *error) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		*err = fmt.Errorf("damaged: %w", p)
	default:
		*err = fmt.Errorf("damaged: %v", p)
	}
}
