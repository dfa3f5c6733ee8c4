package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Limits of a drawing. The figure says what is left out.
const (
	maxThreads = 4   // the threads that launched most
	maxDepth   = 8   // nested ranges
	maxStreams = 4   // the streams of each GPU with the most work
	maxGPUs    = 2   // of a rank
	maxNamed   = 320 // spans with names
	maxGapRows = 40  // rows of the table
	callsColor = figure.Color(12)
)

// Palette assigns a colour to each cause of idle time in some runs, the largest first.
func Palette(of ...*Timeline) figure.Palette {
	total := map[string]int64{}
	for _, t := range of {
		for _, s := range t.Steps {
			for _, g := range s.Gaps {
				total[g.Cause] += g.End - g.Start
			}
		}
	}
	p := figure.Palette{}
	for _, cause := range slices.SortedFunc(maps.Keys(total), func(a, b string) int { return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b)) }) {
		p.Color(cause)
	}
	return p
}

func us(ns int64) float64 { return float64(ns) / 1e3 }

// plot draws the step, and returns what it leaves out.
func (s *Step) plot(colors figure.Palette) (p *figure.Timeline, left []string) {
	p = &figure.Timeline{From: us(s.Start), To: us(s.Until), Limit: maxNamed}
	place := make([]int, len(s.Events)) // by event: its track, -1 if it is not drawn
	for i := range place {
		place[i] = -1
	}
	left = s.drawThreads(p, colors, place)
	left = append(left, s.drawGPUs(p, colors, place)...)
	drawn := map[int32]bool{} // a graph launch has one arrow, to the first row that it launched
	for i := range s.Events {
		if e := &s.Events[i]; e.Kind.IsGPU() && e.Launch >= 0 && place[i] >= 0 && place[e.Launch] >= 0 && !drawn[e.Launch] {
			drawn[e.Launch] = true
			call := &s.Events[e.Launch]
			p.Arrows = append(p.Arrows, figure.Arrow{FromTrack: place[e.Launch], From: us(min(call.End, max(call.Start, s.Start))), ToTrack: place[i], To: us(max(e.Start, s.Start))})
		}
	}
	slices.SortFunc(p.Named, func(a, b figure.Series) int { return cmp.Compare(a.Color, b.Color) })
	if s.Left > 0 {
		left = append(left, fmt.Sprintf("%d events after the first %d", s.Left, MaxEvents))
	}
	return p, left
}

// thread is a host thread of a step.
type thread struct {
	id       int64
	launches int
	events   []int // indexes of Step.Events
}

// threads returns the threads of the step, the one that launched most first.
func (s *Step) threads() (all []*thread) {
	at := map[int64]*thread{}
	for i := range s.Events {
		e := &s.Events[i]
		if e.Kind.IsGPU() || e.Thread == None {
			continue
		}
		th := at[e.Thread]
		if th == nil {
			th = &thread{id: e.Thread}
			at[e.Thread] = th
			all = append(all, th)
		}
		th.events = append(th.events, i)
	}
	for i := range s.Events {
		if e := &s.Events[i]; e.Kind.IsGPU() && e.Launch >= 0 {
			if th := at[s.Events[e.Launch].Thread]; th != nil {
				th.launches++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *thread) int {
		return cmp.Or(cmp.Compare(b.launches, a.launches), cmp.Compare(len(b.events), len(a.events)), cmp.Compare(a.id, b.id))
	})
	return all
}

// drawThreads adds the tracks of the threads, and returns what it leaves out.
func (s *Step) drawThreads(p *figure.Timeline, colors figure.Palette, place []int) (left []string) {
	all := s.threads()
	if more := len(all) - maxThreads; more > 0 {
		left = append(left, fmt.Sprintf("%d more threads", more))
		all = all[:maxThreads]
	}
	for _, th := range all {
		s.drawThread(p, th, colors, place)
	}
	return left
}

// kinds are the kinds of rows of a thread that have a track each.
var kinds = []struct {
	kind event.Kind
	name string
}{{event.NVTX, "ranges"}, {event.API, "calls"}, {event.OS, "calls of the system"}, {event.Run, "on a CPU"}, {event.Overhead, "overhead of the driver or profiler"}}

func (s *Step) drawThread(p *figure.Timeline, th *thread, colors figure.Palette, place []int) {
	for _, k := range kinds {
		t := figure.Track{Name: fmt.Sprintf("thread %d: %s", th.id, k.name), Thin: k.kind == event.Run}
		var open []int64 // ends of the open spans
		for _, i := range th.events {
			e := &s.Events[i]
			if e.Kind != k.kind || e.End <= s.Start {
				continue
			}
			for len(open) > 0 && open[len(open)-1] <= e.Start {
				open = open[:len(open)-1]
			}
			depth := len(open)
			if open = append(open, e.End); depth >= maxDepth {
				continue
			}
			name := s.Names[e.Name]
			color := figure.Other
			switch k.kind {
			case event.NVTX:
				color = colors["host:"+marker.Fold(name)]
			case event.API:
				color = callsColor
			}
			t.Depth = max(t.Depth, depth+1)
			t.Spans = append(t.Spans, s.span(e, name, color, depth))
			place[i] = len(p.Tracks)
		}
		if len(t.Spans) > 0 {
			p.Tracks = append(p.Tracks, t)
		}
	}
}

// span returns an event as a span, clipped to the step.
func (s *Step) span(e *Event, name string, color figure.Color, depth int) figure.Span {
	return figure.Span{Name: name, From: us(max(e.Start, s.Start)), To: us(min(e.End, s.Until)), Color: color, Depth: depth}
}

// stream is a stream of a GPU.
type stream struct {
	device int32
	id     int64
	busy   int64
	events []int
}

// streams returns the streams of the step by device, those with the most work first.
func (s *Step) streams() (all []*stream) {
	type key struct {
		device int32
		id     int64
	}
	at := map[key]*stream{}
	for i := range s.Events {
		e := &s.Events[i]
		if !e.Kind.IsGPU() || e.End <= s.Start {
			continue
		}
		k := key{e.Device, e.Stream}
		if at[k] == nil {
			at[k] = &stream{device: e.Device, id: e.Stream}
			all = append(all, at[k])
		}
		at[k].busy += e.End - e.Start
		at[k].events = append(at[k].events, i)
	}
	slices.SortStableFunc(all, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(b.busy, a.busy), cmp.Compare(a.id, b.id))
	})
	return all
}

// drawGPUs adds, for each GPU, its idle time by cause and its streams, and returns what
// it leaves out.
func (s *Step) drawGPUs(p *figure.Timeline, colors figure.Palette, place []int) (left []string) {
	gpus, streams, skipped := 0, 0, 0
	last := int32(-1)
	for _, st := range s.streams() {
		if st.device != last {
			last, streams = st.device, 0
			if gpus++; gpus <= maxGPUs {
				s.drawGaps(p, st.device, colors)
			}
		}
		if streams++; gpus > maxGPUs || streams > maxStreams {
			skipped++
			continue
		}
		name := fmt.Sprintf("GPU %d, stream %s", st.device, number(st.id))
		t := figure.Track{Name: name, Depth: 1}
		for _, i := range st.events {
			e := &s.Events[i]
			t.Spans = append(t.Spans, s.span(e, s.Names[e.Name], figure.Busy, 0))
			place[i] = len(p.Tracks)
		}
		p.Tracks = append(p.Tracks, t)
	}
	if skipped > 0 {
		left = append(left, fmt.Sprintf("%d more streams", skipped))
	}
	return left
}

// number formats a number that may be None.
func number(n int64) string {
	if n == None {
		return "unknown"
	}
	return strconv.FormatInt(n, 10)
}

// gaps returns the gaps of a GPU in order, adjacent ones of one cause, site and why
// joined.
func (s *Step) gaps(device int32) (all []Gap) {
	for _, g := range s.Gaps {
		if g.Device == device && g.Start < g.End {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b Gap) int { return cmp.Compare(a.Start, b.Start) })
	joined := all[:0]
	for _, g := range all {
		if n := len(joined); n > 0 && joined[n-1].End == g.Start && joined[n-1].Cause == g.Cause && joined[n-1].Site == g.Site && joined[n-1].Why == g.Why {
			joined[n-1].End = g.End
			continue
		}
		joined = append(joined, g)
	}
	return joined
}

// title describes a gap.
func (g *Gap) title() string {
	name := g.Cause
	if g.Late != "" {
		name = "waits " + g.Late + ": " + name
	}
	if g.Why != "" {
		name += ", " + g.Why
	}
	if g.Site != "" && g.Cause != "host:"+g.Site {
		name += ", " + g.Site
	}
	return name
}

func (s *Step) drawGaps(p *figure.Timeline, device int32, colors figure.Palette) {
	t := figure.Track{Name: fmt.Sprintf("GPU %d is idle, by cause", device), Depth: 1}
	for _, g := range s.Waits {
		if g.Device == device {
			t.Name = fmt.Sprintf("GPU %d is idle or waits, by cause", device)
			t.Spans = append(t.Spans, figure.Span{Name: g.title(), From: us(g.Start), To: us(g.End), Color: WaitsColor})
		}
	}
	if len(t.Spans) > 0 {
		p.Named = append(p.Named, figure.Series{Name: Waits, Color: WaitsColor})
	}
	for _, g := range s.gaps(device) {
		color := colors[g.Cause]
		t.Spans = append(t.Spans, figure.Span{Name: g.title(), From: us(g.Start), To: us(g.End), Color: color})
		if one := (figure.Series{Name: g.Cause, Color: color}); color != figure.Other && !slices.Contains(p.Named, one) {
			p.Named = append(p.Named, one)
		}
	}
	p.Tracks = append(p.Tracks, t)
}

// table lists the longest gaps of the step, in the order of time.
func (s *Step) table() *report.Table {
	t := &report.Table{OneUnit: true, Columns: []report.Column{
		{Title: "GPU", Kind: report.Count}, {Title: "idle from", Kind: report.Duration}, {Title: "for", Kind: report.Duration}, {Title: "cause", Kind: report.Names},
		{Title: "why", Kind: report.Names, Minor: 1}, {Title: "site", Kind: report.Names, Minor: 2}, {Title: "in", Kind: report.Names, Minor: 3}}}
	devices := map[int32]bool{}
	var all []Gap
	for _, g := range s.Gaps {
		if !devices[g.Device] {
			devices[g.Device] = true
			all = append(all, s.gaps(g.Device)...)
		}
	}
	slices.SortStableFunc(all, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(b.End-b.Start, a.End-a.Start), cmp.Compare(a.Start, b.Start))
	})
	if more := len(all) - maxGapRows; more > 0 {
		t.Title = fmt.Sprintf("The %d longest gaps; %d are shorter", maxGapRows, more)
		all = all[:maxGapRows]
	}
	slices.SortStableFunc(all, func(a, b Gap) int { return cmp.Compare(a.Start, b.Start) })
	for _, g := range all {
		t.Row(report.Int(g.Device), report.Num(us(g.Start-s.Start)), report.Num(us(g.End-g.Start)), report.Str(g.Cause), report.Str(g.Why), report.Str(g.Site), report.Str(g.Path))
	}
	return t
}
