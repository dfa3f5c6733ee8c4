package round

import (
	_ "embed"
	"regexp"
	"sync"

	"github.com/BurntSushi/toml"
)

// Pitfall is a known pattern that a line matches which made a round slower.
type Pitfall struct {
	Name     string `json:"name"`     // as in pitfalls.toml
	Function string `json:"function"` // function of the line
	Line     int    `json:"line"`     // in the round that regressed
	Code     string `json:"-"`        // source of the line; in reports only
	Reason   string `json:"reason"`   // why it does not pay
}

// pitfallRule is an entry of pitfalls.toml.
type pitfallRule struct {
	Name    string `toml:"name"`
	Pattern string `toml:"pattern"`
	Reason  string `toml:"reason"`
	Source  string `toml:"source"` // where Reason is documented

	expr *regexp.Regexp
}

//go:embed pitfalls.toml
var pitfallFile string

// pitfallRules are read on first use: most commands never need them.
var pitfallRules = sync.OnceValue(func() []pitfallRule {
	var f struct {
		Pitfall []pitfallRule `toml:"pitfall"`
	}
	if _, err := toml.Decode(pitfallFile, &f); err != nil {
		panic("BUG: pitfalls.toml: " + err.Error())
	}
	for i := range f.Pitfall {
		f.Pitfall[i].expr = regexp.MustCompile(f.Pitfall[i].Pattern)
	}
	return f.Pitfall
})

// pitfalls returns the pitfalls of lines that are new, or slower per hit than before:
// the first that matches each line.
func pitfalls(lines []Change) []Pitfall {
	found := []Pitfall{}
	for _, l := range lines {
		slower := l.PerHitUs[0] != nil && l.PerHitUs[1] != nil && *l.PerHitUs[1] > *l.PerHitUs[0]
		if l.DeltaUs <= 0 || l.Status != "NEW" && !slower {
			continue
		}
		code := normalised(l.Source, true)
		for _, r := range pitfallRules() {
			if r.expr.MatchString(code) {
				found = append(found, Pitfall{r.Name, l.Function, l.Line, l.Source, r.Reason})
				break
			}
		}
	}
	return found
}
