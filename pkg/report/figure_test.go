package report

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSentenceFigures(t *testing.T) {
	for us, want := range map[float64]string{
		0: "0 µs", 0.654: "0.65 µs", 12.34: "12.3 µs", 757.2: "757 µs", 999.4: "999 µs", 999.6: "1.00 ms", 1905.5: "1.91 ms", 43_900: "43.9 ms",
		2.5e6: "2.50 s", -19.6: "-19.6 µs", 0.001: "< 0.01 µs", math.Inf(1): "?",
	} {
		if got := Micros(us); got != want {
			t.Errorf("%v us is %q, want %q", us, got, want)
		}
	}
	for x, want := range map[float64]string{3: "3", 14.93: "14.9", 0.9: "0.90", 119: "119", 0: "0"} {
		if got := Digits(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
	for ratio, want := range map[float64]string{0: "0.0 %", 0.688: "68.8 %", 1: "100.0 %", 0.0001: "< 0.1 %", -0.0001: "> -0.1 %", 15: "1500.0 %"} {
		if got := Percent(ratio); got != want {
			t.Errorf("%v is %q, want %q", ratio, got, want)
		}
	}
	for ratio, want := range map[float64]string{0.123: "+12.3 %", -0.5: "-50.0 %", 0: "0.0 %", 9.99: "+999.0 %", 10: "×11.0", 4952.625: "×4954", math.Inf(1): "?"} {
		if got := Change(ratio); !strings.HasPrefix(got, want) {
			t.Errorf("a change by %v is %q, want %q", ratio, got, want)
		}
	}
	for in, want := range map[string]string{"1.5": "+1.5", "-1.5": "-1.5", "0.00": "0.00", "0 µs": "0 µs", "?": "?", "< 0.1": "< 0.1", "> -0.1 %": "> -0.1 %", "": ""} {
		if got := Signed(in); got != want {
			t.Errorf("%q with a sign is %q, want %q", in, got, want)
		}
	}
}

// column shows numbers as a column of a table does.
func column(kind Kind, xs ...float64) string {
	tbl := &Table{Columns: []Column{{Title: "t", Kind: kind}}}
	for _, x := range xs {
		tbl.Row(Num(x))
	}
	c := tbl.layout(0).columns[0]
	all := []string{c.title}
	for _, cell := range c.cells {
		all = append(all, cell.text)
	}
	return strings.Join(all, " ")
}

func TestUnitsAndDigitsAreThoseOfTheColumn(t *testing.T) {
	for want, got := range map[string]string{
		"t (µs) 757.2 2.8 0.0":     column(Duration, 757.2, 2.78, 0),
		"t (ms) 43.90 13.70 0.16":  column(Duration, 43900, 13700, 161),
		"t (ms) 131.7 43.9":        column(Duration, 131700, 43900),
		"t (s) 2.500 0.004":        column(Duration, 2.5e6, 4000),
		"t (µs) 2500000.0 0.4":     column(Duration, 2.5e6, 0.4),
		"t (µs) 0.650":             column(Duration, 0.65),
		"t (µs) 0":                 column(Duration, 0),
		"t 6834 0":                 column(Count, 6834, 0),
		"t 68.8 % 0.0 % < 0.1 % -": column(Ratio, .688, 0, .00001, math.NaN()),
		"t 14.93 0.90":             column(Figure, 14.93, 0.9),
		"t (µs) 99.00 ? -3.00":     column(Duration, 99, math.Inf(1), -3),
		"t (ms) 999.4 0.4":         column(Duration, 999_400, 400),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a column shows is what it was given, as exactly as its last digit says, and
// what is not zero is not shown as zero.
func TestColumnsShowTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), 1, 5).Draw(t, "xs")
		s := scaleOf(xs, true)
		if s.decimals > maxDecimals || s.decimals < 0 {
			t.Fatalf("%d decimals", s.decimals)
		}
		for _, x := range xs {
			text := s.show(&Column{Kind: Duration}, x)
			if zero := strings.Trim(text, "-0.") == ""; zero != (x == 0) {
				t.Fatalf("%v is shown as %q", x, text)
			}
		}
	})
}
