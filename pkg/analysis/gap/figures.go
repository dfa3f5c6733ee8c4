package gap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/straggler"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// Palette gives each of the largest causes a colour, the same in all figures.
func (rep *Report) Palette() figure.Palette {
	p := figure.Palette{}
	for i := range rep.Idle.Causes {
		p.Color(rep.Idle.Causes[i].Cause)
	}
	return p
}

// maxFlameRows is how many stacks the table of the flame graph has.
const maxFlameRows = 50

// flameFigure draws the stacks of the idle time.
func (rep *Report) flameFigure(s *report.Section) {
	colors := rep.Palette()
	stacks := slices.Clone(rep.Stacks)
	if len(stacks) == 0 {
		return
	}
	what := "idle"
	if rep.Waits != nil {
		what = "idle or waiting"
	}
	p := &figure.Flame{Root: figure.Node{Name: what, Color: figure.Other}}
	slices.SortFunc(stacks, func(a, b figure.Stack) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), slices.Compare(a.Frames(), b.Frames()))
	})
	t := &report.Table{Top: maxFlameRows, More: "--flame FILE writes all", Columns: []report.Column{
		{Title: what, Kind: report.Duration, Adds: true}, {Title: "share", Kind: report.Ratio, Adds: true}, {Title: "stack", Kind: report.Names}}}
	for i := range stacks {
		p.Root.Value += us(stacks[i].Ns)
	}
	described := map[level]bool{}
	for i := range stacks {
		if st := &stacks[i]; st.Why != "" && st.Why != unknown {
			described[parentOf(st)] = true
		}
	}
	for i := range stacks {
		st := &stacks[i]
		if !described[parentOf(st)] { // a level that says nothing
			st.Why = ""
		}
		at := &p.Root
		for depth, name := range st.Frames() {
			at = at.Part(name)
			at.Value += us(st.Ns)
			switch at.Color = figure.Other; {
			case depth >= 2 && st.Cause == timeline.Waits:
				at.Color = timeline.WaitsColor
			case depth >= 2:
				at.Color = colors.Color(st.Cause)
			}
		}
		t.Row(report.Num(us(st.Ns)), report.Num(us(st.Ns)/p.Root.Value), report.Str(strings.Join(st.Frames(), " > ")))
	}
	first := &rep.Idle.Causes[0]
	alt := fmt.Sprintf("Time %s by rank, phase, cause, why, ranges and call. The largest cause of idle time is %s with %s of it.", what, first.Cause, report.Percent(first.Share))
	s.Extra(report.Capital("time "+what+" by rank, phase, cause, and where it arises"), alt, p, t)
}

// unknown is the why of what no row says.
var unknown = idle.Unknown.String()

// parentOf is where a stack's why stands.
func parentOf(s *figure.Stack) level { return level{s.Rank, s.Phase, s.Cause} }

type level struct {
	rank         int32
	phase, cause string
}

// bucketsFigure draws how the time of gaps is distributed over their lengths.
func (g *Gaps) bucketsFigure() (title, alt string, plot figure.Plot) {
	p := &figure.Bars{Unit: figure.Ratio, Series: []figure.Series{{Name: "share of the time in gaps", Color: figure.Busy}}}
	for i := range g.Buckets {
		b := &g.Buckets[i]
		p.Rows = append(p.Rows, figure.Bar{Label: b.name(), Parts: []float64{b.Share}, Text: report.Percent(b.Share), More: fmt.Sprintf("(%s in %d gaps)", report.Micros(b.TotalUs), b.Count)})
	}
	return "Time in gaps by their length", g.largest(), p
}

// largest says which bucket has most of the time. What its gaps come from is not known by
// their length, and not said.
func (g *Gaps) largest() string {
	b := slices.MaxFunc(g.Buckets, func(a, b Bucket) int { return cmp.Compare(a.Ns, b.Ns) })
	return fmt.Sprintf("Gaps of %s hold the largest share of the time in gaps, %s.", b.name(), report.Percent(b.Share))
}

// ranksLate draws how late each rank is, and how long it waits.
func lateFigure(rep *Report) (title, alt string, plot figure.Plot) {
	p := &figure.Bars{Named: true, Series: []figure.Series{{Name: "late", Color: figure.Bad}, {Name: "waits for the last", Color: 2}}}
	latest := 0
	ranks, left := timeline.MostOf(rep.Straggler.Ranks, func(r straggler.RankReport) float64 { return r.LateUs })
	for i, r := range ranks {
		p.Rows = append(p.Rows, figure.Bar{Label: fmt.Sprintf("rank %d", r.Rank), Parts: []float64{r.LateUs, r.WaitUs},
			Text: "late " + report.Micros(r.LateUs), More: "(last in " + report.Percent(r.ShareOfSteps) + " of steps)"})
		if r.LateUs > ranks[latest].LateUs {
			latest = i
		}
	}
	if len(p.Rows) > 0 {
		r := &ranks[latest]
		alt = fmt.Sprintf("Rank %d is the latest: %s per step, the last in %s of the steps.", r.Rank, report.Micros(r.LateUs), report.Percent(r.ShareOfSteps))
	}
	return "Lateness per rank and step" + timeline.Without(left), alt, p
}

// unitFigure draws the kernels of the layer and the gaps before them.
func (rep *Report) unitFigure() (title, alt string, plot figure.Plot) {
	p := &figure.Timeline{}
	colors := figure.Palette{}
	gap := figure.Series{Name: "no kernel", Color: figure.Bad}
	track := figure.Track{Name: "kernels of the unit, on average"}
	p.Named = append(p.Named, gap)
	for i := range rep.Pattern.Kernels {
		k := &rep.Pattern.Kernels[i]
		if k.GapUs > 0 {
			track.Spans = append(track.Spans, figure.Span{Name: "no kernel before " + k.Name, From: p.To, To: p.To + k.GapUs, Color: gap.Color})
			p.To += k.GapUs
		}
		color := colors.Color(k.Class)
		if s := (figure.Series{Name: k.Class, Color: color}); !slices.Contains(p.Named, s) {
			p.Named = append(p.Named, s)
		}
		track.Spans = append(track.Spans, figure.Span{Name: k.Name, From: p.To, To: p.To + k.Us, Color: color})
		p.To += k.Us
	}
	p.Tracks = []figure.Track{track}
	alt = fmt.Sprintf("%d kernels in %s, of which %s have no kernel. %s", len(rep.Pattern.Kernels), report.Micros(p.To), report.Micros(rep.Pattern.GapUs), rep.Pattern.Sentence)
	return "The repeated unit: kernels and the gaps between them", alt, p
}
