// Package figure draws data as SVG in an HTML page, and writes weighted stacks in
// formats that flame graph viewers open.
//
// # What a figure is
//
// A Plot is data only: numbers with a unit, names, and colours as numbers of a palette.
// Every plot has its table elsewhere on the page (package report). So a drawing may
// leave out what is too small to see, and a sentence describes it to readers who do not
// see it.
//
// # How it is drawn
//
// A drawing is as wide as its place on the page, and its text as large as the page's,
// from a telephone to a wide screen: horizontal positions are percentages of the width,
// vertical ones pixels. Names are above what they name, not beside it. Only labels of a
// vertical axis are outside, in a margin that the page's style leaves. Colours are
// classes (k1, k2, …) that the style of the page defines, for light and for dark.
//
// Equal data give equal bytes.
//
// # Stacks
//
// A stack says where some exposed idle time of GPUs is. Its frames are, from the root:
// the rank; the phase of the step; the cause; for causes on the host, why the launching
// thread was stalled; the ranges around it, outermost first; the call that it was in or
// the kernel that ended the wait; and the functions that the thread was in, if known.
// Weights are whole nanoseconds; those of all stacks add up to the idle time of the
// window. Known waits in collectives are stacks with the cause "waits in collectives",
// followed by what the late rank was idle for.
//
// # Formats of stacks, by file extension
//
//	.folded           collapsed stacks, a line each: a;b;c WEIGHT
//	.pb.gz            pprof: sample types samples/count (CPU samples, or places without any)
//	                  and gpu_idle/nanoseconds (the default), labels rank, device, phase,
//	                  cause, why, evidence
//	.speedscope.json  speedscope's file format, one sampled profile in nanoseconds
//
// Equal stacks give equal bytes: stacks with the same frames are merged and sorted by
// frames, and no time of writing is stored. In names, what would end a frame or a line
// is replaced.
package figure

import (
	"math"
	"strconv"
)

// Plot is something that can be drawn: *Intervals, *Bars, *Steps, *Flame, *Timeline or
// *Lines.
type Plot interface {
	// legend names the colours, nil if they mean nothing.
	legend() []Series
	// height returns the height of the drawing in pixels.
	height() float64
	draw(*canvas)
	// class returns the name by which the page's style and script refer to the plot.
	class() string
}

// Color is a colour of the palette. Colours 1 to Colors are for named things and can be
// distinguished by colour-blind readers.
type Color int8

// Colors with a fixed meaning.
const (
	Other  Color = 0                 // anything without a colour of its own
	Colors Color = 8                 // the last colour of the palette
	Busy   Color = Colors + iota - 1 // work of a GPU
	Good                             // less of something bad
	Bad                              // more of it, or over a limit
	Ink                              // the colour of text
)

// class returns the name of a colour in the page's style.
func (c Color) class() string { return "k" + strconv.Itoa(int(c)) }

// Palette assigns colours to names, in order of request.
type Palette map[string]Color

// Color returns the colour of a name, Other if none are left.
func (p Palette) Color(name string) Color {
	c, ok := p[name]
	if !ok && len(p) < int(Colors) {
		c = Color(len(p) + 1)
		p[name] = c
	}
	return c
}

// Series is a name with a colour.
type Series struct {
	Name  string // hostile if it comes from a trace
	Color Color  // of its marks
}

// maxLabel is the most characters of a name in a label: more would not fit on a
// telephone.
const maxLabel = 42

// Draw returns a plot with its legend as HTML. id must be unique on the page; title and
// alt say what the plot shows.
func Draw(p Plot, id, title, alt string) []byte {
	w := &Writer{}
	c := &canvas{Writer: w}
	c.drawLegend(p.legend())
	w.Open("div", "class", "plot "+p.class())
	w.Open("svg", "role", "img", "aria-labelledby", id+"t "+id+"d", "width", "100%", "height", Num(p.height()))
	w.Leaf("title", title, "id", id+"t")
	w.Leaf("desc", alt, "id", id+"d")
	p.draw(c)
	w.Close()
	w.Close()
	return w.Bytes()
}

// canvas is what plots are drawn on.
type canvas struct{ *Writer }

func (c *canvas) drawLegend(all []Series) {
	if len(all) == 0 {
		return
	}
	c.Open("ul", "class", "legend")
	for _, s := range all {
		c.Open("li")
		c.Open("svg", "width", "12", "height", "12", "aria-hidden", "true")
		c.Empty("rect", "width", "12", "height", "12", "class", s.Color.class())
		c.Close()
		c.Text(" " + short(s.Name, maxLabel))
		c.Close()
	}
	c.Close()
}

// rect draws a bar from x to x+width, both shares of the plot's width. title is its
// tooltip, "" for none.
func (c *canvas) rect(class string, x, y, width, height float64, title string) {
	attrs := []string{"class", class, "x", Share(x), "y", Num(y), "width", Share(max(width, 0)), "height", Num(height)}
	if title == "" {
		c.Empty("rect", attrs...)
		return
	}
	c.Open("rect", attrs...)
	c.Leaf("title", short(title, maxFull))
	c.Close()
}

// line draws a line between two points; x is a share.
func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.Empty("line", "class", class, "x1", Share(x1), "y1", Num(y1), "x2", Share(x2), "y2", Num(y2))
}

// Text anchors.
const (
	atStart  = ""
	atMiddle = "middle"
	atEnd    = "end"
)

// text writes a label; x is a share.
func (c *canvas) text(class, anchor string, x, y float64, s string) {
	attr := ""
	if anchor != atStart {
		attr = "text-anchor"
	}
	c.Leaf("text", short(s, maxFull), "class", class, attr, anchor, "x", Share(x), "y", Num(y))
}

// name writes a name at the left edge: short, with the full name as a tooltip.
func (c *canvas) name(y float64, s string) {
	label := short(s, maxLabel)
	c.Open("text", "class", "name", "x", Share(0), "y", Num(y))
	if label != s {
		c.Leaf("title", short(s, maxFull))
	}
	c.Text(label)
	c.Close()
}

// maxFull is the most characters of a name shown in full.
const maxFull = 300

// short cuts the middle of a long name, whose ends say most.
func short(s string, to int) string {
	r := []rune(s)
	if len(r) <= to {
		return s
	}
	tail := (to - 1) / 2
	return string(r[:to-1-tail]) + "…" + string(r[len(r)-tail:])
}

// axis maps values to shares of the width or height.
type axis struct {
	unit      Unit
	low, high float64
	step      float64 // distance between ticks
	ticks     []float64
}

// newAxis returns an axis from low to high with about n ticks.
func newAxis(u Unit, low, high float64, n int) axis {
	if !(high > low) {
		high = low + 1
	}
	step := nice((high - low) / float64(n))
	a := axis{unit: u, low: low, high: high, step: step}
	for x := math.Ceil(low/step-1e-9) * step; x <= high+step*1e-9; x += step {
		a.ticks = append(a.ticks, math.Round(x/step)*step+0) // avoids -0
	}
	return a
}

// nice returns the least number of the form 1, 2 or 5 times a power of ten that is not
// less than x.
func nice(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, k := range []float64{1, 2, 5} {
		if x <= k*power*(1+1e-9) {
			return k * power
		}
	}
	return 10 * power
}

// label returns the label of a tick. All labels of an axis have the same unit, and
// enough decimals to differ.
func (a *axis) label(x float64) string {
	by, unit := 1.0, " µs"
	switch most := max(math.Abs(a.ticks[0]), math.Abs(a.ticks[len(a.ticks)-1])); {
	case a.unit == Ratio:
		by, unit = 0.01, " %"
	case most >= 1e6:
		by, unit = 1e6, " s"
	case most >= 1e3:
		by, unit = 1e3, " ms"
	}
	decimals := max(0, -int(math.Floor(math.Log10(a.step/by)+1e-9)))
	return strconv.FormatFloat(x/by, 'f', decimals, 64) + unit
}

// at returns the position of a value, from 0 to 1; values outside are at the ends.
func (a *axis) at(x float64) float64 {
	return min(max((x-a.low)/(a.high-a.low), 0), 1)
}

// below draws the ticks of a horizontal axis, with labels below y and lines up to the
// top of the canvas.
func (a *axis) below(c *canvas, y float64) {
	for i, x := range a.ticks {
		at, anchor := a.at(x), atMiddle
		switch {
		case at < 0.03:
			anchor = atStart
		case at > 0.97:
			anchor = atEnd
		}
		c.line("grid", at, 0, at, y)
		if class := "tick"; i%2 == 1 && len(a.ticks) > 5 {
			c.text(class+" minor", anchor, at, y+15, a.label(x))
		} else {
			c.text(class, anchor, at, y+15, a.label(x))
		}
	}
}

// beside draws the ticks of a vertical axis, with labels left of the plot.
func (a *axis) beside(c *canvas, y func(float64) float64) {
	for _, t := range a.ticks {
		c.line("grid", 0, y(t), 1, y(t))
		c.Leaf("text", a.label(t), "class", "tick", "text-anchor", atEnd, "x", "-6", "y", Num(y(t)+4))
	}
}

// Unit is the unit of numbers.
type Unit int8

// The units.
const (
	Micros Unit = iota // microseconds
	Ratio              // shares, shown in percent
)

// Show formats a number with its unit, with three digits.
func (u Unit) Show(x float64) string {
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x):
		return "?"
	case u == Ratio:
		return digits(100*x) + " %"
	case math.Abs(x) >= 999.5e3:
		return digits(x/1e6) + " s"
	case math.Abs(x) >= 999.5:
		return digits(x/1e3) + " ms"
	}
	return digits(x) + " µs"
}

// digits formats a number with three digits, and all digits before the point.
func digits(x float64) string {
	decimals := 2
	switch a := math.Abs(x); {
	case a >= 99.95 || a == 0:
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}
