package arrow

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// benchBatch is like what an nsys report gives: half of the columns partly
// null, names of two dozen bytes.
func benchBatch() *event.Batch {
	b := randomBatch(seeded(1), event.BatchRows, event.BaseCols|event.StepCols, 3)
	b.Name = event.Strings{}
	for range b.Len {
		b.Name.Append("ampere_fp16_s16816gemm_fp16_128x64")
	}
	return b
}

func report(b *testing.B, bytes int) {
	b.ReportMetric(float64(b.N)*event.BatchRows/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(bytes)/event.BatchRows, "B/row")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkWrite(b *testing.B) {
	batch := benchBatch()
	h := testHeader(batch.Columns)
	size := len(encode(b, h, batch))
	w := NewWriter(io.Discard, h)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(batch); err != nil {
			b.Fatal(err)
		}
	}
	report(b, size)
}

func BenchmarkRead(b *testing.B) {
	batch := benchBatch()
	h := testHeader(batch.Columns)
	const n = 64
	var batches []*event.Batch
	for range n {
		batches = append(batches, batch)
	}
	stream := encode(b, h, batches...)
	b.ReportAllocs()
	b.ResetTimer()
	read := 0
	for read < b.N {
		in, err := openEvents(bytes.NewReader(stream))
		for ; err == nil && read < b.N; read++ {
			if _, err = in.Next(); err == io.EOF {
				break
			}
		}
		if err != nil && err != io.EOF {
			b.Fatal(err)
		}
	}
	report(b, len(stream)/n)
}

// BenchmarkPipe writes and reads at once, each on a core of its own where
// there are two.
func BenchmarkPipe(b *testing.B) {
	batch := benchBatch()
	h := testHeader(batch.Columns)
	size := len(encode(b, h, batch))
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		out, err := NewWriter(w, h), error(nil)
		for i := 0; i < b.N && err == nil; i++ {
			err = out.Write(batch)
		}
		done <- errors.Join(err, out.Close(), w.Close())
	}()
	in, err := openEvents(r)
	for err == nil {
		_, err = in.Next()
	}
	if err != io.EOF {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	report(b, size)
}

// BenchmarkLibraryRead is BenchmarkRead with Arrow's own reader behind the same checks of
// every message: its arrays as they come, offsets and codes not yet checked, dictionaries not
// yet ours.
func BenchmarkLibraryRead(b *testing.B) {
	batch := benchBatch()
	h := testHeader(batch.Columns)
	const n = 64
	var batches []*event.Batch
	for range n {
		batches = append(batches, batch)
	}
	stream := encode(b, h, batches...)
	b.ReportAllocs()
	b.ResetTimer()
	for read := 0; read < b.N; {
		m := newMessages(bytes.NewReader(stream))
		head, err := readHead(m)
		if err != nil {
			b.Fatal(err)
		}
		head.feed.next = m.next
		for ; read < b.N; read++ {
			if head.mem.left = m.limit; !head.arrow.Next() {
				break
			}
		}
		if err := head.arrow.Err(); err != nil {
			b.Fatal(err)
		}
	}
	report(b, len(stream)/n)
}
