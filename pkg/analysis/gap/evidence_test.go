package gap

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Time is divided to the ns, also where it is less than the samples are.
func TestShared(t *testing.T) {
	counts := map[int32]int64{0: 1, 1: 1, 2: 1, 3: 4}
	for ns, want := range map[int64][]int64{0: {0, 0, 0, 0}, 1: {0, 0, 0, 1}, 2: {1, 0, 0, 1}, 70: {10, 10, 10, 40}, 71: {10, 10, 10, 41}, 1<<62 + 3: nil} {
		got := shared(ns, []int32{0, 1, 2, 3}, counts)
		var sum int64
		for _, n := range got {
			sum += n
		}
		if sum != ns || want != nil && !slices.Equal(got, want) {
			t.Errorf("%d ns: %d", ns, got)
		}
	}
}

// The stacks of a stratum are those of calls, as long as they took, and of the rest those of
// samples with callers, or, where there are none, without.
func TestDivide(t *testing.T) {
	c := &evidence{header: &event.Header{Stacks: []string{"main;a", "main;b", "leaf", "main;call"}}}
	of := func(stacks ...int32) (list []*idle.Evidence) {
		for _, s := range stacks {
			list = append(list, &idle.Evidence{Stack: s, GPUs: 1})
		}
		return list
	}
	type part struct {
		leaf, evidence string
		ns, samples    int64
	}
	for _, test := range []struct {
		found found
		want  []part
	}{
		{found{}, []part{{"[no sample]", figure.None, 100, 0}}},
		{found{exact: map[int32]int64{3: 100}, samples: of(0)}, []part{{"call", figure.Exact, 100, 0}}},
		{found{exact: map[int32]int64{3: 70}, samples: of(0, 2, 2, 1, 1)}, []part{{"call", figure.Exact, 70, 0}, {"a", figure.Sampled, 10, 1}, {"b", figure.Sampled, 20, 2}}},
		{found{samples: of(2)}, []part{{"leaf", figure.Sampled, 100, 1}}},
		{found{samples: of(0), python: map[int32]int64{1: 3}}, []part{{"b", figure.Sampled, 100, 3}}},
	} {
		var got []part
		for _, s := range c.divide(nil, figure.Stack{Ns: 100, Evidence: figure.Exact}, &test.found, true) {
			got = append(got, part{s.Called[len(s.Called)-1], s.Evidence, s.Ns, s.Samples})
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: got %v, want %v", test.found, got, test.want)
		}
	}
}

// Time in which nobody knows who holds the interpreter lock is a row that says so.
func TestUnknownHolder(t *testing.T) {
	i := &Idle{Steps: 1, Causes: []Cause{{Part: Part{Ns: 2000}, Holders: []Holder{{Rank: new(int32(0)), Thread: new(int64(7)), Ns: 1500}, {Ns: 500}}}}}
	d, s := report.New(report.Plain("x"))
	i.holders(s)
	var page strings.Builder
	if err := report.Markdown(&page, d, report.Options{}); err != nil || !strings.Contains(page.String(), "| unknown | unknown |") {
		t.Errorf("%v:\n%s", err, page.String())
	}
}
