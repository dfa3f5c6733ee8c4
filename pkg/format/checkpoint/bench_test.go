package checkpoint

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

const benchBatches = 128

// benchBatch is a batch of launches and the kernels that they launched.
func benchBatch() *event.Batch {
	rng := rand.New(rand.NewPCG(1, 4))
	var b event.Batch
	b.Reset(event.BaseCols)
	for at, n := int64(0), int64(0); b.Len < event.BatchRows; n++ {
		call := eventtest.New(event.API, 0, at, at+3000+rng.Int64N(500), "cudaLaunchKernel")
		call.Thread, call.Class, call.Correlation = 4711, event.Launch, n
		gpu := eventtest.New(event.Kernel, 0, at+5000+rng.Int64N(2000), at+9000+rng.Int64N(4000), fmt.Sprintf("ampere_fp16_s16816gemm_fp16_%dx64", rng.IntN(30)))
		gpu.Device, gpu.Stream, gpu.Class, gpu.Correlation = 0, 7, event.GEMM, n
		gpu.LaunchStart, gpu.LaunchEnd, gpu.LaunchThread = call.Start, call.End, call.Thread
		eventtest.Append(&b, call, gpu)
		at += 10000
	}
	return &b
}

func benchWrite(b *testing.B, path string) {
	batch := benchBatch()
	w, err := Create(path, &event.Header{Stage: "nsys2arrow", Columns: event.BaseCols}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for range benchBatches {
		if err := w.Write(batch); err != nil {
			b.Fatal(err)
		}
		for i := range batch.Len {
			batch.Start.Values[i] += 1e9
			batch.End.Values[i] += 1e9
		}
	}
	if err := w.Commit(); err != nil {
		b.Fatal(err)
	}
}

func reportRows(b *testing.B) {
	b.ReportMetric(float64(b.N)*benchBatches*event.BatchRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.parquet")
	for b.Loop() {
		benchWrite(b, path)
	}
	reportRows(b)
	f, err := parquet.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range f.Columns() {
		var size int64
		for g := range f.Groups() {
			size += f.ChunkSize(g, c.Name)
		}
		b.ReportMetric(float64(size)/float64(f.Rows()), c.Name+"-B/row")
	}
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.parquet")
	benchWrite(b, path)
	for name, opt := range map[string]ReadOptions{
		"all":    {},
		"times":  {Columns: 1<<event.ColKind | 1<<event.ColStart | 1<<event.ColEnd | 1<<event.ColRank | 1<<event.ColDevice | 1<<event.ColClass},
		"kernel": {Selection: Selection{Kinds: []event.Kind{event.Kernel}}},
		"second": {Selection: Selection{Time: &Range{20e9, 21e9}}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := Open(path, opt)
				for err == nil {
					_, err = r.Next()
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
			reportRows(b)
		})
	}
}
