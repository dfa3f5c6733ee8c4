package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/zeebo/xxh3"

	"github.com/hostbound/hostbound/pkg/event"
)

// The seal is the last message of a stream: a record batch without rows, with a
// pair of custom metadata, sealKey and sealKind, and at the end of its body, which
// no buffer refers to, sealMark and 16 hex digits: a hash of all bytes before it
// and of itself, with noSeal for the digits. Other readers look at neither. It is
// marked twice so that no flipped bit makes a seal something else.
const (
	sealKey  = "hostbound.seal"
	sealKind = "xxh3"
	sealMark = "hostbound.sealed"
	noSeal   = "0000000000000000"
)

// A stream is hashed message by message, each piece with the hash so far as its
// seed: the prefix and the metadata of a message together, then each of its
// buffers. (One call for a buffer takes two thirds of what a running hash takes.)
// What lies between buffers has to be zero.
type digest struct {
	sum uint64
	pad bool // something between buffers was not zero
	buf []byte
}

// head adds the prefix and the metadata of a message.
func (d *digest) head(prefix, meta []byte) {
	d.buf = append(append(d.buf[:0], prefix...), meta...)
	d.piece(d.buf)
}

func (d *digest) piece(b []byte) { d.sum = xxh3.HashSeed(b, d.sum) }

// body adds the buffers in the body of a message.
func (d *digest) body(msg *message) {
	at := int64(0)
	for _, s := range msg.buffers {
		if s.offset < at { // no writer has them so
			d.pad = true
			return
		}
		d.padding(msg.body[at:s.offset])
		if s.length > 0 {
			d.piece(msg.body[s.offset : s.offset+s.length])
		}
		at = s.offset + s.length
	}
	d.padding(msg.body[at:])
}

// padding notes whether bytes that are to be zero are.
func (d *digest) padding(b []byte) {
	for _, v := range b {
		d.pad = d.pad || v != 0
	}
}

// sink is where a stream goes: it hashes what passes, or holds it back. It finds
// the messages in what is written, in whatever pieces that comes.
type sink struct {
	out    *bufio.Writer
	hold   bool
	held   []byte
	digest digest

	m    messages // the message under way
	head []byte   // its prefix and metadata so far
	body int64    // bytes of its body that are missing, -1 before the body
	at   int64    // in the body
	next int      // buffer that ends after at
	part []byte   // of that buffer, where it comes in parts
}

// Write hashes and passes on what is written, or keeps it while hold is set.
func (s *sink) Write(p []byte) (int, error) {
	if s.hold {
		s.held = append(s.held, p...)
		return len(p), nil
	}
	if err := s.add(p); err != nil {
		return 0, err
	}
	return s.out.Write(p)
}

// flush has everything out that is not held.
func (s *sink) flush() error {
	if s.hold {
		return nil
	}
	return s.out.Flush()
}

// add hashes what is written next.
func (s *sink) add(p []byte) error {
	for len(p) > 0 {
		n, err := 0, error(nil)
		if s.body < 0 {
			n, err = s.addHead(p)
		} else {
			n = s.addBody(p)
		}
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// addHead takes what of p belongs to the prefix and the metadata.
func (s *sink) addHead(p []byte) (int, error) {
	want := 8
	if len(s.head) >= 8 {
		want += int(binary.LittleEndian.Uint32(s.head[4:]))
	}
	n := min(len(p), want-len(s.head))
	if s.head = append(s.head, p[:n]...); len(s.head) < want || want == 8 && binary.LittleEndian.Uint32(s.head[4:]) > 0 {
		return n, nil
	}
	s.m.msg.meta = s.head[8:]
	length, err := s.m.metadata()
	if err != nil {
		return 0, fmt.Errorf("BUG: wrote what cannot be read: %w", err)
	}
	s.digest.head(s.head[:8], s.head[8:])
	s.head, s.body, s.at, s.next = s.head[:0], length, 0, 0
	if length == 0 {
		s.body = -1
	}
	return n, nil
}

// addBody takes what of p belongs to the next buffer, or to the padding before it.
func (s *sink) addBody(p []byte) int {
	buffers := s.m.msg.buffers
	for s.next < len(buffers) && buffers[s.next].length == 0 {
		s.next++
	}
	n := s.body // padding to the end
	if s.next < len(buffers) {
		b := buffers[s.next]
		if n = b.offset - s.at; n <= 0 {
			n = b.offset + b.length - s.at
			s.buffer(p[:min(int64(len(p)), n)], n)
		}
	}
	n = min(int64(len(p)), n)
	s.at += n
	if s.body -= n; s.body == 0 {
		s.body = -1
	}
	return int(n)
}

// buffer hashes a buffer of which p comes next and missing bytes are not yet
// there.
func (s *sink) buffer(p []byte, missing int64) {
	if int64(len(p)) < missing || len(s.part) > 0 {
		s.part = append(s.part, p...)
	}
	if int64(len(p)) < missing {
		return
	}
	if len(s.part) > 0 {
		p = s.part
	}
	s.digest.piece(p)
	s.part = s.part[:0]
	s.next++
}

// newOutput returns what an Arrow writer is to write to. It writes each buffer
// and each padding on its own, and every write to a pipe wakes the reader; but
// columns should not be copied on their way. A small bufio.Writer after the sink
// does both: what is larger than it goes past it. (Measured: writev is no faster
// for batches of event.BatchRows rows, and slower for small ones.)
func newOutput(w io.Writer) *sink {
	widenPipe(w)
	return &sink{out: bufio.NewWriterSize(w, 16<<10), m: messages{limit: maxBody}, body: -1}
}

// finish seals a stream and ends it. empty writes a record batch without rows,
// after the dictionaries where they were not written before; end writes the
// end-of-stream marker.
func (s *sink) finish(begun bool, warnings []string, empty, end func() error) error {
	if !begun { // the schema and the dictionaries
		if err := empty(); err != nil {
			return err
		}
	}
	s.hold = true
	if err := empty(); err != nil {
		return err
	}
	seal, err := sealed(s.held, s.digest, warnings)
	if err != nil {
		return err
	}
	if _, err := s.out.Write(seal); err != nil {
		return err
	}
	s.held = nil
	if err := end(); err != nil {
		return err
	}
	if _, err := s.out.Write(s.held); err != nil {
		return err
	}
	return s.out.Flush()
}

// sealed makes a record batch without rows, the last one of some messages, the
// seal of a stream with the hash so far. What comes before it are dictionaries
// of columns that are not ours, which no row needs.
func sealed(messages []byte, d digest, warnings []string) ([]byte, error) {
	m, body, err := lastMessage(messages)
	if err != nil || m.msg.kind != recordMessage || m.msg.rows != 0 {
		return nil, fmt.Errorf("BUG: no record batch to be sealed: %v", err)
	}
	body = slices.Concat(body, []byte(sealMark+noSeal))
	meta := sealMeta(&m.msg, int64(len(body)), warnings)
	seal := binary.LittleEndian.AppendUint32(nil, 0xffffffff)
	seal = binary.LittleEndian.AppendUint32(seal, uint32(len(meta)))
	seal = append(append(seal, meta...), body...)
	d.piece(seal)
	copy(seal[len(seal)-len(noSeal):], hex16(d.sum))
	return seal, nil
}

// lastMessage returns the last of some messages and its body.
func lastMessage(b []byte) (*messages, []byte, error) {
	m := &messages{limit: maxBody}
	for {
		if len(b) < 8 {
			return nil, nil, errors.New("no message")
		}
		size := int(binary.LittleEndian.Uint32(b[4:]))
		if size > len(b)-8 {
			return nil, nil, errors.New("half a message")
		}
		m.msg.meta = b[8 : 8+size]
		length, err := m.metadata()
		b = b[8+size:]
		switch {
		case err != nil:
			return nil, nil, err
		case length > int64(len(b)):
			return nil, nil, errors.New("half a body")
		case length == int64(len(b)):
			return m, b, nil
		}
		b = b[length:]
	}
}

func hex16(v uint64) string { return fmt.Sprintf("%016x", v) }

// sealMeta returns the metadata of a seal, a flatbuffer as Arrow's Message.fbs
// has it, of a multiple of 8 bytes.
func sealMeta(msg *message, body int64, warnings []string) []byte {
	b := flatbuffers.NewBuilder(1024)
	pairs := []flatbuffers.UOffsetT{pair(b, sealKey, sealKind)}
	if len(warnings) > 0 {
		pairs = append(pairs, pair(b, event.KeyWarnings, event.WarningsText(warnings)))
	}
	custom := b.CreateVectorOfTables(pairs)
	structs := func(n int, of func(i int) (int64, int64)) flatbuffers.UOffsetT {
		b.StartVector(16, n, 8)
		for i := n - 1; i >= 0; i-- {
			first, second := of(i)
			b.Prep(8, 16)
			b.PrependInt64(second)
			b.PrependInt64(first)
		}
		return b.EndVector(n)
	}
	nodes := structs(len(msg.nodes), func(i int) (int64, int64) { return msg.nodes[i].rows, msg.nodes[i].nulls })
	buffers := structs(len(msg.buffers), func(i int) (int64, int64) { return msg.buffers[i].offset, msg.buffers[i].length })
	b.StartVector(8, len(msg.variadic), 8)
	for i := len(msg.variadic) - 1; i >= 0; i-- {
		b.PrependInt64(msg.variadic[i])
	}
	variadic := b.EndVector(len(msg.variadic))
	b.StartObject(5) // RecordBatch
	b.PrependUOffsetTSlot(1, nodes, 0)
	b.PrependUOffsetTSlot(2, buffers, 0)
	if len(msg.variadic) > 0 {
		b.PrependUOffsetTSlot(4, variadic, 0)
	}
	record := b.EndObject()
	b.StartObject(5) // Message
	b.PrependInt64Slot(3, body, 0)
	b.PrependUOffsetTSlot(2, record, 0)
	b.PrependUOffsetTSlot(4, custom, 0)
	b.PrependInt16Slot(0, metadataV5, 0)
	b.PrependByteSlot(1, recordMessage, 0)
	b.Finish(b.EndObject())
	meta := b.FinishedBytes()
	return append(meta[:len(meta):len(meta)], make([]byte, -len(meta)&7)...)
}

const metadataV5 = 4

// pair is a key and a value as the format has them.
func pair(b *flatbuffers.Builder, key, value string) flatbuffers.UOffsetT {
	k, v := b.CreateString(key), b.CreateString(value)
	b.StartObject(2)
	b.PrependUOffsetTSlot(0, k, 0)
	b.PrependUOffsetTSlot(1, v, 0)
	return b.EndObject()
}

// findSeal looks in the custom metadata of a message for what a seal has there.
func (m *messages) findSeal(root flatTable) {
	msg := &m.msg
	msg.seal, msg.warnings = false, nil
	for _, pair := range root.tables(4) {
		k, n := pair.vector(0, 1)
		v, length := pair.vector(1, 1)
		if m.flat.bad {
			return
		}
		switch string(msg.meta[k : k+n]) {
		case sealKey:
			msg.seal = true
		case event.KeyWarnings:
			msg.warnings = msg.meta[v : v+length]
		}
	}
}

// isSeal tells whether the message that was read is a seal, or was one before
// it was damaged.
func (msg *message) isSeal() bool {
	at := len(msg.body) - len(sealMark) - len(noSeal)
	return msg.seal || at >= 0 && string(msg.body[at:at+len(sealMark)]) == sealMark
}

// checkSeal checks the seal that was read, whose prefix is head.
func (m *messages) checkSeal(head []byte) error {
	msg := &m.msg
	at := len(msg.body) - len(noSeal)
	if at < 0 {
		return fmt.Errorf("damaged stream after %s: its hash is missing", rows(m.rows))
	}
	want := string(msg.body[at:])
	copy(msg.body[at:], noSeal)
	m.digest.piece(slices.Concat(head, msg.meta, msg.body))
	if m.digest.pad || hex16(m.digest.sum) != want {
		return fmt.Errorf("damaged stream: the hash of its %s is wrong", rows(m.rows))
	}
	m.sealed = true
	if msg.warnings != nil {
		var err error
		if m.warnings, err = event.ParseWarnings(msg.warnings); err != nil {
			return fmt.Errorf("damaged stream: %w", err)
		}
	}
	return nil
}
