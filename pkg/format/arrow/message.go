package arrow

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// ErrCut is the error of an input that ends before its end-of-stream marker: its writer
// failed or was stopped, and rows may be missing.
var ErrCut error = &event.Error{
	Msg:    "input was cut short",
	Advice: "the filter that wrote it failed or was killed: its own message comes before this one",
}

// Limits on a message. Writers of more should split it: other readers refuse bodies of
// 256 MiB.
const (
	maxMeta = 16 << 20
	maxBody = 1 << 30
)

// Kinds of messages, by their numbers in metadata.
const (
	schemaMessage = 1 + iota
	dictionaryMessage
	recordMessage
)

// node describes an array of a record batch, span a buffer.
type (
	node struct{ rows, nulls int64 }
	span struct{ offset, length int64 }
)

// message is a message of a stream that was checked: spans lie in the body, and counts
// are not negative. It is valid until the next one is read.
type message struct {
	kind       byte
	meta, body []byte
	header     flatTable // of a schema message

	dictionary int64 // of a dictionary message
	delta      bool

	rows     int64
	nodes    []node
	buffers  []span
	variadic []int64

	seal     bool   // the metadata mark it as the seal
	warnings []byte // in a seal, JSON
}

// clone returns a copy that stays valid.
func (msg *message) clone() *message {
	c := *msg
	c.meta, c.body = slices.Clone(msg.meta), slices.Clone(msg.body)
	c.nodes, c.buffers, c.variadic = slices.Clone(msg.nodes), slices.Clone(msg.buffers), slices.Clone(msg.variadic)
	return &c
}

// messages reads the messages of one stream, including its end. It owns the memory of
// the current message and reuses it for the next one. It hashes what it reads, and
// verifies the seal, if there is one, before it reports the end of the stream. Errors
// are final.
type messages struct {
	in    *bufio.Reader
	limit int64 // on a body
	begun bool
	rows  int64 // of all record batches so far
	flat  flat
	msg   message

	views           int           // number of view arrays in a record batch
	dictionaryViews map[int64]int // number of view arrays in a dictionary, by its id

	digest   digest
	sealed   bool     // only the end may follow
	warnings []string // in the seal
}

// newMessages returns a reader of messages. Its buffer holds only their heads: bodies
// go straight to their destination.
func newMessages(r io.Reader) *messages {
	widenPipe(r)
	return &messages{in: bufio.NewReaderSize(r, 4096), limit: maxBody}
}

// next returns the next message, or io.EOF at the proper end of the stream; any other
// end is an error. The message and its buffers are valid until the next call. A seal is
// not returned: it is checked against everything before it, and nothing may follow it.
// read does not trust the lengths in the stream: it allocates as bytes arrive.
func (m *messages) next() (*message, error) {
	size, head, err := m.prefix()
	if err != nil {
		return nil, err
	}
	if m.sealed {
		return nil, errors.New("damaged stream: data follows its seal")
	}
	msg := &m.msg
	if msg.meta, err = m.read(msg.meta, size); err != nil {
		return nil, err
	}
	length, err := m.metadata()
	if err != nil {
		return nil, err
	}
	if msg.body, err = m.read(msg.body, length); err != nil {
		return nil, err
	}
	at := len(msg.body) - len(sealMark) - len(noSeal)
	if msg.seal || at >= 0 && string(msg.body[at:at+len(sealMark)]) == sealMark { // or it was a seal before it was damaged
		if err := m.checkSeal(head[:]); err != nil {
			return nil, err
		}
		return m.next()
	}
	m.digest.head(head[:], msg.meta)
	m.digest.body(msg)
	if msg.kind == recordMessage {
		m.rows += msg.rows
	}
	m.begun = true
	return msg, nil
}

// prefix reads the prefix of a message and returns the length of its metadata, io.EOF
// for the end-of-stream marker.
func (m *messages) prefix() (size int64, head [8]byte, err error) {
	n, err := io.ReadFull(m.in, head[:])
	if !m.begun && !bytes.HasPrefix([]byte("\xff\xff\xff\xff"), head[:min(n, 4)]) {
		return 0, head, notArrow(head[:n])
	}
	switch {
	case !m.begun && n == 0 && err == io.EOF:
		return 0, head, fmt.Errorf("empty input: %w", ErrCut)
	case err != nil:
		return 0, head, m.failed(err)
	case binary.LittleEndian.Uint32(head[:]) != 0xffffffff:
		return 0, head, fmt.Errorf("damaged stream after %s: no message where one should begin", rows(m.rows))
	}
	size = int64(int32(binary.LittleEndian.Uint32(head[4:])))
	switch {
	case size == 0:
		return 0, head, m.end()
	case size < 0 || size%8 != 0 || size > maxMeta:
		return 0, head, fmt.Errorf("damaged stream after %s: message of impossible length %d", rows(m.rows), size)
	}
	return size, head, nil
}

// end checks that nothing follows the end-of-stream marker.
func (m *messages) end() error {
	if !m.begun {
		return errors.New("not a hostbound stream: it has no schema")
	}
	switch _, err := m.in.ReadByte(); err {
	case nil:
		return errors.New("data after the end of the stream: one stream at a time")
	case io.EOF:
		return io.EOF
	default:
		return fmt.Errorf("reading the end of the stream: %w", err)
	}
}

// failed adds the place in the stream to a read error.
func (m *messages) failed(err error) error {
	switch {
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		return fmt.Errorf("reading after %s: %w", rows(m.rows), err)
	case !m.begun:
		return fmt.Errorf("%w: it ends before its first row", ErrCut)
	}
	return fmt.Errorf("%w after %s", ErrCut, rows(m.rows))
}

// read reads n bytes into buf, which grows as bytes arrive: a length alone must not
// make it allocate.
func (m *messages) read(buf []byte, n int64) ([]byte, error) {
	const step = 1 << 20
	buf = buf[:0]
	for have := 0; have < int(n); have = len(buf) {
		want := int(n) - have
		if want > cap(buf)-have {
			want = min(want, max(have, step))
			buf = slices.Grow(buf, want)
		}
		buf = buf[:have+want]
		if _, err := io.ReadFull(m.in, buf[have:]); err != nil {
			return buf[:0], m.failed(err)
		}
	}
	return buf, nil
}

// metadata checks the metadata of the message and returns the length of its body.
func (m *messages) metadata() (body int64, err error) {
	defer func() {
		switch p := recover(); {
		case p == error(errFlat):
			err = m.damaged()
		case p != nil:
			panic(p)
		}
	}()
	msg := &m.msg
	m.flat.reset(msg.meta)
	root := m.flat.root()
	version, kind := root.i16(0), root.byte(1)
	header, _ := root.table(2)
	body = root.i64(3)
	switch {
	case version != 3 && version != 4: // V4, V5
		return 0, fmt.Errorf("metadata version V%d of Arrow is not supported: want V4 or V5", version+1)
	case body < 0:
		return 0, m.damaged()
	case body > m.limit:
		return 0, &event.Error{
			Msg:    fmt.Sprintf("a record batch of %d bytes is above the limit of %d", body, m.limit),
			Advice: "write smaller batches",
		}
	}
	msg.kind, msg.header = kind, header
	m.findSeal(root)
	switch kind {
	case schemaMessage:
		msg.buffers = msg.buffers[:0]
		m.dictionaryViews = map[int64]int{}
		m.views, err = m.checkFields(header.tables(1), 0)
		m.checkPairs(header, 2)
		header.vector(3, 8)
	case dictionaryMessage:
		msg.dictionary, msg.delta = header.i64(0), header.byte(2) != 0
		data, _ := header.table(1)
		err = m.record(data, body, m.dictionaryViews[msg.dictionary])
	case recordMessage:
		err = m.record(header, body, m.views)
	default:
		err = fmt.Errorf("message of unknown type %d", kind)
	}
	return body, err
}

// damaged returns the error for inconsistent metadata. It quotes nothing from them,
// since they may be anything.
func (m *messages) damaged() error {
	return fmt.Errorf("damaged stream after %s: bad metadata", rows(m.rows))
}

// maxDepth is how deep types may nest, the same as in Arrow's own reader.
const maxDepth = 64

// checkFields checks that every vector and string in descriptions of fields is in the
// buffer. It returns the number of view arrays in a batch of the fields, and records
// those of their dictionaries.
func (m *messages) checkFields(fields []flatTable, depth int) (views int, err error) {
	if depth > maxDepth {
		return 0, errors.New("columns nested too deep")
	}
	for _, f := range fields {
		f.vector(0, 1) // the name
		typ, _ := f.table(3)
		if f.byte(2) == unionType {
			typ.vector(1, 4)
		}
		m.checkPairs(f, 6)
		below, err := m.checkFields(f.tables(5), depth+1)
		if err != nil {
			return 0, err
		}
		if t := f.byte(2); t == binaryViewType || t == textViewType {
			below++
		}
		if dictionary, ok := f.table(4); ok {
			dictionary.table(1)
			id := dictionary.i64(0)
			m.dictionaryViews[id] = max(m.dictionaryViews[id], below)
		} else {
			views += below
		}
	}
	return views, nil
}

// Types of fields, by their numbers in schemas.
const (
	unionType      = 14
	binaryViewType = 23
	textViewType   = binaryViewType + 1
)

// checkPairs does the same for the custom metadata in field n of t.
func (m *messages) checkPairs(t flatTable, n int) {
	for _, pair := range t.tables(n) {
		pair.vector(0, 1)
		pair.vector(1, 1)
	}
}

// record reads the description of a record batch whose body has body bytes, and checks
// that every buffer is in the body; columns check that buffers are long enough for
// their rows. A batch cannot have more rows than its body has bits, since every column
// of events and tables takes at least a bit per row. It must state the number of
// buffers for each of views view arrays: without that, Arrow's reader would take what
// follows for the number and allocate it.
func (m *messages) record(t flatTable, body int64, views int) error {
	msg, f := &m.msg, &m.flat
	if _, ok := t.table(3); ok {
		return &event.Error{Msg: "compressed record batches are not supported", Advice: "write the stream uncompressed"}
	}
	msg.rows = t.i64(0)
	ok := msg.rows >= 0 && msg.rows <= 8*body // at least a bit per row
	start, count := t.vector(1, 16)
	msg.nodes = msg.nodes[:0]
	for p := start; p < start+16*count; p += 16 {
		n := node{f.i64(p), f.i64(p + 8)}
		ok = ok && n.rows >= 0 && n.nulls <= n.rows
		msg.nodes = append(msg.nodes, n)
	}
	start, count = t.vector(2, 16)
	msg.buffers = msg.buffers[:0]
	for p := start; p < start+16*count; p += 16 {
		s := span{f.i64(p), f.i64(p + 8)}
		ok = ok && s.offset >= 0 && s.length >= 0 && s.length <= body && s.offset <= body-s.length
		msg.buffers = append(msg.buffers, s)
	}
	start, count = t.vector(4, 8)
	msg.variadic = msg.variadic[:0]
	for p := start; p < start+8*count; p += 8 {
		n := f.i64(p)
		ok = ok && n >= 0 && n <= int64(len(msg.buffers))
		msg.variadic = append(msg.variadic, n)
	}
	if !ok || count < views {
		return m.damaged()
	}
	return nil
}

// rows returns a number of rows as text.
func rows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// notArrow returns an error that says what an input other than an Arrow stream is, by
// its first bytes.
func notArrow(head []byte) error {
	const msg = "not an Arrow IPC stream: "
	const advice = "gaps, verdict and diff print reports and end a pipe; filters read what nsys2arrow, isolate, phase and metrics write"
	const ended = "; a report (of gaps, diff, verdict, hotspots) ends a pipe: give this command the trace itself"
	const byName = "give its name as an argument"
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("ARROW1")):
		return &event.Error{Msg: msg + "it is an Arrow file", Advice: "write it in the stream format"}
	case bytes.HasPrefix(head, []byte("PAR1")):
		return &event.Error{Msg: msg + "it is a Parquet file, which cannot be read front to back", Advice: byName}
	case bytes.HasPrefix(head, []byte("SQLite")):
		return &event.Error{Msg: msg + "it is an SQLite database, which cannot be read front to back", Advice: byName}
	case bytes.HasPrefix(trimmed, []byte("{")), bytes.HasPrefix(trimmed, []byte("[")):
		return &event.Error{Msg: msg + "it looks like JSON", Advice: "give a trace of PyTorch's profiler by its name; " + advice + ended}
	}
	for _, b := range head {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' || b >= 0x7f {
			return &event.Error{Msg: fmt.Sprintf("%sit begins with the bytes % x", msg, head), Advice: advice}
		}
	}
	return &event.Error{Msg: msg + "it looks like text", Advice: advice + ended}
}
