package doctor

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// A recording of PyTorch's profiler gets advice for that, and ranges of its own alone are
// proposed as steps.
func TestTorch(t *testing.T) {
	rows := []eventtest.Row{eventtest.New(event.Kernel, 0, 0, 5, "k"), eventtest.New(event.API, 0, 0, 1, "cudaLaunchKernel")}
	for i := range int64(20) {
		for _, name := range []string{"aten::to", "my step"} {
			r := eventtest.New(event.NVTX, 0, 10+20*i, 10, name)
			r.Thread, r.Class = 1, event.Range
			rows = append(rows, r)
		}
	}
	h := eventtest.Header(rows)
	h.Domains = []string{"aten", "torch"}
	for k := range h.Reports {
		h.Reports[k].Source = "torch"
	}
	d, err := Examine(domains{eventtest.Source(h, rows, 7)})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.Torch, "record_function(") || !strings.Contains(d.Record, "--sample") || len(d.Recurring) != 1 || d.Recurring[0].Name != "my step" {
		t.Errorf("%q, %q, %+v", d.Torch, d.Record, d.Recurring)
	}
}

// A trace whose only forward step is the first has evidence of steps, and no verdict.
func TestStartOnly(t *testing.T) {
	rows := []eventtest.Row{eventtest.New(event.Kernel, 0, 0, 5, "k"), eventtest.New(event.API, 0, 0, 1, "cudaLaunchKernel")}
	rows[0].Class = event.Allreduce
	h := eventtest.Header(rows)
	h.Reports[0].StartOnly = true
	d, err := Examine(eventtest.Source(h, rows, 7))
	if err != nil {
		t.Fatal(err)
	}
	if q := d.Questions[1]; q.Command != "verdict" || q.Can != No || q.Instead != "record several steps" {
		t.Errorf("%+v", q)
	}
}

// domains are rows of which those with names of operators are in the first domain.
type domains struct{ event.Source }

func (d domains) Next() (*event.Batch, error) {
	b, err := d.Source.Next()
	for i := 0; err == nil && i < b.Len; i++ {
		b.Domain.Set(i, 1)
		if strings.HasPrefix(string(b.Name.Get(i)), "aten::") {
			b.Domain.Set(i, 0)
		}
	}
	return b, err
}

// What threads of processes without GPU work did is not read: that it was not recorded is not said.
func TestNoRank(t *testing.T) {
	rows := []eventtest.Row{eventtest.New(event.Run, -1, 10, 20, "")}
	h := eventtest.Header(rows)
	h.Reports[0].Ranks = nil
	d, err := Examine(eventtest.Source(h, rows, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range d.Questions {
		if strings.Contains(q.Because, "not recorded:") || strings.Contains(q.Because, "no samples") {
			t.Errorf("%q: %s", q.Question, q.Because)
		}
	}
}

// Where all that shows what threads do was recorded, nothing is said to be missing.
func TestNothingMissing(t *testing.T) {
	var rows []eventtest.Row
	for _, kind := range []event.Kind{event.Kernel, event.API, event.NVTX, event.OS, event.Run, event.Sample} {
		r := eventtest.New(kind, 0, 10, 20, "")
		if r.Thread = 1; kind == event.NVTX {
			r.Class = event.GIL
		}
		rows = append(rows, r)
	}
	for n := 3; n <= len(rows); n++ {
		d, err := Examine(eventtest.Source(eventtest.Header(rows[:n]), rows[:n], 2))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range d.Questions {
			if q.Can == Yes && (q.Instead != "" || q.record != nil) {
				t.Errorf("%d kinds: %q can be answered, and yet: %q", n, q.Question, q.Instead)
			}
			if all := n == len(rows); q.Question == "Why do launching threads stall?" && (q.Can == Yes) != all {
				t.Errorf("%d kinds: %q: %s, %s", n, q.Question, q.Can, q.Because)
			}
		}
		// What is recorded again for collections has what answered the other questions.
		if again := report.CaptureCommand(report.CaptureOptions{Host: true, Collections: true, Ranges: true}); n == len(rows) && d.Record != again {
			t.Errorf("record %q, want %q", d.Record, again)
		}
	}
}

// A recording of calls whose GPU side is missing answers nothing about GPUs, and is not complete.
func TestNoWork(t *testing.T) {
	rows := []eventtest.Row{eventtest.New(event.API, 0, 0, 1, "cudaLaunchKernel"), eventtest.New(event.NVTX, 0, 0, 10, "step")}
	for k := range rows {
		rows[k].Thread = 1
	}
	for n, want := range map[int]int{1: 1, 2: 2} { // ranges alone, and with calls
		h := eventtest.Header(rows[2-n:])
		h.Reports[0].Ranks = nil
		d, err := Examine(eventtest.Source(h, rows[2-n:], 2))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range d.Questions {
			if complete := strings.Contains(q.Question, "complete"); q.Can != No && (!complete || want == 2) {
				t.Errorf("%d rows: %q: %s, %s", n, q.Question, q.Can, q.Because)
			}
		}
	}
}
