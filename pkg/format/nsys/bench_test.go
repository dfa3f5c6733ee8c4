package nsys

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// BenchmarkOpen reads a simulated run of two ranks from a file and from a
// directory: rows a second from start to end, and the bytes of memory that a
// row takes between the look at the report and the first batch. The size is
// 200,000 rows, or what HOSTBOUND_BENCH_ROWS says.
func BenchmarkOpen(b *testing.B) {
	rows := 200_000
	if s := os.Getenv("HOSTBOUND_BENCH_ROWS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatalf("HOSTBOUND_BENCH_ROWS: %v", err)
		}
		rows = n
	}
	c := sim.Default()
	c.Events = rows
	tr := simulate(b, c)
	dir := b.TempDir()
	file, tables := filepath.Join(dir, "x.sqlite"), filepath.Join(dir, "x_pqtdir")
	if err := tr.WriteSQLite(file, sim.Options{}); err != nil {
		b.Fatal(err)
	}
	if err := tr.WriteParquetDir(tables, sim.Options{}); err != nil {
		b.Fatal(err)
	}
	tr = nil
	b.Run("sqlite", func(b *testing.B) { benchmarkOpen(b, file) })
	b.Run("parquetdir", func(b *testing.B) { benchmarkOpen(b, tables) })
}

func benchmarkOpen(b *testing.B, path string) {
	var rows, memory int64
	for b.Loop() {
		b.StopTimer()
		before := heap()
		b.StartTimer()
		r, err := Open([]string{path}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		memory += heap() - before
		b.StartTimer()
		for {
			batch, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			rows += int64(batch.Len)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(memory)/float64(rows), "B/event")
}

// heap is the number of bytes in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
