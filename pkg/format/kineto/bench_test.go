package kineto

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// BenchmarkRead reads a simulated trace, a third of whose events are Python
// functions, and with the standard library into values of any type, as
// Python's json.load does.
func BenchmarkRead(b *testing.B) {
	text, _ := simulated(b, sim.KinetoOptions{Functions: 16}, func(c *sim.Config) { c.Layers, c.Events = 32, 100_000 })
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(text)
	w.Close()
	for _, form := range []struct {
		name string
		data []byte
	}{{"json", text}, {"gz", z.Bytes()}} {
		b.Run(form.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "trace")
			if err := os.WriteFile(path, form.data, 0o644); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			rows := 0
			for b.Loop() {
				r, err := Open([]string{path}, Options{})
				if err == nil {
					err = event.Each(r, func(batch *event.Batch) error { rows += batch.Len; return nil })
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
	b.Run("split", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			s := &splitter{in: bytes.NewReader(text)}
			if err := s.run(func(*block) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
