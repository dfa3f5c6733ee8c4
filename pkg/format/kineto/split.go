package kineto

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Limits on what a document may ask for.
const (
	maxEvent  = 16 << 20 // bytes of an event; the largest in real traces have 7 KB
	maxHeader = 64 << 20 // bytes of a value outside of the events
	maxDepth  = 64       // of nested objects and arrays
	blockSize = 256 << 10
)

// block is a number of events as in the document.
type block struct {
	number uint32 // of the blocks of a document, from 0 on
	buf    []byte
	events [][2]int // ranges in buf, at most maxEvents
}

// blocks is a pool of used blocks: most documents have thousands.
var blocks = sync.Pool{New: func() any { return &block{buf: make([]byte, 0, blockSize+blockSize/8)} }}

// newBlock returns an empty block, reusing memory if possible.
func newBlock() *block {
	b := blocks.Get().(*block)
	b.buf, b.events = b.buf[:0], b.events[:0]
	return b
}

// maxEvents is the most events of a block: a row stores its place in the document,
// block and event, in 32 bits.
const maxEvents = 1 << 13

// splitter reads a document and returns its events in blocks.
type splitter struct {
	in   io.Reader
	buf  []byte // read, but not emitted
	pos  int    // in buf
	err  error  // of in, io.EOF at its end
	read int64  // bytes

	head    header
	blocks  uint32
	skipped int64 // events that are not JSON
	lost    bool  // the end of the document was not found
	cut     bool  // the document ends early
	empty   bool  // there is no document
}

// fill reads more input. It returns false at the end of it.
func (s *splitter) fill() bool {
	if s.err != nil {
		return false
	}
	if s.pos > 0 {
		s.buf = s.buf[:copy(s.buf, s.buf[s.pos:])]
		s.pos = 0
	}
	n := len(s.buf)
	if n+blockSize > cap(s.buf) {
		s.buf = append(make([]byte, 0, 2*n+2*blockSize), s.buf...)
	}
	for len(s.buf) == n && s.err == nil {
		var k int
		k, s.err = s.in.Read(s.buf[n:cap(s.buf)])
		s.buf = s.buf[:n+k]
	}
	s.read += int64(len(s.buf) - n)
	return len(s.buf) > n
}

// peek returns the next byte that is not white space, false at the end.
func (s *splitter) peek() (byte, bool) {
	for {
		if s.pos = skipSpace(s.buf, s.pos); s.pos < len(s.buf) {
			return s.buf[s.pos], true
		}
		if !s.fill() {
			return 0, false
		}
	}
}

// value returns the next string, number, word, object or array, which is valid until
// the next call. Only its brackets and quotes are checked.
func (s *splitter) value(limit int) ([]byte, error) {
	if _, ok := s.peek(); !ok {
		return nil, io.ErrUnexpectedEOF
	}
	for {
		end, st := scanValue(s.buf, s.pos)
		switch {
		case st == whole && end > s.pos:
			v := s.buf[s.pos:end]
			s.pos = end
			return v, nil
		case st != more:
			return nil, fmt.Errorf("no JSON at byte %d", s.at())
		case len(s.buf)-s.pos > limit:
			return nil, fmt.Errorf("a value of more than %d bytes at byte %d", limit, s.at())
		case !s.fill():
			return nil, io.ErrUnexpectedEOF
		}
	}
}

// at returns the offset in the document.
func (s *splitter) at() int64 { return s.read - int64(len(s.buf)-s.pos) }

// run reads the document and calls emit with its blocks, which emit must release. A
// document that ends early is not an error here: cut is set, and what was read is kept.
func (s *splitter) run(emit func(*block) error) error {
	c, ok := s.peek()
	switch {
	case !ok:
		s.empty = s.err == io.EOF
		return s.end(io.ErrUnexpectedEOF)
	case c == 0:
		return wrong("copy or write it again: nothing reached the disk", "it begins with NUL bytes")
	case c == '[': // as in 2020: only the events
		s.pos++
		if err := s.events(emit); err != nil || s.lost {
			return s.end(err)
		}
		return s.last()
	case c != '{' && len(s.buf) > 262 && string(s.buf[257:262]) == "ustar":
		return wrong("unpack it, and give the traces in it, all ranks of a run at once", "an archive of tar")
	case c != '{':
		return fmt.Errorf("no JSON: it begins with %q", c)
	}
	s.pos++
	for {
		c, ok := s.peek()
		switch {
		case !ok:
			return s.end(io.ErrUnexpectedEOF)
		case c == '}':
			s.pos++
			return s.last()
		case c == ',':
			s.pos++
			continue
		}
		if err := s.member(emit); err != nil || s.lost {
			return s.end(err)
		}
	}
}

// last checks that nothing follows the document, and that the checksum of its
// compression is right.
func (s *splitter) last() error {
	if _, ok := s.peek(); ok {
		return following(s.buf[s.pos:], fmt.Sprintf("the trace at byte %d", s.at()))
	}
	return s.end(nil)
}

// end interprets an error of the input, or its early end.
func (s *splitter) end(err error) error {
	switch {
	case s.err != nil && s.err != io.EOF && s.err != io.ErrUnexpectedEOF:
		return s.err
	case err == io.ErrUnexpectedEOF || err == nil && s.err == io.ErrUnexpectedEOF:
		s.cut = true
		return nil
	}
	return err
}

// member reads a key of the document and its value.
func (s *splitter) member(emit func(*block) error) error {
	v, err := s.value(1 << 10)
	if err != nil {
		return err
	}
	key := string(bytes.Trim(v, `"`))
	if c, ok := s.peek(); !ok {
		return io.ErrUnexpectedEOF
	} else if c != ':' {
		return fmt.Errorf("no JSON at byte %d", s.at())
	}
	s.pos++
	c, ok := s.peek()
	switch {
	case !ok:
		return io.ErrUnexpectedEOF
	case key == "traceEvents" && c == '[':
		s.pos++
		s.head.named = true
		return s.events(emit)
	}
	if v, err = s.value(maxHeader); err != nil {
		return err
	}
	s.head.member(key, v)
	return nil
}

// events reads the rest of the array of events. A block is a contiguous part of s.buf,
// so events are not moved one by one. Commas are not counted: writers omit some and add
// others.
func (s *splitter) events(emit func(*block) error) error {
	s.head.events = true
	g := gatherer{s: s, emit: emit, block: newBlock(), from: s.pos}
	for {
		if s.pos = skipSpace(s.buf, s.pos); s.pos == len(s.buf) {
			if err := g.flush(); err != nil {
				return err
			}
			if !s.fill() {
				return s.dry()
			}
			g.from = s.pos
			continue
		}
		st, end := broken, s.pos
		switch s.buf[s.pos] {
		case ',':
			s.pos++
			continue
		case ']':
			err := g.flush()
			s.pos++
			return err
		case '{':
			end, st = valueEnd(s.buf, s.pos)
		}
		var done bool
		var err error
		if st == whole {
			err = g.add(end)
		} else {
			done, err = g.interrupted(st)
		}
		if done || err != nil {
			return err
		}
	}
}

// gatherer groups the events of an array into blocks.
type gatherer struct {
	s     *splitter
	emit  func(*block) error
	block *block
	from  int // start of the block in s.buf
}

// add adds the event from s.pos to end.
func (g *gatherer) add(end int) error {
	g.block.events = append(g.block.events, [2]int{g.s.pos - g.from, end - g.from})
	g.s.pos = end
	if end-g.from >= blockSize || len(g.block.events) == maxEvents {
		return g.flush()
	}
	return nil
}

// flush emits the current block.
func (g *gatherer) flush() error {
	s := g.s
	full := g.block
	from := g.from
	g.from = s.pos
	if len(full.events) == 0 {
		return nil
	}
	g.block = newBlock()
	full.number = s.blocks
	s.blocks++
	full.buf = append(full.buf, s.buf[from:s.pos]...)
	return g.emit(full)
}

// interrupted handles an event that goes on after the available bytes, or is broken,
// and reports whether no more events follow. An event without an end is broken only if
// another one seems to begin after it; otherwise the document was cut short there.
func (g *gatherer) interrupted(st status) (done bool, err error) {
	if err := g.flush(); err != nil {
		return true, err
	}
	s := g.s
	if st == more && len(s.buf)-s.pos <= maxEvent && s.fill() {
		g.from = s.pos
		return false, nil
	}
	if st == more && s.err != nil && nextEvent(s.buf, s.pos+1) < 0 {
		return true, s.dry()
	}
	s.skipped++
	done = !s.resync()
	g.from = s.pos
	return done, nil
}

// dry returns the error for an input that ends within the events.
func (s *splitter) dry() error {
	if s.err != nil && s.err != io.EOF {
		return s.end(s.err)
	}
	return io.ErrUnexpectedEOF
}

// nextEvent returns where the next event seems to begin in b, from i on, -1 if nowhere:
// an object whose first key is one that writers begin events with.
func nextEvent(b []byte, i int) int {
	for {
		k := bytes.IndexByte(b[i:], '{')
		if k < 0 {
			return -1
		}
		i += k
		j := skipSpace(b, i+1)
		for _, key := range [...]string{`"ph"`, `"name"`, `"cat"`} {
			if bytes.HasPrefix(b[j:], []byte(key)) {
				return i
			}
		}
		i++
	}
}

// resync moves on to the next event after a broken one. It returns false if there is
// none; then the end of the document has to be guessed, too.
func (s *splitter) resync() bool {
	s.pos++
	for {
		if i := nextEvent(s.buf, s.pos); i >= 0 {
			s.pos = i
			return true
		}
		if s.err != nil {
			break
		}
		s.pos = max(s.pos, len(s.buf)-1<<10) // the beginning of an event may be split, and so may what follows the events
		s.fill()
	}
	s.lost = true
	s.head.guess(s.buf[s.pos:])
	tail := bytes.TrimRight(s.buf, " \t\r\n")
	s.cut = len(tail) == 0 || tail[len(tail)-1] != '}' && tail[len(tail)-1] != ']'
	return false
}
