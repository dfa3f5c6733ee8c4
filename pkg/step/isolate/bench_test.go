package isolate

import (
	"io"
	"testing"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

func BenchmarkIsolate(b *testing.B) {
	h, rows := eventtest.Decode(500)
	in, err := eventtest.Ready(eventtest.Source(h, rows, event.BatchRows))
	if err != nil {
		b.Fatal(err)
	}
	for _, by := range step.Methods[1:] {
		b.Run(by, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				in.Rewind()
				it, err := New(in, Options{By: by})
				for err == nil {
					_, err = it.Next()
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(in.Len)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
