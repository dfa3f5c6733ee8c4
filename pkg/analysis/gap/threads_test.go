package gap

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/nsys"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// watch is what is known of a simulated run.
func watch(t *testing.T, change func(*sim.Config)) *threadWatch {
	t.Helper()
	c := sim.Default()
	c.Steps, c.ContextEvery, c.Warmup = 60, 0, 0
	change(&c)
	src, err := nsys.Open(testrun.Simulate(t, c, false), nsys.Options{Host: []event.Kind{event.OS, event.Run}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	w := newThreadWatch(src.Header(), spill.NewStore(1<<20))
	if err := event.Each(src, func(b *event.Batch) error { w.Add(b); return nil }); err != nil {
		t.Fatal(err)
	}
	return w
}

// Threads with a whole core's work are told from those with less, from those that spin, and from
// those that launch.
func TestBusy(t *testing.T) {
	w := watch(t, func(c *sim.Config) {
		c.Why = sim.HostCause{Kind: "running", US: 1}
		c.Helpers = []sim.Helper{{Name: "detokenizer", Busy: 0.96}, {Busy: 0.8}, {Busy: 1, Call: "sched_yield"}, {Busy: 0.3, Call: "sched_yield"}, {Busy: 0.97, Call: "memcpy"}}
	})
	var got []string
	for _, b := range w.busy() {
		what := "works"
		if b.Is[0] == "spins" {
			what = "spins in " + b.Names["asks"]
		}
		if strings.Contains(b.Names["thread"], "process without a GPU") {
			what += " elsewhere"
		}
		got = append(got, what)
	}
	if want := []string{"spins in sched_yield", "works", "works elsewhere"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: %+v", got, want, w.busy())
	}
}
