package metric_test

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

func BenchmarkCompute(b *testing.B) {
	h, rows := eventtest.Decode(500)
	it, err := isolate.New(eventtest.Source(h, rows, event.BatchRows), isolate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	tagged, err := step.NewTagger(it, nil)
	if err != nil {
		b.Fatal(err)
	}
	in, err := eventtest.Ready(tagged)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.Rewind()
		if _, err := metric.Compute(in, metric.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(in.Len)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
