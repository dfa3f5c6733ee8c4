package findings

import (
	"strings"
	"testing"
)

// TestEntries has each entry recognise its lines, alone of all entries before it, and say them.
func TestEntries(t *testing.T) {
	for k := range Catalogue() {
		e := &Catalogue()[k]
		if len(e.Test) == 0 || e.Say == "" || e.Title == "" || e.Do == "" || len(e.Sources) == 0 || e.Each == "" {
			t.Errorf("%s (entry %d) lacks a test, a sentence, an advice, a source or what is one finding", e.Pattern, k)
		}
		for _, test := range e.Test {
			of := e.Of
			if of == "" {
				of = Idle
			}
			f := Fact{Of: of, Is: test.Is, Numbers: map[string]float64{"idle_us": 1}, Names: map[string]string{}}
			for name, v := range test.With {
				switch x := v.(type) {
				case float64:
					f.Numbers[name] = x
				case string:
					f.Names[name] = x
				case int64:
					f.Numbers[name] = float64(x)
				}
			}
			f.Call, f.Path = f.Names["call"], f.Names["path"]
			if got := Recognised(&f) == e; got != test.Want {
				t.Errorf("%s (entry %d): %v is one of it: %v", e.Pattern, k, test.Is, got)
			}
			if test.Text == "" {
				continue
			}
			run := Run{Steps: 1, IdleUs: 2 * f.Numbers["idle_us"], Facts: []Fact{f}}
			if _, ok := test.With["idle_us"]; !ok {
				run.IdleUs, f.Numbers = 0, without(f.Numbers, "idle_us")
			}
			if got := groups(run.Facts)[0].finding(&run).Text; got != test.Text {
				t.Errorf("%s (entry %d) says\n%s\nwant\n%s", e.Pattern, k, got, test.Text)
			}
		}
	}
}

func without(m map[string]float64, name string) map[string]float64 {
	delete(m, name)
	return m
}

// TestNoSentenceHasHoles fills every sentence in with nothing: what is not known must stand in
// a clause, or be there always.
func TestNoSentenceHasHoles(t *testing.T) {
	for _, e := range Catalogue() {
		for _, say := range []string{e.Title, e.Say, e.Do} {
			if strings.Count(say, "[") != strings.Count(say, "]") || strings.Count(say, "{") != strings.Count(say, "}") {
				t.Errorf("%s: %s", e.Pattern, say)
			}
		}
	}
}
