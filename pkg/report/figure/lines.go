package figure

import (
	"fmt"
	"math"
	"strings"
)

// Lines shows several series of values over the same bins. Its axis fits the values and
// need not begin at 0.
type Lines struct {
	First, End string      // labels of the first and the last bin
	Series     []Series    // one per line
	Values     [][]float64 // by series, one value per bin
}

const linesHeight = 160

func (p *Lines) class() string    { return "scaled" }
func (p *Lines) legend() []Series { return p.Series }
func (p *Lines) height() float64  { return linesHeight + axisRoom }

// Low returns where the axis begins: at 0, or below the least value if that is greater
// than twice the range of values.
func (p *Lines) Low() float64 {
	low, high := p.ends()
	if low > 2*(high-low) && high > low {
		return low - (high-low)/4
	}
	return 0
}

// ends returns the least and the greatest value.
func (p *Lines) ends() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, values := range p.Values {
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

func (p *Lines) draw(c *canvas) {
	low, high := p.ends()
	a := newAxis(Micros, p.Low(), high+(high-low)*0.04, 4)
	y := func(v float64) float64 { return linesHeight * (1 - a.at(v)) }
	bins := len(p.Values[0])
	c.stretched(bins, linesHeight)
	for k, s := range p.Series {
		c.path(s.Color.class()+" outline", p.Values[k], y)
	}
	c.Close()
	a.beside(c, y)
	for i := range bins {
		var b strings.Builder
		fmt.Fprintf(&b, "part %d of %d", i+1, bins)
		for k, s := range p.Series {
			b.WriteString("; " + short(s.Name, maxLabel) + " " + Micros.Show(p.Values[k][i]))
		}
		c.rect("hit", float64(i)/float64(bins), 0, 1/float64(bins), linesHeight, b.String())
	}
	c.text("tick", atStart, 0, linesHeight+15, p.First)
	c.text("tick", atEnd, 1, linesHeight+15, p.End)
}
