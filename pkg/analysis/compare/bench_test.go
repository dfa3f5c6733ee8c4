package compare_test

import (
	"runtime"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// decode is a regular trace with steps and phases, ready to be read.
func decode(tb testing.TB, steps int) *eventtest.Replay {
	header, rows := eventtest.Decode(steps)
	isolated, err := isolate.New(eventtest.Source(header, rows, event.BatchRows), isolate.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	phased, err := step.NewTagger(isolated, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ready, err := eventtest.Ready(phased)
	if err != nil {
		tb.Fatal(err)
	}
	return ready
}

func BenchmarkProfile(b *testing.B) {
	events := decode(b, 1000)
	b.ResetTimer()
	for b.Loop() {
		events.Rewind()
		if _, err := compare.Profile(events, compare.ProfileOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events.Len)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkCompare(b *testing.B) {
	events := decode(b, 1000)
	run, err := compare.Profile(events, compare.ProfileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := compare.Compare(run, run, compare.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMemory keeps a profile far below the size of its events.
func TestMemory(t *testing.T) {
	events := decode(t, 400)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	run, err := compare.Profile(events, compare.ProfileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	bytes := float64(after.HeapAlloc-before.HeapAlloc) / float64(events.Len)
	runtime.KeepAlive(run)
	runtime.KeepAlive(events)
	if t.Logf("%.2f bytes an event", bytes); bytes > 15 {
		t.Errorf("%.1f bytes an event", bytes)
	}
}
