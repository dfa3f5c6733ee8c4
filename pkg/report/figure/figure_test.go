package figure

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// plots are one of each kind, with a name in every place that has one and values of a
// scale.
func plots(name string, x float64) map[string]Plot {
	series := []Series{{name, 1}, {"b", Busy}}
	low, high, unknown := x, math.Inf(1), math.NaN()
	root := Node{Name: name, Value: 3 * x}
	root.Part(name).Value = 2 * x
	root.Part(name).Part("c").Value = x
	return map[string]Plot{
		"intervals": &Intervals{Rows: []Interval{
			{Label: name, Value: &x, Low: &low, High: &high, Limit: &x, Text: name, More: name},
			{Label: "no value"}, {Label: "unknown", Value: &x, Low: &unknown, High: &unknown, Below: true}}},
		"bars":  &Bars{Series: series, Named: true, Rows: []Bar{{Label: name, Parts: []float64{x, 2 * x}, Text: name}, {Label: "less", From: 3 * x, Parts: []float64{-x, 0}}}},
		"steps": &Steps{X: name, Labels: []string{name, "2", "3"}, Series: series, Parts: [][]float64{{x, 0, x}, {x, x, 2 * x}}, Low: []float64{x, x, x}, Median: []float64{x, 2 * x, x}, High: []float64{x, 9 * x, x}},
		"lines": &Lines{First: name, End: "end", Series: series, Values: [][]float64{{x, 2 * x, x}, {x, x, 2 * x}}},
		"flame": &Flame{Root: root},
		"timeline": &Timeline{From: x, To: 4 * x, Tracks: []Track{
			{Name: name, Depth: 2, Spans: []Span{{Name: name, From: x, To: 3 * x}, {Name: name, From: x, To: 2 * x, Depth: 1}, {Name: "beyond", From: 0, To: 9 * x}}},
			{Name: "thin", Thin: true, Spans: []Span{{Name: name, From: x, To: x}}}},
			Arrows: []Arrow{{0, 1, x, 2 * x}}, Named: series},
	}
}

// check parses a drawing: it is well-formed, and no coordinate is a number that is none.
// It returns how many elements of each name there are.
func check(t *testing.T, drawing []byte) map[string]int {
	t.Helper()
	count := map[string]int{}
	dec := xml.NewDecoder(strings.NewReader(string(drawing)))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return count
		} else if err != nil {
			t.Fatalf("%v in %s", err, drawing)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		count[e.Name.Local]++
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "x", "y", "width", "height", "x1", "x2", "y1", "y2", "cx", "cy":
				v, err := strconv.ParseFloat(strings.TrimSuffix(a.Value, "%"), 64)
				if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < -6 || strings.HasSuffix(a.Value, "%") && v > 100 {
					t.Errorf("%s: %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			case "d":
				if strings.ContainsAny(a.Value, "NI") {
					t.Errorf("path %s", a.Value)
				}
			}
		}
	}
}

// Every kind of plot has marks at any scale, also where all is 0, and a title and a
// description that its drawing refers to.
func TestPlots(t *testing.T) {
	for _, x := range []float64{1, 1e-9, 1e12, 0} {
		for kind, p := range plots("a", x) {
			drawing := Draw(p, "f1", "title", "alt")
			count := check(t, drawing)
			if marks := count["rect"] + count["path"] + count["circle"]; marks == 0 && x > 0 || count["title"] == 0 || count["desc"] != 1 {
				t.Errorf("%s of %g: %v in %s", kind, x, count, drawing)
			}
			if !strings.Contains(string(drawing), `aria-labelledby="f1t f1d"`) {
				t.Errorf("%s: %s", kind, drawing)
			}
		}
	}
}

// Names make no elements and are cut where they are long; equal data make equal bytes.
func TestHostileNames(t *testing.T) {
	plain := plots("x", 1)
	for _, name := range []string{`<script>alert(1)</script>`, `"/><image href="http://x"/>`, "]]>", "</title></svg>", "\x1b[31m\x00\u202e", "'", "&lt;", strings.Repeat("y", 1<<20)} {
		for kind, p := range plots(name, 1) {
			drawing := Draw(p, "f1", name[:min(len(name), 100)], name[:min(len(name), 100)])
			if string(drawing) != string(Draw(plots(name, 1)[kind], "f1", name[:min(len(name), 100)], name[:min(len(name), 100)])) {
				t.Errorf("%s: two drawings differ", kind)
			}
			got, want := check(t, drawing), check(t, Draw(plain[kind], "f1", "x", "x"))
			for _, e := range []string{"rect", "svg", "text", "path", "script", "image"} {
				if got[e] != want[e] {
					t.Errorf("%s: %.40q makes %d elements %s, want %d", kind, name, got[e], e, want[e])
				}
			}
			if len(drawing) > 20_000 {
				t.Errorf("%s: %d bytes", kind, len(drawing))
			}
		}
	}
}

// What is drawn of many things is bounded.
func TestBounded(t *testing.T) {
	root := Node{Value: 1e6}
	line := &Timeline{To: 1e6, Tracks: []Track{{Depth: 1}, {Depth: 1}}}
	for i := range 100_000 {
		x := float64(i)
		if i%100 == 0 {
			root.Parts = append(root.Parts, Node{Name: fmt.Sprintf("some::long::name<%d>", i), Value: 1000})
		}
		line.Tracks[i%2].Spans = append(line.Tracks[i%2].Spans, Span{Name: "some::long::name", From: 10 * x, To: 10*x + float64(i%10), Color: Color(i % 5)})
		line.Arrows = append(line.Arrows, Arrow{0, 1, 10 * x, 10*x + 5})
	}
	for kind, p := range map[string]Plot{"flame": &Flame{Root: root}, "timeline": line} {
		drawing := Draw(p, "f1", "", "")
		check(t, drawing)
		if len(drawing) > 400_000 {
			t.Errorf("%s: %d bytes", kind, len(drawing))
		}
	}
}

func TestAxis(t *testing.T) {
	for _, c := range []struct {
		unit      Unit
		low, high float64
		want      string
	}{
		{Micros, 0, 4000, "0 ms, 1 ms, 2 ms, 3 ms, 4 ms"},
		{Micros, -120, 300, "-100 µs, 0 µs, 100 µs, 200 µs, 300 µs"},
		{Micros, 2970, 4390, "3.0 ms, 3.5 ms, 4.0 ms"},
		{Ratio, 0, 0.02, "0.0 %, 0.5 %, 1.0 %, 1.5 %, 2.0 %"},
		{Ratio, 0, 1, "0 %, 20 %, 40 %, 60 %, 80 %, 100 %"},
		{Micros, 3e6, 3.4e6, "3.0 s, 3.1 s, 3.2 s, 3.3 s, 3.4 s"},
		{Micros, 0, 0, "0.0 µs, 0.2 µs, 0.4 µs, 0.6 µs, 0.8 µs, 1.0 µs"},
	} {
		a := newAxis(c.unit, c.low, c.high, 5)
		var ticks []string
		for _, x := range a.ticks {
			ticks = append(ticks, a.label(x))
		}
		if got := strings.Join(ticks, ", "); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}
