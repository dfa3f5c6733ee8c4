package parquet

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	library "github.com/parquet-go/parquet-go"
)

// traceColumns are columns as a trace has them.
var traceColumns = []Column{
	{Name: "start", Type: Int64, Encoding: Delta},
	{Name: "rank", Type: Int32, Nullable: true},
	{Name: "correlation", Type: Int64, Nullable: true, Encoding: Delta},
	{Name: "bytes", Type: Int64, Nullable: true},
	{Name: "name", Type: Text},
	{Name: "kind", Type: Text, Enum: []string{"kernel", "api", "nvtx"}},
}

func traceChunk(n int) *Chunk {
	rng := rand.New(rand.NewPCG(1, 1))
	c := &Chunk{N: n, Cols: make([]Vector, len(traceColumns))}
	for k := range c.Cols {
		c.Cols[k].Reset()
	}
	for i := range n {
		kind := rng.IntN(3)
		c.Cols[0].Int = append(c.Cols[0].Int, int64(i)*1500+rng.Int64N(1000))
		c.Cols[1].Int = append(c.Cols[1].Int, int64(i/100000))
		c.Cols[2].Int = append(c.Cols[2].Int, int64(i)+rng.Int64N(5))
		c.Cols[2].needValid(0)
		c.Cols[2].Valid = c.Cols[2].Valid.AppendSame(i, 1, kind < 2)
		c.Cols[4].Text.AppendBytes(fmt.Appendf(nil, "void some_kernel_of_an_engine_number_%d<float>", rng.IntN(200)))
		c.Cols[5].Int = append(c.Cols[5].Int, int64(kind))
	}
	return c
}

func BenchmarkWrite(b *testing.B) {
	c := traceChunk(1 << 20)
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		w := NewWriter(&out, traceColumns, Options{Sealed: true})
		w.Append(c)
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	report(b, c.N, len(traceColumns))
	b.ReportMetric(float64(out.Len())/float64(c.N), "bytes/row")
}

// traceRow is a row of traceColumns as the library's GenericWriter takes it, whose delta
// encoding is for required columns alone.
type traceRow struct {
	Start       int64  `parquet:"start,delta"`
	Rank        *int32 `parquet:"rank,optional,dict"`
	Correlation *int64 `parquet:"correlation,optional"`
	Bytes       *int64 `parquet:"bytes,optional,dict"`
	Name        string `parquet:"name,dict"`
	Kind        string `parquet:"kind,dict"`
}

// BenchmarkLibraryWrite is BenchmarkWrite with the library's writer, which a package that
// keeps columns has to hand rows, and without the hashes.
func BenchmarkLibraryWrite(b *testing.B) {
	c := traceChunk(1 << 20)
	rows := make([]traceRow, 1<<12)
	kinds := []string{"kernel", "api", "nvtx"}
	for b.Loop() {
		w := library.NewGenericWriter[traceRow](io.Discard, library.MaxRowsPerRowGroup(1<<17))
		for at := 0; at < c.N; at += len(rows) {
			for i := range rows {
				rank := int32(c.Cols[1].Int[at+i])
				rows[i] = traceRow{Start: c.Cols[0].Int[at+i], Rank: &rank, Name: string(c.Cols[4].Text.Get(at + i)), Kind: kinds[c.Cols[5].Int[at+i]]}
				if c.Cols[5].Int[at+i] < 2 {
					rows[i].Correlation = &c.Cols[2].Int[at+i]
				}
			}
			if _, err := w.Write(rows); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	report(b, c.N, len(traceColumns))
}

// report reports values a second.
func report(b *testing.B, rows, cols int) {
	b.ReportMetric(float64(b.N)*float64(rows)*float64(cols)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
}

func BenchmarkRead(b *testing.B) {
	c := traceChunk(1 << 20)
	var out bytes.Buffer
	w := NewWriter(&out, traceColumns, Options{Sealed: true})
	w.Append(c)
	w.Close()
	f := open(b, out.Bytes())
	for k, col := range traceColumns {
		b.Run("Column/"+col.Name, func(b *testing.B) {
			var v Vector
			for b.Loop() {
				for g := range f.Groups() {
					if err := f.ReadColumn(g, col.Name, col.Enum, &v); err != nil {
						b.Fatal(err)
					}
				}
			}
			report(b, c.N, 1)
			b.ReportMetric(float64(f.meta.RowGroups[0].Columns[k].MetaData.TotalCompressedSize)/float64(f.GroupRows(0)), "bytes/row")
		})
	}
	b.Run("Scan", func(b *testing.B) {
		for b.Loop() {
			names := []string{"start", "rank", "correlation", "bytes", "name", "kind"}
			if err := f.Scan(names, All, 8192, func(*Chunk) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		report(b, c.N, len(traceColumns))
	})
}
