package figure

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Timeline shows what happened when, with a track for each thing that did one at a
// time.
type Timeline struct {
	From, To float64  // range shown, microseconds
	Tracks   []Track  // from the top down
	Arrows   []Arrow  // from launches to what they launched
	Named    []Series // colours that the legend names
	// Limit is how many of the longest spans are drawn individually, 0 for maxSpans.
	// The others are drawn without names.
	Limit int
}

// Track is what one thing did.
type Track struct {
	Name  string // hostile if it comes from a trace
	Spans []Span // in any order
	// Depth is the number of rows of the track: nested spans are below one another.
	Depth int
	Thin  bool // spans show no names
}

// Span is something that took time.
type Span struct {
	Name     string  // hostile
	From, To float64 // microseconds
	Color    Color   // of its mark
	Depth    int     // from 0
}

// Arrow goes from one track to another.
type Arrow struct {
	FromTrack, ToTrack int     // indices of tracks
	From, To           float64 // start and end, microseconds
}

// Sizes in pixels, and limits.
const (
	trackText  = 18
	trackRow   = 18
	thinRow    = 10
	trackAfter = 8
	maxSpans   = 900
	maxArrows  = 80
	minSpan    = 0.0006 // share of the width below which a span shows no name
	smallest   = 1500   // number of slots across the width in which short spans are drawn
)

func (t *Track) row() float64 {
	if t.Thin {
		return thinRow
	}
	return trackRow
}

func (t *Track) height() float64 { return trackText + t.row()*float64(max(t.Depth, 1)) + trackAfter }

func (p *Timeline) class() string    { return "wide timeline" }
func (p *Timeline) legend() []Series { return p.Named }

func (p *Timeline) height() float64 { return p.bottom() + axisRoom }

func (p *Timeline) bottom() (y float64) {
	for i := range p.Tracks {
		y += p.Tracks[i].height()
	}
	return y
}

// quota decides which spans are drawn individually: those longer than length, and at
// most equal spans of exactly that length.
type quota struct {
	length float64
	equal  int
}

func (p *Timeline) quota() quota {
	var all []float64
	for i := range p.Tracks {
		for _, s := range p.Tracks[i].Spans {
			all = append(all, s.To-s.From)
		}
	}
	limit := cmp.Or(p.Limit, maxSpans)
	if len(all) <= limit {
		return quota{length: -1}
	}
	slices.Sort(all)
	q := quota{length: all[len(all)-limit]}
	longer, _ := slices.BinarySearch(all, math.Nextafter(q.length, math.Inf(1)))
	q.equal = limit - (len(all) - longer)
	return q
}

// holds reports whether a span is drawn individually. It must be called once per span.
func (q *quota) holds(s *Span) bool {
	length := s.To - s.From
	if length == q.length && q.equal > 0 {
		q.equal--
		return true
	}
	return length > q.length
}

func (p *Timeline) draw(c *canvas) {
	bottom := p.bottom()
	a := newAxis(Micros, 0, p.To-p.From, 6)
	c.Open("svg", "class", "zoom", "x", "0", "y", "0", "width", "100%", "height", "100%", "data-us", Num(p.To-p.From), "data-y", Num(bottom))
	c.Open("g", "class", "ticks")
	a.below(c, bottom)
	c.Close()
	single, y := p.quota(), 0.0
	tops := make([]float64, len(p.Tracks))
	for i := range p.Tracks {
		tops[i] = y + trackText
		p.spans(c, &p.Tracks[i], tops[i], &single)
		y += p.Tracks[i].height()
	}
	every := max(1, (len(p.Arrows)+maxArrows-1)/maxArrows)
	for i := 0; i < len(p.Arrows); i += every {
		a := &p.Arrows[i]
		from, to := &p.Tracks[a.FromTrack], tops[a.ToTrack]
		c.line("arrow", p.x(a.From), tops[a.FromTrack]+from.row()*float64(max(from.Depth, 1))-2, p.x(a.To), to)
	}
	c.Close()
	for i := range p.Tracks {
		c.name(tops[i]-5, p.Tracks[i].Name)
	}
}

// x returns the position of a time, from 0 to 1.
func (p *Timeline) x(t float64) float64 {
	if !(p.To > p.From) {
		return 0
	}
	return min(max((t-p.From)/(p.To-p.From), 0), 1)
}

// spans draws the spans of a track: long ones with their names, the others as one path
// per row and colour.
func (p *Timeline) spans(c *canvas, t *Track, top float64, single *quota) {
	small := map[place][]bool{}
	var places []place
	for i := range t.Spans {
		s := &t.Spans[i]
		x, end := p.x(s.From), p.x(s.To)
		if single.holds(s) {
			p.span(c, t, s, x, top, end-x)
			continue
		}
		at := place{s.Depth, s.Color}
		row := small[at]
		if row == nil {
			row = make([]bool, smallest+1)
			small[at] = row
			places = append(places, at)
		}
		for k := int(x * smallest); k <= int(end*smallest); k++ {
			row[k] = true
		}
	}
	for _, at := range places {
		c.Open("svg", "x", "0", "y", Num(top+t.row()*float64(at.depth)), "width", "100%", "height", Num(t.row()-2),
			"viewBox", "0 0 "+strconv.Itoa(smallest)+" 1", "preserveAspectRatio", "none")
		c.Empty("path", "class", at.color.class(), "d", comb(small[at]))
		c.Close()
	}
}

// place is a row of a track, in one colour.
type place struct {
	depth int
	color Color
}

// comb returns a path of the marked slots.
func comb(marked []bool) string {
	var b strings.Builder
	for k := 0; k < len(marked); k++ {
		from := k
		for k < len(marked) && marked[k] {
			k++
		}
		if n := strconv.Itoa(k - from); k > from {
			b.WriteString("M" + strconv.Itoa(from) + " 0h" + n + "v1h-" + n + "z")
		}
	}
	return b.String()
}

func (p *Timeline) span(c *canvas, t *Track, s *Span, x, top, width float64) {
	y, height := top+t.row()*float64(s.Depth), t.row()-2
	title := short(s.Name, 100) + ": " + Micros.Show(s.To-s.From) + ", from " + Micros.Show(s.From-p.From)
	if t.Thin || width < minSpan {
		c.rect(s.Color.class(), x, y, max(width, 0.0002), height, title)
		return
	}
	c.Open("svg", "class", "node", "x", Share(x), "y", Num(y), "width", Share(width), "height", Num(height))
	c.Leaf("title", title)
	c.Empty("rect", "class", s.Color.class()+" pale", "width", "100%", "height", "100%")
	c.Leaf("text", short(s.Name, 40), "x", "3", "y", "12")
	c.Close()
}
