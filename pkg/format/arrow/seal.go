package arrow

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/zeebo/xxh3"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The seal is the last message of a stream: a record batch without rows. It has a pair
// of custom metadata, sealKey and sealKind. At the end of its body, where no buffer
// refers to, it has sealMark and 16 hex digits: a hash of all bytes before it and of
// itself, with noSeal in place of the digits. Other readers ignore both. It is marked
// twice, so that no flipped bit turns a seal into something else.
const (
	sealKey  = "hostbound.seal"
	sealKind = "xxh3"
	sealMark = "hostbound.sealed"
	noSeal   = "0000000000000000"
)

// A stream is hashed message by message, each piece seeded with the hash so far: first
// the prefix and the metadata of a message together, then each of its buffers. (One
// call per buffer takes two thirds of the time of a running hash.) Bytes between
// buffers must be zero.
type digest struct {
	sum uint64
	pad bool // a byte between buffers was not zero
	buf []byte
}

// head adds the prefix and the metadata of a message.
func (d *digest) head(prefix, meta []byte) {
	d.buf = append(append(d.buf[:0], prefix...), meta...)
	d.block(d.buf)
}

// block adds bytes that reader and writer both hash in one call.
func (d *digest) block(b []byte) { d.sum = xxh3.HashSeed(b, d.sum) }

// body adds the buffers in the body of a message.
func (d *digest) body(msg *message) {
	at := int64(0)
	for _, s := range msg.buffers {
		if s.offset < at { // no writer has such buffers
			d.pad = true
			return
		}
		d.padding(msg.body[at:s.offset])
		if s.length > 0 {
			d.block(msg.body[s.offset : s.offset+s.length])
		}
		at = s.offset + s.length
	}
	d.padding(msg.body[at:])
}

// padding checks that bytes are zero.
func (d *digest) padding(b []byte) {
	for _, v := range b {
		d.pad = d.pad || v != 0
	}
}

// sink is the output of an Arrow writer. It hashes each message, and turns the last
// record batch into the seal.
type sink struct {
	out    *bufio.Writer
	digest digest
	hold   bool   // messages are held back, the last of them becomes the seal
	meta   []byte // of the last message, padded to a multiple of 8 bytes
	body   []byte // of the last message, if hold is set

	at int64 // bytes of the current body written so far
}

// newOutput returns a sink to w. Arrow writes each buffer and each padding separately,
// and every write to a pipe wakes the reader; but columns should not be copied. A small
// bufio.Writer behind the sink serves both: larger writes bypass it. (Measured: writev
// is no faster for batches of event.BatchRows rows, and slower for small ones.)
func newOutput(w io.Writer) *sink {
	widenPipe(w)
	return &sink{out: bufio.NewWriterSize(w, 16<<10)}
}

// Start implements ipc.PayloadWriter.
func (s *sink) Start() error { return nil }

// WritePayload implements ipc.PayloadWriter: it writes a message.
func (s *sink) WritePayload(p ipc.Payload) error {
	meta := p.Meta()
	defer meta.Release()
	s.meta = pad(append(s.meta[:0], meta.Bytes()...))
	s.body, s.at = s.body[:0], 0
	if s.hold {
		return p.SerializeBody(s)
	}
	head := prefix(len(s.meta))
	s.digest.head(head, s.meta)
	if _, err := s.out.Write(head); err != nil {
		return err
	}
	if _, err := s.out.Write(s.meta); err != nil {
		return err
	}
	return p.SerializeBody(s)
}

// cause returns the output's own error if Arrow wrapped one: Arrow reports messages and
// bodies when the disk is full.
func cause(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) {
		return file
	}
	return err
}

// Write writes part of a body: a whole buffer, which begins at a multiple of 8 bytes,
// or the padding after one.
func (s *sink) Write(p []byte) (int, error) {
	if s.hold {
		s.body = append(s.body, p...)
		return len(p), nil
	}
	if s.at%8 == 0 {
		s.digest.block(p)
	}
	s.at += int64(len(p))
	return s.out.Write(p)
}

// Close implements ipc.PayloadWriter. It writes the end-of-stream marker; finish has
// written the seal.
func (s *sink) Close() error {
	_, err := s.out.Write(prefix(0))
	return errors.Join(err, s.out.Flush())
}

// prefix returns what precedes metadata of size bytes, or for 0 the end-of-stream
// marker.
func prefix(size int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(size))
}

// pad appends zeros up to a multiple of 8 bytes.
func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&7)...) }

// finish seals and ends stream, whose sink is s. empty is a record batch without rows;
// begun says that the schema and the dictionaries were written.
func (s *sink) finish(stream *ipc.Writer, begun bool, warnings []string, empty arrow.Record) error {
	if !begun {
		if err := stream.Write(empty); err != nil {
			return err
		}
	}
	s.hold = true // dictionaries of unknown columns may precede the batch; no row needs them
	if err := stream.Write(empty); err != nil {
		return err
	}
	if _, err := s.out.Write(s.seal(warnings)); err != nil {
		return err
	}
	return stream.Close()
}

// seal turns the record batch without rows that is held back into the seal.
func (s *sink) seal(warnings []string) []byte {
	m := messages{limit: maxBody}
	m.msg.meta = s.meta
	if _, err := m.metadata(); err != nil || m.msg.kind != recordMessage || m.msg.rows != 0 {
		panic(fmt.Sprintf("BUG: no record batch to be sealed: %v", err))
	}
	body := slices.Concat(s.body, []byte(sealMark+noSeal))
	meta := sealMeta(&m.msg, int64(len(body)), warnings)
	seal := slices.Concat(prefix(len(meta)), meta, body)
	s.digest.block(seal)
	copy(seal[len(seal)-len(noSeal):], hex16(s.digest.sum))
	return seal
}

// hex16 returns a hash as hex digits, as many as noSeal has.
func hex16(v uint64) string { return fmt.Sprintf("%016x", v) }

// sealMeta returns the metadata of a seal: a flatbuffer as defined by Arrow's
// Message.fbs, padded to a multiple of 8 bytes.
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
	return pad(b.FinishedBytes())
}

const metadataV5 = 4

// pair returns a KeyValue of Arrow's format.
func pair(b *flatbuffers.Builder, key, value string) flatbuffers.UOffsetT {
	k, v := b.CreateString(key), b.CreateString(value)
	b.StartObject(2)
	b.PrependUOffsetTSlot(0, k, 0)
	b.PrependUOffsetTSlot(1, v, 0)
	return b.EndObject()
}

// findSeal looks for the pairs of a seal in the custom metadata of a message.
func (m *messages) findSeal(root flatTable) {
	msg := &m.msg
	msg.seal, msg.warnings = false, nil
	for _, pair := range root.tables(4) {
		k, n := pair.vector(0, 1)
		v, length := pair.vector(1, 1)
		switch string(msg.meta[k : k+n]) {
		case sealKey:
			msg.seal = true
		case event.KeyWarnings:
			msg.warnings = msg.meta[v : v+length]
		}
	}
}

// checkSeal verifies the seal that was read, whose prefix is head.
func (m *messages) checkSeal(head []byte) error {
	msg := &m.msg
	at := len(msg.body) - len(noSeal)
	if at < 0 {
		return fmt.Errorf("damaged stream after %s: its hash is missing", rows(m.rows))
	}
	want := string(msg.body[at:])
	copy(msg.body[at:], noSeal)
	m.digest.block(slices.Concat(head, msg.meta, msg.body))
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
