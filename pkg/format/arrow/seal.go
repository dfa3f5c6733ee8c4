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
	d.block(d.buf)
}

// block adds bytes that are hashed in one call, on on both ends in the same way.
func (d *digest) block(b []byte) { d.sum = xxh3.HashSeed(b, d.sum) }

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
			d.block(msg.body[s.offset : s.offset+s.length])
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

// sink is what an Arrow writer writes a stream to, message by message: it hashes
// what passes, and makes the last record batch the seal.
type sink struct {
	out    *bufio.Writer
	digest digest
	hold   bool   // the next messages are not written: the last of them becomes the seal
	meta   []byte // of the message that came last, padded to a multiple of 8 bytes
	body   []byte // of that, while hold is set

	at int64 // bytes of the body under way that were written
}

// newOutput returns a sink. Arrow writes each buffer and each padding on its own, and
// every write to a pipe wakes the reader; but columns should not be copied on their
// way. A small bufio.Writer after the sink does both: what is larger than it goes past
// it. (Measured: writev is no faster for batches of event.BatchRows rows, and slower
// for small ones.)
func newOutput(w io.Writer) *sink {
	widenPipe(w)
	return &sink{out: bufio.NewWriterSize(w, 16<<10)}
}

// Start is ipc.PayloadWriter's.
func (s *sink) Start() error { return nil }

// WritePayload is ipc.PayloadWriter's: it writes a message.
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

// cause is the error of the output in what Arrow makes of it, which speaks of messages
// and bodies where the disk is full.
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

// Close is ipc.PayloadWriter's: it ends the stream with the seal and the end-of-stream
// marker.
func (s *sink) Close() error {
	_, err := s.out.Write(prefix(0))
	return errors.Join(err, s.out.Flush())
}

// prefix is what stands before metadata of size bytes, and with 0 the end-of-stream
// marker.
func prefix(size int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(size))
}

// pad appends zeros up to a multiple of 8 bytes.
func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&7)...) }

// finish seals and ends the stream of stream, whose sink s is. empty is a record
// batch without rows; begun says that the schema and the dictionaries are written.
func (s *sink) finish(stream *ipc.Writer, begun bool, warnings []string, empty arrow.Record) error {
	if !begun {
		if err := stream.Write(empty); err != nil {
			return err
		}
	}
	s.hold = true // ahead of it dictionaries of columns that are not ours may come, which no row needs
	if err := stream.Write(empty); err != nil {
		return err
	}
	if _, err := s.out.Write(s.seal(warnings)); err != nil {
		return err
	}
	return stream.Close()
}

// seal makes the record batch without rows that is held the seal.
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

// hex16 is a hash in as many digits as noSeal has.
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
	return pad(b.FinishedBytes())
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
		switch string(msg.meta[k : k+n]) {
		case sealKey:
			msg.seal = true
		case event.KeyWarnings:
			msg.warnings = msg.meta[v : v+length]
		}
	}
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
