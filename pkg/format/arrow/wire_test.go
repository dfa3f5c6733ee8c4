package arrow

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

func TestRoundTripAroundTheBatchSizes(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, event.BatchRows - 1, event.BatchRows, event.BatchRows + 1,
		event.MaxBatchRows - 1, event.MaxBatchRows, event.MaxBatchRows + 1} {
		h := testHeader(allCols)
		want := randomBatch(seeded(uint64(n)), n, allCols, len(h.Domains))
		gotHeader, got, err := readAll(bytes.NewReader(encode(t, h, want)))
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		sameHeader(t, gotHeader, h)
		if err := differ(got, want); err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
	}
}

func TestRoundTripOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		columns := rapid.SampledFrom([]event.Set{event.BaseCols, event.BaseCols | event.StepCols, allCols}).Draw(t, "columns")
		h := &event.Header{Stage: "isolate", Columns: columns, Reports: []event.Report{}, Domains: []string{}, Stacks: stacks(columns)}
		for range rapid.IntRange(0, 3).Draw(t, "domains") {
			h.Domains = append(h.Domains, strings.Repeat("d", len(h.Domains)))
		}
		var batches []*event.Batch
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			b := randomBatch(rng, rapid.IntRange(0, 100).Draw(t, "rows"), columns, len(h.Domains))
			if b.Len > 8 && rapid.Bool().Draw(t, "slice") {
				from := 8 * rapid.IntRange(0, b.Len/8-1).Draw(t, "from")
				b = b.Slice(from, rapid.IntRange(from+1, b.Len).Draw(t, "to"))
			}
			batches = append(batches, b)
		}
		var out bytes.Buffer
		var err error
		w := NewWriter(&out, h)
		for _, b := range batches {
			err = errors.Join(err, w.Write(b))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		_, got, err := readAll(iotest.HalfReader(&out))
		if err == nil {
			err = differ(got, join(columns, batches...))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestNullAtEveryPosition(t *testing.T) {
	const n = 19
	for i := range n {
		want := randomBatch(seeded(3), n, event.BaseCols, 3)
		for _, col := range []*event.Ints[int64]{&want.Stream, &want.Bytes} {
			col.Valid = nil
			col.SetNull(i)
		}
		_, got, err := readAll(bytes.NewReader(encode(t, testHeader(event.BaseCols), want)))
		if err == nil {
			err = differ(got, want)
		}
		if err != nil {
			t.Fatalf("null in row %d: %v", i, err)
		}
	}
}

func TestWhatLiesAfterTheLastRowIsNotWritten(t *testing.T) {
	clean := randomBatch(seeded(3), 11, event.BaseCols, 3)
	for _, col := range []*event.Ints[int64]{&clean.Bytes, &clean.Stream} {
		col.Fill(0, 11, 5)
		col.SetNull(2)
		clear(col.Valid[1:])
		col.Fill(8, 11, 5)
	}
	dirty := join(event.BaseCols, clean)
	dirty.Bytes.Valid[1] |= 0xf8
	dirty.Stream.Valid[1] |= 0x08
	h := testHeader(event.BaseCols)
	if !bytes.Equal(encode(t, h, clean), encode(t, h, dirty)) {
		t.Error("the same rows make different streams")
	}
}

func TestColumnsThatABatchLacksAreNull(t *testing.T) {
	h := testHeader(allCols)
	b := randomBatch(seeded(1), 20, event.BaseCols, 3)
	_, got, err := readAll(bytes.NewReader(encode(t, h, b)))
	if err == nil {
		err = differ(got, join(allCols, b))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDictionariesGoOutOnce(t *testing.T) {
	h := testHeader(allCols)
	b := randomBatch(seeded(1), 20, allCols, 3)
	m := newMessages(bytes.NewReader(encode(t, h, b, b, b)))
	var kinds []byte
	for {
		msg, err := m.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, msg.kind)
	}
	if want := []byte{1, 2, 2, 2, 2, 2, 3, 3, 3}; !bytes.Equal(kinds, want) {
		t.Errorf("messages %v, want %v", kinds, want)
	}
}

func TestThroughAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h := testHeader(allCols)
	want := randomBatch(seeded(9), 3*event.MaxBatchRows, allCols, 3)
	done := make(chan error)
	go func() {
		out := NewWriter(w, h)
		done <- errors.Join(out.Write(want), out.Close(), w.Close())
	}()
	_, got, err := readAll(r)
	if err = errors.Join(err, <-done); err == nil {
		err = differ(got, want)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestBatchesAreCut(t *testing.T) {
	h := testHeader(event.BaseCols)
	m := newMessages(bytes.NewReader(encode(t, h, randomBatch(seeded(1), 2*event.MaxBatchRows+1, event.BaseCols, 3))))
	var sizes []int64
	for {
		msg, err := m.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if msg.kind == recordMessage {
			sizes = append(sizes, msg.rows)
		}
	}
	if len(sizes) != 3 || sizes[0] != event.MaxBatchRows || sizes[1] != event.MaxBatchRows || sizes[2] != 1 {
		t.Errorf("record batches of %d rows", sizes)
	}
	b := new(event.Batch)
	for range 100 {
		b.Name.Append("ten bytes.")
		b.Len++
	}
	for _, c := range []struct{ i, text, want int }{{0, 1000, 100}, {0, 999, 48}, {8, 400, 48}, {0, 1, 8}, {96, 1, 100}} {
		if got := cutAt(b, c.i, c.text); got != c.want {
			t.Errorf("a batch from row %d with %d bytes of text ends at %d, want %d", c.i, c.text, got, c.want)
		}
	}
}

func TestNoEndAfterAnyError(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, testHeader(event.BaseCols))
	w.err = errors.New("a column that cannot be written")
	if err := w.Close(); err == nil || out.Len() > 0 {
		t.Errorf("%v, and %d bytes written", err, out.Len())
	}
}

// failing fails after some bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, &fs.PathError{Op: "write", Path: "x.arrows", Err: errors.New("full")}
	}
	return len(p), nil
}

func TestNoEndAfterAnError(t *testing.T) {
	h := testHeader(event.BaseCols)
	b := randomBatch(seeded(1), 5000, event.BaseCols, 3)
	for _, room := range []int{0, 100, 2000, 100_000} {
		out := &failing{left: room}
		w := NewWriter(out, h)
		if err := w.Write(b); err == nil || err.Error() != "write x.arrows: full" {
			t.Fatalf("after %d bytes on a full disk: %v", room, err)
		}
		out.left = 1 << 30
		if err := w.Close(); err == nil || out.left != 1<<30 {
			t.Errorf("closing after an error: %v, and %d bytes written", err, 1<<30-out.left)
		}
	}
}

func TestPipeErrorsAreReported(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	out := NewWriter(w, testHeader(event.BaseCols))
	if err := out.Write(randomBatch(seeded(1), 50, event.BaseCols, 3)); !errors.Is(err, os.ErrClosed) && err == nil {
		t.Error("no error from a broken pipe")
	}
}
