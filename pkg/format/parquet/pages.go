package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// Bounds on the values in a page header.
const (
	maxHeader = 16 << 20 // including statistics of long strings
	maxPage   = 1 << 30
	maxRows   = 1 << 26 // of a page
	readAhead = 256 << 10

	// mostExpected bounds the rows for which memory is allocated in advance.
	mostExpected = 1 << 20
)

// window reads a part of a file in order, readAhead bytes at a time or as many as are
// asked for, and never beyond end.
type window struct {
	r        io.ReaderAt
	off, end int64 // bytes not read yet
	buf      []byte
	pos      int // in buf, of the next byte
}

// left returns the number of bytes not consumed yet.
func (w *window) left() int64 { return w.end - w.off + int64(len(w.buf)-w.pos) }

// peek returns the next n bytes without consuming them, fewer at the end. They are
// valid until the next call.
func (w *window) peek(n int) ([]byte, error) {
	if have := len(w.buf) - w.pos; have < n && w.off < w.end {
		more := min(int64(max(n-have, readAhead)), w.end-w.off)
		copy(w.buf, w.buf[w.pos:])
		w.buf, w.pos = w.buf[:have], 0
		w.buf = append(w.buf, make([]byte, more)...)
		if _, err := w.r.ReadAt(w.buf[have:], w.off); err != nil {
			return nil, err
		}
		w.off += more
	}
	return w.buf[w.pos:min(w.pos+n, len(w.buf))], nil
}

// next consumes n bytes.
func (w *window) next(n int) ([]byte, error) {
	b, err := w.peek(n)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, io.ErrUnexpectedEOF
	}
	w.pos += n
	return b, nil
}

// chunkReader reads the rows of one column chunk. The zero value is ready for reset;
// memory is kept between chunks.
//
// It trusts nothing in a page. Sizes are checked against the rest of the chunk, rows
// against the rest of the row group; decoders take the number of values from the levels
// and fail when they run out of bytes. So memory is bounded by the size of the file
// times the expansion of codec or run lengths, which TotalUncompressedSize and the rows
// of the row group bound.
type chunkReader struct {
	col   *leaf
	codec format.CompressionCodec
	size  int64 // uncompressed bytes of all pages
	win   window
	left  int64 // rows in pages not read yet
	plain []byte
	dict  dictionary
	enum  *enum
	// narrow stores numbers in Vector.Int32 instead of Int. numbered keeps strings as
	// dictionary indexes.
	narrow, numbered bool

	page Vector // rows of the last page read
	rows int    // in page
	pos  int    // rows of page already returned
}

// reset starts reading col in a row group.
func (r *chunkReader) reset(f *File, group *format.RowGroup, col *leaf) {
	m := &group.Columns[col.chunk].MetaData
	start := chunkStart(m)
	r.col, r.codec, r.size, r.left = col, m.Codec, m.TotalUncompressedSize, group.NumRows
	r.win = window{r: f.r, off: start, end: start + m.TotalCompressedSize, buf: r.win.buf[:0]}
	r.dict.reset()
	r.enum, r.narrow, r.numbered = nil, false, false
	if col.Enum != nil {
		r.enum = &enum{codes: make(map[string]int64, len(col.Enum))}
		for i, t := range col.Enum {
			r.enum.codes[t] = int64(i)
		}
	}
	r.rows, r.pos = 0, 0
}

// header reads the next page header. Its length is not stated: growing pieces are tried
// until it is complete.
func (r *chunkReader) header() (*format.PageHeader, error) {
	for n := 256; ; n *= 8 {
		b, err := r.win.peek(n)
		if err != nil {
			return nil, err
		}
		var h format.PageHeader
		size, err := unmarshal(b, &h)
		if errors.Is(err, errShort) && len(b) == n && n < maxHeader {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("damaged page header: %w", err)
		}
		if _, err := r.win.next(size); err != nil {
			return nil, err
		}
		return &h, r.checkHeader(&h)
	}
}

// checkHeader checks the sizes of a page against the rest of the chunk and its stated
// uncompressed size.
func (r *chunkReader) checkHeader(h *format.PageHeader) error {
	switch {
	case h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > r.win.left():
		return fmt.Errorf("damaged page header: %d bytes of %d", h.CompressedPageSize, r.win.left())
	case h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage || int64(h.UncompressedPageSize) > r.size:
		return fmt.Errorf("damaged page header: %d bytes when decompressed", h.UncompressedPageSize)
	}
	return nil
}

// body consumes the bytes of a page, as in the file.
func (r *chunkReader) body(h *format.PageHeader) ([]byte, error) {
	b, err := r.win.next(int(h.CompressedPageSize))
	if err != nil {
		return nil, err
	}
	if h.CRC != 0 && crc32.ChecksumIEEE(b) != uint32(h.CRC) {
		return nil, errors.New("damaged page: its checksum is wrong")
	}
	return b, nil
}

// inflate decompresses b, whose result has size bytes.
func (r *chunkReader) inflate(b []byte, size int) (_ []byte, err error) {
	switch {
	case r.codec == format.Uncompressed && len(b) != size:
		return nil, errSize
	case r.codec == format.Uncompressed || size == 0:
		return b[:size], nil
	}
	r.plain, err = decompress(r.codec, r.plain, b, size)
	return r.plain, err
}

// nextPage appends the next data page: the values of its rows that are not null to v,
// which has n rows, and their bitmap to v.Valid. It returns the number of rows. The
// next skip rows of the chunk are not wanted; a page with only such rows is skipped,
// and skipped is true. It reads dictionaries on the way and skips other pages. After an
// error v and the reader's position are undefined until reset.
func (r *chunkReader) nextPage(v *Vector, n int, skip int64) (rows int, skipped bool, err error) {
	for {
		h, err := r.header()
		if err != nil {
			return 0, false, err
		}
		b, err := r.body(h)
		if err != nil {
			return 0, false, err
		}
		p := page{}
		switch {
		case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
			if err := r.readDictionary(h, b); err != nil {
				return 0, false, err
			}
			continue
		case h.Type == format.DataPage && h.DataPageHeader.Valid:
			p.rows, p.encoding = int(h.DataPageHeader.V.NumValues), h.DataPageHeader.V.Encoding
		case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
			p.rows, p.encoding = int(h.DataPageHeaderV2.V.NumValues), h.DataPageHeaderV2.V.Encoding
		default:
			continue // index page
		}
		if p.rows < 0 || p.rows > maxRows || int64(p.rows) > r.left {
			return 0, false, fmt.Errorf("damaged page header: %d rows of %d", p.rows, r.left)
		}
		r.left -= int64(p.rows)
		if int64(p.rows) <= skip {
			return p.rows, true, nil
		}
		if h.Type == format.DataPage {
			err = r.levelsV1(h, b, &p, v, n)
		} else {
			err = r.levelsV2(h, b, &p, v, n)
		}
		r.makeRoom(v, int64(p.rows))
		if err == nil {
			err = r.values(&p, v)
		}
		return p.rows, false, err
	}
}

// makeRoom grows the slice for the numbers of rows rows.
func (r *chunkReader) makeRoom(v *Vector, rows int64) {
	n := int(min(rows, mostExpected))
	switch {
	case r.narrow:
		v.Int32 = slices.Grow(v.Int32, n)
	case r.col.isNumber():
		v.Int = slices.Grow(v.Int, n)
	}
}

// page is a data page being read.
type page struct {
	rows     int
	values   int // number of rows that are not null
	encoding format.Encoding
	data     []byte // the values
}

// levelsV1 reads the levels before the values. They are compressed together.
func (r *chunkReader) levelsV1(h *format.PageHeader, b []byte, p *page, v *Vector, n int) error {
	data, err := r.inflate(b, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	p.values, p.data = p.rows, data
	if !r.col.Nullable {
		return nil
	}
	if e := h.DataPageHeader.V.DefinitionLevelEncoding; e != format.RLE {
		return fmt.Errorf("levels in encoding %s are not supported", e)
	}
	if len(data) < 4 {
		return errSize
	}
	size := int64(binary.LittleEndian.Uint32(data))
	if size > int64(len(data)-4) {
		return errSize
	}
	p.data = data[4+size:]
	return r.nulls(data[4:4+size], p, v, n)
}

// levelsV2 reads the levels before the values. They are not compressed, and their
// lengths are in the header; only the values may be compressed.
func (r *chunkReader) levelsV2(h *format.PageHeader, b []byte, p *page, v *Vector, n int) error {
	head := &h.DataPageHeaderV2.V
	rep, def := int(head.RepetitionLevelsByteLength), int(head.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep > len(b) || def > len(b)-rep || int(h.UncompressedPageSize) < rep+def {
		return errSize
	}
	p.values = p.rows
	if r.col.Nullable {
		if err := r.nulls(b[rep:rep+def], p, v, n); err != nil {
			return err
		}
	}
	var err error
	p.data = b[rep+def:]
	if !head.IsCompressed.Valid || head.IsCompressed.V {
		p.data, err = r.inflate(p.data, int(h.UncompressedPageSize)-rep-def)
	}
	return err
}

// nulls reads the definition levels of a page into v.Valid, which stays nil while no
// row is null, and sets p.values.
func (r *chunkReader) nulls(levels []byte, p *page, v *Vector, n int) (err error) {
	if v.Valid == nil { // Fast path: one run of ones.
		if r, _, err := nextRun(levels, 1, p.rows); err == nil && !r.packed && r.count == p.rows && r.data[0] == 1 {
			return nil
		}
	}
	v.needValid(n)
	if v.Valid, err = decodeBits(v.Valid, n, p.rows, levels); err != nil {
		return err
	}
	p.values = v.Valid.Count(n, n+p.rows)
	return nil
}
