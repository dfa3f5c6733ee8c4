package figure

import (
	"math"
)

// Sizes in pixels of plots with one row per thing: a line of text, and a drawing below
// it.
const (
	rowHeight = 46
	rowText   = 16 // base line of the text
	rowTop    = 23 // top of the drawing
	rowBar    = 14 // its height
	axisRoom  = 22
)

// Intervals shows ratios with their uncertainty, relative to limits. The axis is from 0
// to 1.
type Intervals struct {
	Rows []Interval // from the top down
}

// Interval is a row of Intervals.
type Interval struct {
	Label string   // hostile if it comes from a trace
	Value *float64 // nil if unknown; nothing is drawn then
	// Low and High are the 95 % interval of the value, nil if unknown. An end outside of
	// the axis extends to the edge of the plot.
	Low, High *float64
	Limit     *float64 // nil if there is none
	Below     bool     // values below the limit are over it
	Text      string   // at the end of the label's line
	More      string   // after Text, if there is room
	Color     Color    // of its marks
}

func (p *Intervals) class() string    { return "rows" }
func (p *Intervals) legend() []Series { return nil }
func (p *Intervals) height() float64  { return rowHeight*float64(len(p.Rows)) + axisRoom }

func (p *Intervals) draw(c *canvas) {
	a := newAxis(Ratio, 0, 1, 5)
	a.below(c, rowHeight*float64(len(p.Rows)))
	for i := range p.Rows {
		p.Rows[i].draw(c, &a, rowHeight*float64(i))
	}
}

// known reports whether the interval is known.
func (r *Interval) known() bool {
	return r.Value != nil && r.Low != nil && r.High != nil && !math.IsNaN(*r.Low) && !math.IsNaN(*r.High)
}

func (r *Interval) draw(c *canvas, a *axis, y float64) {
	c.label(y, r.Label, r.Text, r.More)
	top := y + rowTop
	if r.Limit != nil {
		at := a.at(*r.Limit)
		if r.Below {
			c.rect("beyond", 0, top, at, rowBar, "")
		} else {
			c.rect("beyond", at, top, 1-at, rowBar, "")
		}
	}
	if r.Value != nil {
		at, class := a.at(*r.Value), r.Color.class()
		c.rect(class+" faint", 0, top+rowBar/2-3, at, 6, "")
		if r.known() {
			low, high := a.at(*r.Low), a.at(*r.High)
			c.line(class+" whisker", low, top+rowBar/2, high, top+rowBar/2)
			c.line(class+" end", low, top+2, low, top+rowBar-2)
			c.line(class+" end", high, top+2, high, top+rowBar-2)
		}
		c.Empty("circle", "class", class+" dot", "cx", Share(at), "cy", Num(top+rowBar/2), "r", "4.5")
	}
	if r.Limit != nil {
		c.line("limit", a.at(*r.Limit), top-2, a.at(*r.Limit), top+rowBar+2)
	}
}

// label writes the line of a row: its name, and at the end text, followed by more if
// there is room.
func (c *canvas) label(y float64, name, text, more string) {
	c.name(y+rowText, name)
	c.Open("text", "class", "value", "text-anchor", atEnd, "x", "100%", "y", Num(y+rowText))
	c.Text(short(text, maxFull))
	if more != "" {
		c.Leaf("tspan", " "+short(more, maxFull), "class", "aside")
	}
	c.Close()
}

// Bars shows what several things consist of, one below the other.
type Bars struct {
	Series []Series // of the parts, in us
	Rows   []Bar    // from the top down
	Named  bool     // the legend names the colours of the series
	Low    float64  // start of the axis; nothing below it is drawn
}

// Zoom moves the start of the axis just before the least end of a bar, if all bars end
// in its last third.
func (p *Bars) Zoom() {
	_, high := p.ends()
	low := high
	for _, r := range p.Rows {
		end := r.From
		for _, part := range r.Parts {
			end += part
		}
		low = min(low, end)
	}
	if low > 2*(high-low) && high-low > 1e-6*high {
		p.Low = low - (high-low)/4
	}
}

// ends returns the least and the greatest value that a bar reaches.
func (p *Bars) ends() (low, high float64) {
	for _, r := range p.Rows {
		at := r.From
		low, high = min(low, at), max(high, at)
		for _, part := range r.Parts {
			at += part
			low, high = min(low, at), max(high, at)
		}
	}
	return low, high
}

// Bar is a row of Bars.
type Bar struct {
	Label string // hostile if it comes from a trace
	// From is where the bar begins: 0, except in a waterfall, whose parts may be
	// negative.
	From  float64
	Parts []float64 // one per series
	Text  string    // at the end of the label's line
	More  string    // after Text, if there is room
}

func (p *Bars) class() string   { return "rows" }
func (p *Bars) height() float64 { return rowHeight*float64(len(p.Rows)) + axisRoom }

func (p *Bars) legend() []Series {
	if !p.Named {
		return nil
	}
	return p.Series
}

func (p *Bars) draw(c *canvas) {
	low, high := p.ends()
	a := newAxis(Micros, max(low, p.Low), high, 8)
	a.below(c, rowHeight*float64(len(p.Rows)))
	for i, r := range p.Rows {
		y := rowHeight * float64(i)
		c.label(y, r.Label, r.Text, r.More)
		at := r.From
		for k, part := range r.Parts {
			if part != 0 {
				x, end := a.at(min(at, at+part)), a.at(max(at, at+part))
				c.rect(p.Series[k].Color.class(), x, y+rowTop, max(end-x, 0.001), rowBar, p.Series[k].Name+": "+Micros.Show(part))
			}
			at += part
		}
	}
}
