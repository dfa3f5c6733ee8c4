package sqlite

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"os"
)

// The parts of a database file's header that say how to read pages. All numbers in the
// file format are big-endian.
const (
	headerSize     = 100
	atPageSize     = 16 // two bytes; 1 stands for 65536
	atWriteVersion = 18 // 2 for a database with a write-ahead log
	atReadVersion  = 19
	atReserved     = 20 // unused bytes at the end of each page
	atChanges      = 24
	atPages        = 28 // number of pages, valid if the number after it equals that at atChanges
	atEncoding     = 56 // 1 for UTF-8
	atPagesVersion = 92
)

// header is the header of a database file.
type header [headerSize]byte

func (h *header) pageSize() int {
	if n := int(binary.BigEndian.Uint16(h[atPageSize:])); n != 1 {
		return n
	}
	return 65536
}

// pages returns the number of pages in the header, 0 if it states none: old versions of
// SQLite did not keep the count.
func (h *header) pages() uint32 {
	if [4]byte(h[atChanges:]) != [4]byte(h[atPagesVersion:]) {
		return 0
	}
	return binary.BigEndian.Uint32(h[atPages:])
}

// damage is a violation of the file format.
type damage struct {
	page uint32
	what string
}

func (e *damage) Error() string { return fmt.Sprintf("page %d: %s", e.page, e.what) }

const (
	// bufferSize is how many bytes of the file are read at a time. They fit into the
	// second-level cache beside a block and its values.
	bufferSize = 128 << 10
	// maxGap is the most bytes between two wanted pages that are read along, as a
	// second read would cost more.
	maxGap = 16 << 10
	// pagePad is how many bytes after the end of a page may be read unchecked: numbers
	// are loaded as 8 bytes, varints have up to 9.
	pagePad = 32
)

// pager reads the pages of a database file, numbered from 1. It copies instead of
// mapping: truncating a mapped file kills its reader, and mapping one window after
// another takes a fifth more processor time.
type pager struct {
	file   *os.File
	size   int    // of a page
	usable int    // bytes of a page that may hold data
	pages  uint32 // 0 if SQLite must read the whole database

	// buffer holds pages first, first+1, … and pagePad bytes.
	buffer []byte
	first  uint32
	count  uint32
	spare  []byte // one page and pagePad bytes
}

// newPager returns the pages of a file of this size. There are none if SQLite would
// refuse the file, or if its text is not UTF-8.
func newPager(f *os.File, h *header, size int64) pager {
	p := pager{file: f, size: h.pageSize(), pages: h.pages()}
	p.usable = p.size - int(h[atReserved])
	if encoding := be32(h[atEncoding:]); encoding > 1 || p.size < 512 || p.size&(p.size-1) != 0 || p.usable < 480 {
		p.pages = 0
	} else if p.pages == 0 {
		p.pages = uint32(min(size/int64(p.size), 1<<32-2))
	}
	return p
}

// cached returns a page in the buffer, followed by at least pagePad bytes.
func (p *pager) cached(n uint32) ([]byte, bool) {
	i := n - p.first // wraps around below first
	if i >= p.count {
		return nil, false
	}
	at := int(i) * p.size
	return p.buffer[at : at+p.size+pagePad : at+p.size+pagePad], true
}

// load reads pages first to last into the buffer. last must not be less than first.
func (p *pager) load(first, last uint32) error {
	size := int(last-first+1) * p.size
	if cap(p.buffer) < size+pagePad {
		p.buffer = make([]byte, max(size, bufferSize)+pagePad)
	}
	p.count = 0
	p.buffer = p.buffer[:size+pagePad]
	if err := p.read(p.buffer[:size], first); err != nil {
		return err
	}
	p.first, p.count = first, last-first+1
	return nil
}

// one returns a single page, valid until the next call of one or load.
func (p *pager) one(n uint32) ([]byte, error) {
	if page, ok := p.cached(n); ok {
		return page, nil
	}
	if n == 0 || n > p.pages {
		return nil, &damage{n, "is not in the file"}
	}
	if p.spare == nil {
		p.spare = make([]byte, p.size+pagePad)
	}
	return p.spare, p.read(p.spare[:p.size], n)
}

func (p *pager) read(into []byte, first uint32) error {
	n, err := p.file.ReadAt(into, int64(first-1)*int64(p.size))
	switch {
	case n == len(into):
		return nil
	case err == io.EOF:
		return &damage{first + uint32(n/p.size), "the file ends before it"}
	}
	return err
}

// varint decodes a number of 1 to 9 bytes and returns their number n. Each byte has
// seven bits and a high bit that says whether another byte follows; the ninth has eight
// bits. b must have at least 9 bytes.
func varint(b []byte) (v uint64, n int) {
	_ = b[8]
	// Fast path: row ids up to 268 million, in four bytes at once.
	if w := binary.BigEndian.Uint32(b); w&0x80808080 != 0x80808080 {
		n = bits.LeadingZeros32(^w&0x80808080)/8 + 1
		w >>= 32 - 8*n
		return uint64(w&0x7f | w>>1&(0x7f<<7) | w>>2&(0x7f<<14) | w>>3&(0x7f<<21)), n
	}
	for i := range 8 {
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return v<<8 | uint64(b[8]), 9
}

// short is varint for numbers that mostly have one byte.
func short(b []byte) (v uint64, n int) {
	if v, n = uint64(b[0]), 1; v >= 0x80 {
		v, n = varint(b)
	}
	return
}

func be16(b []byte) int    { return int(binary.BigEndian.Uint16(b)) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
