package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// small returns a stream of three batches of a few rows.
func small(t testing.TB) []byte {
	h := testHeader(event.BaseCols)
	rng := seeded(5)
	return encode(t, h, randomBatch(rng, 3, event.BaseCols, 3), randomBatch(rng, 1, event.BaseCols, 3), randomBatch(rng, 9, event.BaseCols, 3))
}

func TestEveryPrefixIsCut(t *testing.T) {
	stream := small(t)
	for n := range stream {
		if _, _, err := readAll(bytes.NewReader(stream[:n])); !errors.Is(err, ErrCut) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(stream), err)
		}
	}
	if _, _, err := readAll(bytes.NewReader(stream[:len(stream)-8])); err.Error() != "input was cut short after 13 rows" {
		t.Errorf("all rows and no end: %v", err)
	}
}

func TestErrorsStay(t *testing.T) {
	stream := small(t)
	in, err := openEvents(bytes.NewReader(stream[:len(stream)-1]))
	for err == nil {
		_, err = in.Next()
	}
	if _, again := in.Next(); again != err {
		t.Errorf("first %v, then %v", err, again)
	}
}

func TestNothingMayFollowTheEnd(t *testing.T) {
	stream := small(t)
	for _, more := range []string{"x", string(stream)} {
		_, _, err := readAll(strings.NewReader(string(stream) + more))
		if err == nil || !strings.Contains(err.Error(), "one stream at a time") {
			t.Errorf("%d bytes after the end: %v", len(more), err)
		}
	}
}

func TestWhatIsNoStream(t *testing.T) {
	for input, want := range map[string]string{
		"ARROW1\x00\x00\xff\xff":           "Arrow file",
		"PAR1":                             "Parquet",
		"SQLite format 3\x00":              "SQLite",
		"{\"a\": 1}":                       "JSON",
		" [1, 2]":                          "JSON",
		"a":                                "text",
		"name,count\n":                     "text",
		"\x7fELF\x02\x01\x01":              "begins with",
		"\xff\xff\xff\xff\x00\x00\x00\x00": "no schema",
		"\xff\xff\xff\xff\x08\x00\x00\x00" + "\xff\xff\xff\x7f0000": "bad metadata",
		"\xff\xff\xff\xff\x07\x00\x00\x00":                          "impossible length",
		"\xff\xff\xff\xff\xf8\xff\xff\xff":                          "impossible length",
		"\xff\xff\xff\xff\xf8\xff\xff\x7f":                          "impossible length",
	} {
		_, err := openEvents(strings.NewReader(input))
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrCut) {
			t.Errorf("%q: %v, want something about %q", input, err, want)
		}
	}
}

// failingReader fails after some bytes.
type failingReader struct{ r io.Reader }

func (f failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

func TestReadErrorsAreNotCuts(t *testing.T) {
	stream := small(t)
	for _, n := range []int{4, 500, len(stream) - 8, len(stream)} {
		_, _, err := readAll(failingReader{bytes.NewReader(stream[:n])})
		if errors.Is(err, ErrCut) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// readLimited reads a stream, whatever it is, with a limit on bodies, and
// returns how much memory that took.
func readLimited(stream []byte, limit int64) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := newMessages(bytes.NewReader(stream))
	m.limit = limit
	if in, err := eventsOf(m); err == nil {
		for err == nil {
			_, err = in.Next()
		}
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestDamageNeitherPanicsNorAllocates(t *testing.T) {
	ours := encode(t, testHeader(event.BaseCols), randomBatch(seeded(5), 9, event.BaseCols, 3))
	stride := cases.Few(12, 12, 1)
	for name, stream := range map[string][]byte{"ours": ours, "foreign": foreignStream(t, 3)} {
		for i := 0; i < len(stream); i += stride {
			for _, flip := range []byte{1 << (i & 7), stream[i] ^ 0x7f} {
				bad := bytes.Clone(stream)
				bad[i] ^= flip
				if used := readLimited(bad, 1<<20); used > 16<<20 {
					t.Fatalf("%s: byte %d ^ %#x: %d bytes allocated", name, i, flip, used)
				}
			}
		}
	}
}

func TestALengthAloneAllocatesNothing(t *testing.T) {
	claim := "\xff\xff\xff\xff" + "\x00\x00\xff\x00" // 16 MB of metadata
	if used := readLimited([]byte(claim), maxBody); used > 4<<20 {
		t.Errorf("metadata that never come: %d bytes", used)
	}
	stream := encode(t, testHeader(event.BaseCols), randomBatch(seeded(1), 100, event.BaseCols, 3))
	m := newMessages(bytes.NewReader(stream))
	var largest int
	for {
		msg, err := m.next()
		if err != nil {
			break
		}
		largest = max(largest, len(msg.body))
	}
	m = newMessages(bytes.NewReader(stream))
	m.limit = int64(largest) - 1
	in, err := eventsOf(m)
	if err == nil {
		_, err = in.Next()
	}
	if err == nil || !strings.Contains(err.Error(), "above the limit") {
		t.Errorf("a body above the limit: %v", err)
	}
}

// rewrite replaces bytes of a stream by as many others.
func rewrite(t *testing.T, stream []byte, old, new string) []byte {
	t.Helper()
	if len(old) != len(new) || !bytes.Contains(stream, []byte(old)) {
		t.Fatalf("cannot replace %q", old)
	}
	return bytes.ReplaceAll(stream, []byte(old), []byte(new))
}

func TestStreamsOfSomethingElse(t *testing.T) {
	stream := small(t)
	for _, c := range []struct{ old, new, want string }{
		{"hostbound.schema", "whatever.schemas", "lack hostbound.schema"},
		{"hostbound.reports", "whatever.report_s", "lack hostbound.reports"},
		{"events\x00\x00", "evening\x00", "the hash of its 13 rows is wrong"}, // read as a table
		{"launch_thread", "launch_threat", "lacks the columns launch_thread"},
		{`"ranks":[`, `"ranks":{`, "not hostbound events: hostbound.reports: "},
		{"hostbound.version", "whatever.versions", `not hostbound events: hostbound.version is ""`},
	} {
		_, _, err := readAll(bytes.NewReader(rewrite(t, stream, c.old, c.new)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %q", c.new, c.old, err, c.want)
		}
	}
}

// unsealed returns a stream as version 1 had it, without the seal.
func unsealed(t *testing.T, stream []byte) []byte {
	t.Helper()
	in := newMessages(bytes.NewReader(stream))
	at := 0
	for {
		_, err := in.next()
		if in.sealed {
			return append(slices.Clone(stream[:at]), stream[len(stream)-8:]...)
		}
		if err != nil {
			t.Fatalf("no seal: %v", err)
		}
		at += 8 + len(in.msg.meta) + len(in.msg.body)
	}
}

var ourKinds, ourClasses = event.Kinds, event.Classes

// ownValues forgets the kinds and classes that tests brought in.
func ownValues() { event.Kinds, event.Classes = ourKinds, ourClasses }

// TestUnknownValuesAreKept reads a kind that nobody here knows, and writes it on.
// Where there are too many of them it is an error, if it is in use.
func TestUnknownValuesAreKept(t *testing.T) {
	ownValues()
	defer ownValues()
	b := randomBatch(seeded(2), 5, event.BaseCols, 3)
	b.Kind.Fill(0, 5, event.Kernel)
	b.Kind.Values[3] = event.Memset
	stream := rewrite(t, unsealed(t, encode(t, testHeader(event.BaseCols), b)), "memset", "mumset")
	h, got, err := readAll(bytes.NewReader(stream))
	if err != nil || event.Kinds[got.Kind.Values[3]] != "mumset" {
		t.Fatalf("kept: %v", err)
	}
	again := encode(t, h, got)
	ownValues()
	if _, got, err = readAll(bytes.NewReader(again)); err != nil || event.Kinds[got.Kind.Values[3]] != "mumset" {
		t.Fatalf("written on: %v", err)
	}
	for i := range event.MaxKinds {
		event.AddKind(strconv.Itoa(i))
	}
	other := rewrite(t, unsealed(t, encode(t, testHeader(event.BaseCols), b)), "memset", "mymset")
	if _, _, err := readAll(bytes.NewReader(other)); err == nil || !strings.Contains(err.Error(), `column kind: unknown value "mymset"`) {
		t.Errorf("too many: %v", err)
	}
	b.Kind.Values[3] = event.Kernel
	idle := rewrite(t, unsealed(t, encode(t, testHeader(event.BaseCols), b)), "memset", "mymset")
	if _, _, err := readAll(bytes.NewReader(idle)); err != nil {
		t.Errorf("too many, in the dictionary alone: %v", err)
	}
}

func TestNewerVersion(t *testing.T) {
	_, err := event.ParseMetadata(map[string]string{event.KeySchema: "events", event.KeyVersion: strconv.Itoa(event.Version + 1)})
	var hint *event.Error
	if !errors.As(err, &hint) || hint.Hint() == "" || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("a newer version: %v", err)
	}
}

func TestBatchesAreChecked(t *testing.T) {
	ownValues()
	h := testHeader(event.BaseCols)
	for want, spoil := range map[string]func(b *event.Batch){
		"ends before it starts":                               func(b *event.Batch) { b.End.Values[4] = b.Start.Values[4] - 1 },
		fmt.Sprintf("column kind: code %d", len(event.Kinds)): func(b *event.Batch) { b.Kind.Values[3] = event.Kind(len(event.Kinds)) },
		"column kind: code -1":                                func(b *event.Batch) { b.Kind.Values[3] = -1 },
		"column domain: code":                                 func(b *event.Batch) { b.Domain.Set(2, 99) },
		"column kind: it has a":                               func(b *event.Batch) { b.Kind.SetNull(1) },
		"bad offsets":                                         func(b *event.Batch) { b.Name.Offsets[2] = b.Name.Offsets[9] },
	} {
		b := randomBatch(seeded(2), 10, event.BaseCols, 3)
		for i := range 10 {
			b.Domain.Set(i, 0)
		}
		b.Name = event.Strings{}
		for range 10 {
			b.Name.Append("name")
		}
		spoil(b)
		_, _, err := readAll(bytes.NewReader(encode(t, h, b)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "after 0 rows") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// patch changes the metadata of the first message of some kind.
func patch(t *testing.T, stream []byte, kind byte, change func(meta []byte, f *flat, header flatTable)) []byte {
	t.Helper()
	bad := bytes.Clone(stream)
	for at := 0; at+8 < len(bad); {
		size := int(binary.LittleEndian.Uint32(bad[at+4:]))
		var f flat
		meta := bad[at+8 : at+8+size]
		f.reset(meta)
		root := f.root()
		if root.byte(1) == kind {
			header, _ := root.table(2)
			change(meta, &f, header)
			return bad
		}
		at += 8 + size + int(root.i64(3))
	}
	t.Fatal("no such message")
	return nil
}

func TestMetadataIsChecked(t *testing.T) {
	put := func(p int, v uint64) func([]byte) {
		return func(meta []byte) { binary.LittleEndian.PutUint64(meta[p:], v) }
	}
	stream := encode(t, testHeader(event.BaseCols), randomBatch(seeded(5), 9, event.BaseCols, 3))
	for name, where := range map[string]func(header flatTable) func(meta []byte){
		"more rows than bits": func(h flatTable) func([]byte) { return put(h.field(0), 1<<40) },
		"negative rows":       func(h flatTable) func([]byte) { return put(h.field(0), 1<<63) },
		"more nulls than rows": func(h flatTable) func([]byte) {
			start, _ := h.vector(1, 16)
			return put(start+8, 10)
		},
		"a buffer after the body": func(h flatTable) func([]byte) {
			start, _ := h.vector(2, 16)
			return put(start+16, 1<<20)
		},
		"a buffer before the body": func(h flatTable) func([]byte) {
			start, _ := h.vector(2, 16)
			return put(start+16, 1<<64-8)
		},
		"a buffer too long": func(h flatTable) func([]byte) {
			start, _ := h.vector(2, 16)
			return put(start+24, 1<<62)
		},
	} {
		bad := patch(t, stream, recordMessage, func(meta []byte, _ *flat, header flatTable) { where(header)(meta) })
		if _, _, err := readAll(bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "after 0 rows: bad metadata") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArraysOfAnotherLength(t *testing.T) {
	stream := encode(t, testHeader(event.BaseCols), randomBatch(seeded(5), 9, event.BaseCols, 3))
	bad := patch(t, stream, recordMessage, func(meta []byte, _ *flat, header flatTable) {
		start, _ := header.vector(1, 16)
		meta[start+16] = 8 // of 9
	})
	if _, _, err := readAll(bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "column start: it has 8 rows, its batch 9") {
		t.Error(err)
	}
}

func TestSchemaIsChecked(t *testing.T) {
	stream := foreignStream(t, 1)
	for name, field := range map[string]int{"name": 0, "children": 5, "metadata": 6} {
		bad := patch(t, stream, schemaMessage, func(meta []byte, _ *flat, header flatTable) {
			for _, f := range header.tables(1) {
				if _, count := f.vector(6, 4); count > 0 {
					start, _ := f.vector(field, 1)
					binary.LittleEndian.PutUint32(meta[start-4:], 1<<30)
				}
			}
		})
		if _, err := openEvents(bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "bad metadata") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSharedTablesCost walks tables of which each has 64 references to the
// next one: a few hundred bytes that would be 64^8 tables.
func TestSharedTablesCost(t *testing.T) {
	const levels, fan = 8, 64
	const block = 16 + 4 + 4*fan // vtable and padding, table, vector
	buf := make([]byte, 8, 8+levels*block)
	binary.LittleEndian.PutUint32(buf, 16)
	for level := range levels {
		at := len(buf) + 8 // of the table
		b := binary.LittleEndian.AppendUint16(buf, 6)
		b = append(b, 8, 0, 4, 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, 8)
		b = binary.LittleEndian.AppendUint32(b, 4)
		b = binary.LittleEndian.AppendUint32(b, fan)
		for k := range fan {
			next := at + block
			if level == levels-1 {
				next = at
			}
			b = binary.LittleEndian.AppendUint32(b, uint32(next-(at+12+4*k)))
		}
		buf = b
	}
	var f flat
	f.reset(buf)
	seen := 0
	var walk func(table flatTable)
	walk = func(table flatTable) {
		seen++
		for _, sub := range table.tables(0) {
			walk(sub)
		}
	}
	defer func() {
		if p := recover(); p != error(errFlat) || seen > len(buf) {
			t.Errorf("%d tables seen in %d bytes, panic %v", seen, len(buf), p)
		}
	}()
	walk(f.root())
}

func TestOffsets(t *testing.T) {
	for _, c := range []struct {
		offsets []int32
		ok      bool
	}{
		{[]int32{0}, true}, {[]int32{0, 0, 4}, true}, {[]int32{2, 3}, true}, {[]int32{0, 5}, false},
		{[]int32{-1, 3}, false}, {[]int32{0, 3, 2}, false}, {[]int32{5, 5}, false},
	} {
		if err := checkOffsets(c.offsets, 4); (err == nil) != c.ok {
			t.Errorf("%d in 4 bytes: %v", c.offsets, err)
		}
	}
}

func TestConversions(t *testing.T) {
	var scratch []int64
	var col event.Ints[int64]
	if err := convert(&col, []uint64{1, 1<<63 - 1, 0}, &scratch); err != nil || col.Values[1] != 1<<63-1 {
		t.Errorf("%v: %v", col.Values, err)
	}
	if err := convert(&col, []uint64{0, 1 << 63}, &scratch); err == nil {
		t.Error("2^63 is no int64")
	}
	col.Valid = event.Bitmap{1}
	if err := convert(&col, []uint64{7, 1 << 63}, &scratch); err != nil || col.Values[0] != 7 || col.Values[1] != 0 {
		t.Errorf("out of range but null: %v, %v", col.Values, err)
	}
}

// FuzzReader reads anything. What it accepts it must be able to write again,
// and to read that as the same.
func FuzzReader(f *testing.F) {
	f.Add(small(f))
	f.Add(foreignStream(f, 3))
	f.Add(tableStream(f))
	f.Fuzz(func(t *testing.T, stream []byte) {
		m := newMessages(bytes.NewReader(stream))
		m.limit = 1 << 20
		in, err := eventsOf(m)
		if err != nil {
			Open(bytes.NewReader(stream))
			return
		}
		b, err := in.Next()
		if err != nil {
			return
		}
		h := *in.Header()
		if h.Foreign != nil { // which may be damaged inside, and then is not written
			table.NewWriter(io.Discard, table.CSV).Write(table.FromEvents(&h, b))
			writePlain(t, &h, b)
			NewWriter(io.Discard, &h).Write(b)
			return
		}
		_, again, err := readAll(bytes.NewReader(encode(t, &h, b)))
		if err == nil {
			err = differ(again, join(h.Columns, b))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestCorpusIsThere keeps the seeds of FuzzReader from getting lost.
func TestCorpusIsThere(t *testing.T) {
	seeds, err := filepath.Glob("testdata/fuzz/FuzzReader/*")
	if err != nil || len(seeds) < 5 {
		t.Errorf("%d seeds: %v", len(seeds), err)
	}
}
