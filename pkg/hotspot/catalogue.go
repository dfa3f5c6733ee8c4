package hotspot

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/hostbound/hostbound/pkg/report"
)

// The knowledge is data: what the types are, what indicates them, what to do, and which
// names lead where. Each entry has its public source.
//
//go:embed data/*.toml
var files embed.FS

// TypeInfo describes a type of waste.
type TypeInfo struct {
	Name     Type     `json:"name"`     // one of the 16 types
	Severity Severity `json:"severity"` // of all hotspots of the type
	What     string   `json:"what"`     // completes "the line …"
	Evidence string   `json:"evidence"` // what shows it, with the usual times
	Source   string   `json:"source"`   // where it is documented: a path in a repository, or a URL
}

// Indicator is a kind of call that indicates a type. All conditions that are set must
// hold.
type Indicator struct {
	Type       Type       `json:"type"`                     // SYNC also stands for HOST_SYNC: hits distinguish them
	Sub        string     `json:"sub"`                      // "" if there is none
	Calls      []string   `json:"calls"`                    // paths: a call's path equals one of them, or ends with a dot and one
	Methods    []string   `json:"methods"`                  // last parts of paths with a receiver
	Name       string     `json:"name"`                     // instead of both: regular expression for the last parts of paths
	Receivers  []string   `json:"receivers"`                // prefixes: a word of the receiver's last name must begin with one of them
	But        []string   `json:"but"`                      // words that the receiver's last name must not have
	Kinds      []kind     `json:"kinds"`                    // possible kinds of the receiver; empty: any
	First      []kind     `json:"first"`                    // possible kinds of the first argument; empty: any
	Keywords   []string   `json:"keywords"`                 // keywords that may begin the statement, "" for none; empty: any
	Args       *int       `json:"args"`                     // largest number of arguments, null for any
	Argument   string     `json:"argument"`                 // regular expression that the arguments' text must match, in single quotes; "" for any
	Without    string     `json:"without"`                  // regular expression that it must not match; "" for none
	LeastUs    float64    `toml:"least_us" json:"least_us"` // least us per hit, 0 for any; the entry does not hold below half of it
	MostUs     float64    `toml:"most_us" json:"most_us"`   // most us per hit, 0 for any
	Anyway     bool       `json:"anyway"`                   // counts even if the line is not repeated
	Confidence Confidence `json:"confidence"`               // one lower if the time is below LeastUs or unknown
	Why        string     `json:"why"`                      // completes a sentence that begins with the call
	Source     string     `json:"source"`                   // where it is documented

	compiled
}

// compiled are an indicator's regular expressions, nil if anything matches.
type compiled struct{ name, argument, without *regexp.Regexp }

// Remedy is something to do about a type of waste.
type Remedy struct {
	Type        Type       `json:"type"`        // type that it applies to
	Sub         string     `json:"sub"`         // sub-kind that it applies to; "" for all
	Evidence    []string   `json:"evidence"`    // applies only if the hotspot's evidence has one of these texts; null for all
	Option      string     `json:"option"`      // a few lower-case words
	Description string     `json:"description"` // a sentence or two
	Savings     [2]float64 `json:"savings"`     // least and most, as a share of the hotspot's time: 0 to 1
	Risk        Risk       `json:"risk"`        // of changed results, or of a large change
	Complexity  string     `json:"complexity"`  // of the change: low, medium or high
	Source      string     `json:"source"`      // where it is documented
}

// Catalogue is everything that is known: the contents of the data files.
type Catalogue struct {
	Types      []TypeInfo  `json:"types"`      // in the order in which a line is tested for them
	Indicators []Indicator `json:"indicators"` // for each call the first that holds counts
	Remedies   []Remedy    `json:"remedies"`   // in file order
	Engines    []*Engine   `json:"engines"`    // names for drilling down

	byLast map[string][]*Indicator // by the last part of their names, in order
	byName []*Indicator            // those with a regular expression for the name
}

// named returns the indicators that may apply to a call with a name.
func (c *Catalogue) named(last string) []*Indicator {
	return slices.Concat(c.byLast[last], c.byName)
}

// Knowledge returns the embedded catalogue, which must not be changed.
var Knowledge = sync.OnceValue(func() *Catalogue {
	var all struct {
		Type      []TypeInfo
		Indicator []Indicator
		Option    []Remedy
	}
	for _, name := range []string{"types", "indicators", "options"} {
		load(name, &all)
	}
	c := &Catalogue{Types: all.Type, Indicators: all.Indicator, Remedies: all.Option, Engines: Engines(), byLast: map[string][]*Indicator{}}
	for i := range c.Indicators {
		ind := &c.Indicators[i]
		for text, into := range map[string]**regexp.Regexp{ind.Name: &ind.name, ind.Argument: &ind.argument, ind.Without: &ind.without} {
			if text != "" {
				*into = regexp.MustCompile(text)
			}
		}
		if ind.name != nil {
			c.byName = append(c.byName, ind)
		}
		for _, name := range append(slices.Clone(ind.Calls), ind.Methods...) {
			if last := lastName(name); !slices.Contains(c.byLast[last], ind) {
				c.byLast[last] = append(c.byLast[last], ind)
			}
		}
	}
	return c
})

// load decodes a data file. An unknown key panics.
func load(name string, into any) {
	text, err := files.ReadFile("data/" + name + ".toml")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	meta, err := toml.Decode(string(text), into)
	if err != nil || len(meta.Undecoded()) > 0 {
		panic(fmt.Sprintf("BUG: %s.toml: %v, unknown %v", name, err, meta.Undecoded()))
	}
}

// Info returns the entry of a type, which must exist.
func (c *Catalogue) Info(t Type) TypeInfo {
	return c.Types[c.order(t)]
}

// order returns a type's position in the order of triage.
func (c *Catalogue) order(t Type) int {
	return slices.IndexFunc(c.Types, func(i TypeInfo) bool { return i.Name == t })
}

// Document returns the catalogue for people: for each type what it is, how it is
// recognised, and what to do about it, with sources.
func (c *Catalogue) Document() *report.Document {
	d, first := report.New(report.Plain("Types of host waste"))
	first.Say("In the order in which they are tried. A line that matches none is COMPUTE.")
	for _, t := range c.Types {
		s := d.Section(string(t.Name))
		s.Say("Severity %s. The line %s.", string(t.Severity), t.What)
		s.Say("Evidence: %s. Source: %s", t.Evidence, t.Source)
		for _, o := range c.Remedies {
			if o.Type == t.Name {
				only := ""
				switch {
				case o.Sub != "":
					only = " Applies only to sub-kind " + o.Sub + "."
				case o.Evidence != nil:
					only = " Applies only if the evidence says one of: \"" + strings.Join(o.Evidence, "\", \"") + "\"."
				}
				s.Number("%s: %s. Saves %.0f to %.0f %% of the hotspot; risk %s, complexity %s.%s Source: %s", report.Strong(o.Option),
					strings.TrimSuffix(o.Description, "."), 100*o.Savings[0], 100*o.Savings[1], string(o.Risk), o.Complexity, only, o.Source)
			}
		}
	}
	return d
}
