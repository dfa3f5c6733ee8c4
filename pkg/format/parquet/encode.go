package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A page has at most pageRows rows, and few rows beyond pageText bytes of strings.
const (
	pageRows = 64 << 10
	pageText = 1 << 20
)

// chunkWriter holds the rows of a column for one row group.
type chunkWriter struct {
	col *Column
	opt *Options
	v   *Vector // values of the rows that are not null, contiguous; nil if there are no rows
	out []byte  // the encoded chunk

	meta      format.ColumnMetaData
	dataStart int // offset in out of the first data page
}

// vectors keeps the memory of row groups for the next ones, of any file: a writer of
// many files fills one file after the other.
var vectors [2]sync.Pool

// pool returns the pool for the values of the chunk; strings take more memory and have
// their own.
func (c *chunkWriter) pool() *sync.Pool {
	if c.col.Type.IsText() && c.col.Enum == nil {
		return &vectors[1]
	}
	return &vectors[0]
}

// held returns the bytes of memory that the rows take.
func (c *chunkWriter) held() int64 {
	if c.v == nil {
		return 0
	}
	return int64(8*len(c.v.Int) + len(c.v.Text.Data) + 4*len(c.v.Text.Offsets) + len(c.v.Valid))
}

// shrink moves the rows into memory of their size if they have much more.
func (c *chunkWriter) shrink() {
	v := c.v
	if v == nil {
		return
	}
	have := 8*cap(v.Int) + cap(v.Text.Data) + 4*cap(v.Text.Offsets) + cap(v.Valid) + cap(v.spare)
	if int64(have) <= 2*c.held()+4<<10 {
		return
	}
	c.v = &Vector{
		Int: slices.Clone(v.Int), Valid: slices.Clone(v.Valid),
		Text: event.Strings{Offsets: slices.Clone(v.Text.Offsets), Data: slices.Clone(v.Text.Data)},
	}
	v.Reset()
	c.pool().Put(v)
}

// put returns the rows to the pool.
func (c *chunkWriter) put() {
	c.v.Reset()
	c.pool().Put(c.v)
	c.v, c.out = nil, nil
}

// append adds rows i to j of src. rows is the number of rows that the chunk has. Values
// of null rows are dropped, so later rows need no room for them. The bitmap begins with
// the first null.
func (c *chunkWriter) append(src *Vector, rows, i, j int) error {
	if c.v == nil {
		c.v, _ = c.pool().Get().(*Vector)
		if c.v == nil {
			c.v = new(Vector)
			c.v.Reset()
		}
	}
	none := len(src.Int) == 0 && src.Text.Len() == 0
	switch {
	case none && c.col.Nullable:
		c.v.needValid(rows)
		c.v.Valid = c.v.Valid.AppendSame(rows, j-i, false)
		return nil
	case none:
		return errors.New("no values")
	case src.Valid.Count(i, j) == j-i:
		if c.v.Valid != nil {
			c.v.Valid = c.v.Valid.AppendSame(rows, j-i, true)
		}
		return c.appendValues(src, i, j)
	case !c.col.Nullable:
		return errors.New("null in a column that has none")
	}
	c.v.needValid(rows)
	c.v.Valid = c.v.Valid.AppendRange(rows, src.Valid, i, j)
	for i < j { // runs of rows that are not null
		for i < j && src.IsNull(i) {
			i++
		}
		k := i
		for k < j && !src.IsNull(k) {
			k++
		}
		if err := c.appendValues(src, i, k); err != nil {
			return err
		}
		i = k
	}
	return nil
}

// appendValues appends values i to j of src. The strings of a chunk must fit into 2
// GiB, since offsets have 32 bits.
func (c *chunkWriter) appendValues(src *Vector, i, j int) error {
	switch {
	case c.col.isNumber():
		c.v.Int = append(c.v.Int, src.Int[i:j]...)
	case len(c.v.Text.Data)+int(src.Text.Offsets[j]-src.Text.Offsets[i]) > maxStrings:
		return errors.New("too much text in one row group")
	default:
		c.v.Text.AppendRange(&src.Text, i, j)
	}
	return nil
}

// encoder holds what encoding a chunk needs besides its rows. It belongs to one
// goroutine while it encodes; its memory is reused for later chunks.
type encoder struct {
	*chunkWriter
	dict     builder
	encoding format.Encoding
	indexed  bool // pages hold dictionary indexes
	page     []byte
	small    []int32
	packed   []byte
	head     bytes.Buffer
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// encode encodes a chunk of rows rows: the dictionary page, if any, and the data pages.
func (c *encoder) encode(rows int) {
	c.meta = format.ColumnMetaData{
		Type: physical(c.col.Type), PathInSchema: []string{c.col.Name}, NumValues: int64(rows), Codec: format.Zstd,
	}
	c.chooseEncoding()
	c.meta.Statistics = c.statistics(rows)
	if c.indexed {
		c.dictionaryPage()
	}
	c.dataStart = len(c.out)
	for row, value := 0, 0; row < rows; {
		row, value = c.dataPage(row, value, rows)
	}
	c.meta.TotalCompressedSize = int64(len(c.out))
	if c.opt.Sealed {
		c.meta.KeyValueMetadata = []format.KeyValue{{Key: hashKey, Value: hex(Sum64(c.out))}}
	}
	c.meta.Encoding = []format.Encoding{format.RLE, c.encoding}
	if c.indexed {
		c.meta.Encoding = append(c.meta.Encoding, format.Plain)
	}
	slices.Sort(c.meta.Encoding)
}

// chooseEncoding chooses by column and values. If a dictionary grows too large, the
// chunk does without.
func (c *encoder) chooseEncoding() {
	c.encoding, c.indexed = format.Plain, false
	switch {
	case c.v.count(c.col) == 0:
		return
	case c.col.Type.IsFloat(), c.col.Type == Bool:
		return
	case c.col.Enum != nil:
		c.dict.enum(c.col.Enum, c.v.Int)
		c.indexed = true
	case c.col.Encoding == Dictionary && c.col.Type.IsInt():
		c.indexed = c.dict.ints(c.v.Int)
	case c.col.Encoding == Dictionary:
		c.indexed = c.dict.strings(&c.v.Text)
	}
	if c.indexed {
		c.encoding = format.RLEDictionary
	} else if c.col.Type.IsInt() {
		c.encoding = format.DeltaBinaryPacked
	}
}

// dictionaryPage writes the values of the dictionary.
func (c *encoder) dictionaryPage() {
	d := &c.dict
	n := len(d.intValues)
	if c.col.Type.IsText() {
		n = d.textValues.Len()
		c.page = appendStrings(c.page[:0], &d.textValues, 0, n)
	} else {
		c.page = appendPlain(c.page[:0], d.intValues, physical(c.col.Type))
	}
	c.writePage(&format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(
		format.DictionaryPageHeader{NumValues: int32(n), Encoding: format.Plain})})
}

// dataPage writes a page of rows from row on. Its values start at value; null rows have
// none. It returns where the next page starts: both ends are needed, since the values
// of a page are contiguous in c.v. A page of strings is halved until it is short
// enough, or has one row.
func (c *encoder) dataPage(row, value, rows int) (int, int) {
	next := min(row+pageRows, rows)
	values := c.v.Valid.Count(row, next)
	if c.col.Type.IsText() && !c.indexed {
		for n := &c.v.Text; values > 1 && n.Offsets[value+values]-n.Offsets[value] > pageText; {
			next = row + max((next-row)/2, 1)
			values = c.v.Valid.Count(row, next)
		}
	}
	c.page = c.page[:0]
	if c.col.Nullable {
		c.levels(row, next, values)
	}
	c.encodeValues(value, value+values)
	c.writePage(&format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(next - row), Encoding: c.encoding,
		DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})})
	return next, value + values
}

// levels writes which rows are null, preceded by the length: as one repeated run, or
// the bitmap as one packed run. (Runs within the bitmap would save nothing, as it is
// compressed.)
func (c *encoder) levels(from, to, values int) {
	c.page = append(c.page, 0, 0, 0, 0)
	switch rows := uint64(to - from); {
	case values == to-from:
		c.page = append(binary.AppendUvarint(c.page, rows<<1), 1)
	case values == 0:
		c.page = append(binary.AppendUvarint(c.page, rows<<1), 0)
	default:
		c.page = binary.AppendUvarint(c.page, (rows+7)/8<<1|1)
		c.page = append(c.page, event.Bitmap(nil).AppendRange(0, c.v.Valid, from, to)...)
	}
	binary.LittleEndian.PutUint32(c.page, uint32(len(c.page)-4))
}

// encodeValues appends values i to j to c.page in the chunk's encoding: dictionary
// indexes, differences of integers, or plain. i and j do not count nulls, which have no
// value. The library's encoders cannot fail on memory, so an error is our own mistake.
func (c *encoder) encodeValues(i, j int) {
	var b []byte
	var err error
	switch {
	case c.indexed:
		b, err = new(rle.DictionaryEncoding).EncodeInt32(nil, c.dict.numbers[i:j])
	case c.encoding == format.DeltaBinaryPacked && c.meta.Type == format.Int32:
		c.small = c.small[:0]
		for _, v := range c.v.Int[i:j] {
			c.small = append(c.small, int32(v))
		}
		b, err = new(delta.BinaryPackedEncoding).EncodeInt32(nil, c.small)
	case c.encoding == format.DeltaBinaryPacked:
		b, err = new(delta.BinaryPackedEncoding).EncodeInt64(nil, c.v.Int[i:j])
	case c.col.Type == Bool:
		bits := make([]byte, (j-i+7)/8)
		for k, v := range c.v.Int[i:j] {
			bits[k>>3] |= byte(v&1) << (k & 7)
		}
		c.page = append(c.page, bits...)
	case c.col.Type == Float64:
		c.page = appendPlain(c.page, c.v.Int[i:j], c.meta.Type)
	default:
		c.page = appendStrings(c.page, &c.v.Text, i, j)
	}
	if err != nil {
		panic("BUG: " + err.Error())
	}
	c.page = append(c.page, b...)
}

// appendPlain appends numbers in four or eight bytes each.
func appendPlain(dst []byte, values []int64, t format.Type) []byte {
	for _, v := range values {
		if t == format.Int32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	}
	return dst
}

// appendStrings appends strings i to j, each preceded by its length in four bytes.
func appendStrings(dst []byte, values *event.Strings, i, j int) []byte {
	for ; i < j; i++ {
		t := values.Get(i)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(t)))
		dst = append(dst, t...)
	}
	return dst
}

// writePage compresses c.page and writes it after its header.
func (c *encoder) writePage(h *format.PageHeader) {
	c.packed = zstdEncoder().EncodeAll(c.page, c.packed[:0])
	body := c.packed
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(c.page)), int32(len(body))
	h.CRC = int32(crc32.ChecksumIEEE(body))
	c.head.Reset()
	var compact thrift.CompactProtocol
	if err := thrift.NewEncoder(compact.NewWriter(&c.head)).Encode(h); err != nil {
		panic("BUG: " + err.Error())
	}
	c.out = append(append(c.out, c.head.Bytes()...), body...)
	c.meta.TotalUncompressedSize += int64(c.head.Len() + len(c.page))
}
