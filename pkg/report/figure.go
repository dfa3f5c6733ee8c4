package report

import (
	"math"
	"strconv"
	"strings"
)

// unit is a unit of time.
type unit struct {
	name string
	us   float64 // length in us
}

// units are the units of durations, largest first.
var units = [...]unit{{"s", 1e6}, {"ms", 1e3}, {"µs", 1}}

// Micros formats a duration in us for a sentence, with three digits.
func Micros(us float64) string {
	if !finite(us) {
		return "?"
	}
	u := unitOf(us)
	return digits(us/u.us) + " " + u.name
}

// finite reports whether a number can be shown.
func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// unitOf returns the largest unit of which a duration, in us, has at least one.
func unitOf(us float64) unit {
	for _, u := range units {
		if math.Abs(us) >= 0.9995*u.us {
			return u
		}
	}
	return units[len(units)-1]
}

// Percent formats a ratio for a sentence.
func Percent(ratio float64) string { return fixed(100*ratio, percentDecimals) + " %" }

const percentDecimals = 1

// Change formats relative growth: as a percentage, or from tenfold on as the new
// multiple, "×4953", since nobody reads "+495262.5 %".
func Change(ratio float64) string {
	if ratio >= 10 && finite(ratio) {
		return "×" + digits(1+ratio)
	}
	return Signed(Percent(ratio))
}

// Signed puts a plus sign before a figure that grew.
func Signed(shown string) string {
	if shown == "" || strings.ContainsAny(shown[:1], "-+?<>") || strings.Trim(strings.Fields(shown)[0], "0.") == "" {
		return shown
	}
	return "+" + shown
}

// Digits formats a number for a sentence: an integer as it is, any other with three
// digits.
func Digits(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return fixed(x, 0)
	}
	return digits(x)
}

// digits formats a number with three digits, at most two of them after the point, and
// all digits before it.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a == 0:
		return "0"
	case a >= 99.95:
		return fixed(x, 0)
	case a >= 9.995:
		return fixed(x, 1)
	}
	return fixed(x, 2)
}

// fixed formats a number with that many decimals. A value that is not zero is never
// shown as zero, but as less than the least that can be shown.
func fixed(x float64, decimals int) string {
	switch {
	case !finite(x):
		return "?"
	case x != 0 && math.Abs(x) < 0.5*math.Pow10(-decimals):
		least := strconv.FormatFloat(math.Pow10(-decimals), 'f', decimals, 64)
		if x < 0 {
			return "> -" + least
		}
		return "< " + least
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// scale is the format of the numbers of a column.
type scale struct {
	unit     unit // of durations
	decimals int
}

// maxDecimals is the most decimals of a column.
const maxDecimals = 3

// scaleOf chooses the scale for numbers. The largest number has at least one unit.
// There are as many decimals as the smallest needs for three digits, but the largest
// has at most four digits, unless the smallest would then have none. If largest and
// smallest are too far apart for that, the column takes the unit of the smaller ones.
func scaleOf(numbers []float64, durations bool) scale {
	least, most := math.Inf(1), 0.0
	for _, x := range numbers {
		if a := math.Abs(x); a != 0 && !math.IsInf(a, 0) {
			least, most = min(least, a), max(most, a)
		}
	}
	s := scale{unit: unit{us: 1}}
	if durations {
		s.unit = unitOf(most)
		if most > 0 && least < 0.5e-3*s.unit.us {
			s.unit = unitOf(max(least, most/1e6))
		}
	}
	if most == 0 {
		return s
	}
	most, least = most/s.unit.us, least/s.unit.us
	s.decimals = min(max(min(2-magnitude(least), 3-magnitude(most)), -magnitude(least), 0), maxDecimals)
	return s
}

// magnitude returns the power of ten of a number's first digit.
func magnitude(x float64) int { return int(math.Floor(math.Log10(x * (1 + 1e-9)))) }

// show formats a number of a column.
func (s scale) show(c *Column, x float64) string {
	var text string
	switch c.Kind {
	case Ratio:
		text = fixed(100*x, percentDecimals)
	case Count:
		text = fixed(x, 0)
	default:
		text = fixed(x/s.unit.us, s.decimals)
	}
	if c.Signed {
		text = Signed(text)
	}
	return text
}

// cell formats a cell of a column.
func (s scale) cell(c *Column, v *Cell) string {
	var text string
	switch v.kind {
	case missing:
		return "-"
	case words, label:
		return printable(v.text)
	case number:
		if c.Kind == Ratio && c.Signed {
			return Change(v.low)
		}
		text = s.show(c, v.low)
	case interval:
		if !finite(v.low) && !finite(v.high) {
			return "unknown"
		}
		text = s.show(c, v.low) + " to " + s.show(c, v.high)
	}
	if c.Kind == Ratio {
		text += " %"
	}
	return text
}
