package figure

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Steps shows a value over the steps of a run: a stack of parts, and around their sum
// the range of single steps. Slices of numbers have one value per bin.
type Steps struct {
	X      string      // what a bin is, such as "step"
	Labels []string    // of the bins
	Series []Series    // of the parts, lowest first
	Parts  [][]float64 // means, by series
	// Low, Median and High are of the sum of the parts; nil if not shown.
	Low, Median, High []float64
}

const (
	stepsHeight = 240
	maxPointed  = 3 // parts named in a bin's tooltip, largest first
)

func (p *Steps) class() string   { return "scaled" }
func (p *Steps) height() float64 { return stepsHeight + axisRoom }

func (p *Steps) legend() []Series {
	all := p.Series
	if p.High != nil {
		all = append(all[:len(all):len(all)], Series{"median step", Ink}, Series{"minimum and maximum", Other})
	}
	return all
}

// top returns the greatest value.
func (p *Steps) top() (top float64) {
	for k := range p.Labels {
		sum := 0.0
		for _, part := range p.Parts {
			sum += part[k]
		}
		top = max(top, sum)
		if p.High != nil {
			top = max(top, p.High[k])
		}
	}
	return top
}

func (p *Steps) draw(c *canvas) {
	a := newAxis(Micros, 0, p.top()*1.04, 4)
	y := func(v float64) float64 { return stepsHeight * (1 - a.at(v)) }
	c.stretched(len(p.Labels), stepsHeight)
	sums := make([]float64, len(p.Labels))
	for k, s := range p.Series {
		before := append([]float64(nil), sums...)
		for i := range sums {
			sums[i] += p.Parts[k][i]
		}
		var b strings.Builder // the area between two rows of values
		stairs(&b, sums, y, false)
		stairs(&b, before, y, true)
		c.Empty("path", "class", s.Color.class(), "d", b.String()+"Z")
	}
	if p.High != nil {
		c.path("k0 thin", p.Low, y)
		c.path("k0 thin", p.High, y)
	}
	if p.Median != nil {
		c.path("k12 thin", p.Median, y)
	}
	c.Close()
	a.beside(c, y)
	p.hits(c)
}

// hits writes the tooltips and the labels of bins.
func (p *Steps) hits(c *canvas) {
	n := float64(len(p.Labels))
	for i, label := range p.Labels {
		var b strings.Builder
		b.WriteString(p.X + " " + label)
		if p.High != nil {
			b.WriteString(": " + Micros.Show(p.Median[i]) + " (" + Micros.Show(p.Low[i]) + " to " + Micros.Show(p.High[i]) + ")")
		}
		largest := make([]int, len(p.Series))
		for k := range largest {
			largest[k] = k
		}
		slices.SortStableFunc(largest, func(k, l int) int { return cmp.Compare(p.Parts[l][i], p.Parts[k][i]) })
		for _, k := range largest[:min(maxPointed, len(largest))] {
			b.WriteString("; " + short(p.Series[k].Name, maxLabel) + " " + Micros.Show(p.Parts[k][i]))
		}
		c.rect("hit", float64(i)/n, 0, 1/n, stepsHeight, b.String())
	}
	c.bins(p.X, p.Labels, stepsHeight)
}

// bins writes the labels of the first, middle and last bin.
func (c *canvas) bins(what string, labels []string, y float64) {
	last := len(labels) - 1
	if last < 0 {
		return
	}
	c.text("tick", atStart, 0, y+15, what+" "+labels[0])
	if last >= 2 {
		c.text("tick minor", atMiddle, 0.5, y+15, labels[(last+1)/2])
	}
	if last >= 1 {
		c.text("tick", atEnd, 1, y+15, labels[last])
	}
}

// stretched opens a drawing in which a bin has width 1.
func (c *canvas) stretched(bins int, height float64) {
	c.Open("svg", "x", "0", "y", "0", "width", "100%", "height", Num(height), "viewBox", "0 0 "+strconv.Itoa(bins)+" "+Num(height),
		"preserveAspectRatio", "none", "aria-hidden", "true")
}

// path draws a row of values.
func (c *canvas) path(class string, values []float64, y func(float64) float64) {
	var b strings.Builder
	stairs(&b, values, y, false)
	c.Empty("path", "class", class, "d", b.String())
}

// stairs writes a line that is level within each bin, from left to right, or back.
func stairs(b *strings.Builder, values []float64, y func(float64) float64, back bool) {
	for i := range values {
		switch k := len(values) - 1 - i; {
		case back:
			b.WriteString("V" + pixel(y(values[k])) + "h-1")
		case i == 0:
			b.WriteString("M0 " + pixel(y(values[0])) + "h1")
		default:
			b.WriteString("V" + pixel(y(values[i])) + "h1")
		}
	}
}

// pixel formats a coordinate, fine enough for a screen.
func pixel(y float64) string { return strconv.FormatFloat(math.Round(y*10)/10, 'f', -1, 64) }
