package gap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
)

// PythonLine is a line of Python that launching threads were on while GPUs were idle,
// according to samples of Python functions. These are taken at fixed intervals, whether or
// not a thread is on a CPU.
type PythonLine struct {
	Line    string  `json:"line"`    // the function, with base name of the file and line number in parentheses
	Us      float64 `json:"us"`      // idle time, over all GPUs: exact by cause, divided by samples
	Share   float64 `json:"share"`   // of the idle time
	Samples int64   `json:"samples"` // samples at this line

	ns int64
}

// pythonLines lists the lines with samples, those with the most idle time first, of a cause, or of
// all for "". It returns nil if there are fewer than minSamples. total is what shares are of, in
// us.
//
// Time is divided within a cause and range, not within a why. To take a sample, the profiler
// stops the thread, which then seems to wait for the interpreter lock whatever it did before.
// Time that was never divided by why is left out.
func (e *evidence) pythonLines(total float64, cause string) (list []PythonLine) {
	whole := map[stratum]*found{}
	for of, f := range e.strata {
		key, why := e.sites.Undivided(of.key)
		if why == idle.None || cause != "" && e.sites.CauseName(key) != cause {
			continue
		}
		of.key = key
		if whole[of] == nil {
			whole[of] = &found{python: map[int32]int64{}}
		}
		whole[of].ns += f.ns
		for stack, n := range f.python {
			whole[of].python[stack] += n
		}
	}
	lines, samples := map[string]*PythonLine{}, int64(0)
	for _, f := range whole {
		order := e.inOrder(f.python)
		for k, ns := range shared(f.ns, order, f.python) {
			text := e.stackText(order[k])
			leaf := text[strings.LastIndexByte(text, ';')+1:]
			if lines[leaf] == nil {
				lines[leaf] = &PythonLine{Line: leaf}
			}
			n := f.python[order[k]]
			lines[leaf].ns, lines[leaf].Samples, samples = lines[leaf].ns+ns, lines[leaf].Samples+n, samples+n
		}
	}
	if samples < minSamples {
		return nil
	}
	for _, l := range lines {
		l.Us = us(l.ns)
		l.Share = l.Us / total
		list = append(list, *l)
	}
	slices.SortFunc(list, func(a, b PythonLine) int {
		return cmp.Or(cmp.Compare(b.Us, a.Us), strings.Compare(a.Line, b.Line))
	})
	return list
}

// lineIn returns the line of Python with the most idle time of a cause, nil if there are too
// few samples.
func (e *evidence) lineIn(cause string) *PythonLine {
	if lines := e.pythonLines(1, cause); len(lines) > 0 {
		return &lines[0]
	}
	return nil
}

// pythonTable shows the lines of Python.
func (i *Idle) pythonTable(s *report.Section) {
	if len(i.Python) == 0 {
		return
	}
	t := s.Table("Python lines the launching threads were on",
		report.Columns("line: names, share: ratio adds, per step: duration adds 1, samples: count adds 2")...)
	t.Top = maxRows
	for _, l := range i.Python {
		t.Row(report.Str(l.Line), report.Num(l.Share), report.Opt(perStep(l.Us, i.Steps)), report.Num(float64(l.Samples)))
	}
}
