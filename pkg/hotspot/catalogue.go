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

// The knowledge is data: what the types are, what points to one, what to do, and
// which names lead where. Each entry has its public source.
//
//go:embed data/*.toml
var files embed.FS

// TypeInfo describes a type of waste.
type TypeInfo struct {
	Name     Type     `json:"name"`     // one of the 16
	Severity Severity `json:"severity"` // of every hotspot of the type
	What     string   `json:"what"`     // completes "the line …"
	Evidence string   `json:"evidence"` // what shows it, with the usual times
	Source   string   `json:"source"`   // where that is documented: a repository's path or an address
}

// Indicator is a call that points to a type. All conditions that are set must hold.
type Indicator struct {
	Type       Type       `json:"type"`                     // SYNC stands for HOST_SYNC, too: hits tell them apart
	Sub        string     `json:"sub"`                      // sub-kind, "" none
	Calls      []string   `json:"calls"`                    // paths: a call's path is one of them, or ends with a dot and one
	Methods    []string   `json:"methods"`                  // last parts of paths that have a receiver
	Name       string     `json:"name"`                     // in place of both: regular expression of the last parts of paths
	Receivers  []string   `json:"receivers"`                // words: one of the receiver's last name begins with one of them
	But        []string   `json:"but"`                      // words: none of the receiver's is one of them
	Kinds      []kind     `json:"kinds"`                    // what the receiver may be known to be; none: anything
	First      []kind     `json:"first"`                    // the same of the first argument
	Keywords   []string   `json:"keywords"`                 // that the statement may begin with, "" for none; none: any
	Args       *int       `json:"args"`                     // most arguments, nil any number
	Argument   string     `json:"argument"`                 // regular expression that the arguments' text matches, with single quotes; "" any
	Without    string     `json:"without"`                  // one that it does not match; "" any
	LeastUs    float64    `toml:"least_us" json:"least_us"` // us per hit that it takes at least, 0 any: under half of it the entry does not hold
	MostUs     float64    `toml:"most_us" json:"most_us"`   // us per hit that it takes at most, 0 any
	Anyway     bool       `json:"anyway"`                   // it counts where the line is not repeated, too
	Confidence Confidence `json:"confidence"`               // one less where the time is below LeastUs, or not known
	Why        string     `json:"why"`                      // completes a sentence that begins with the call
	Source     string     `json:"source"`                   // where it is documented

	compiled
}

// compiled are an indicator's regular expressions, nil where anything will do.
type compiled struct{ name, argument, without *regexp.Regexp }

// Remedy is something to do about a type.
type Remedy struct {
	Type        Type       `json:"type"`        // that it is for
	Sub         string     `json:"sub"`         // of hotspots of this sub-kind alone; "" of all
	Evidence    []string   `json:"evidence"`    // of hotspots whose evidence has one of these texts alone; null of all
	Option      string     `json:"option"`      // in a few words, lower case
	Description string     `json:"description"` // in a sentence or two
	Savings     [2]float64 `json:"savings"`     // least and most, of the hotspot's time: 0 to 1
	Risk        Risk       `json:"risk"`        // that results differ, or that much has to change
	Complexity  string     `json:"complexity"`  // of the change: low, medium, high
	Source      string     `json:"source"`      // where it is documented
}

// Catalogue is all that is known: the contents of the data files.
type Catalogue struct {
	Types      []TypeInfo  `json:"types"`      // in the order in which a line is tried for them
	Indicators []Indicator `json:"indicators"` // of a call the first that holds counts
	Remedies   []Remedy    `json:"remedies"`   // in the order of their file
	Engines    []*Engine   `json:"engines"`    // names for drilling down

	byLast map[string][]*Indicator // by the last part of their names, in order
	byName []*Indicator            // by what names are like
}

// named are the indicators that a call of a name may be.
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

// load reads a data file. An entry that it has and nobody reads is a mistake of ours.
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

// Info returns what is known of a type, of which there is an entry.
func (c *Catalogue) Info(t Type) TypeInfo {
	return c.Types[c.order(t)]
}

// order is a type's place in the order of triage.
func (c *Catalogue) order(t Type) int {
	return slices.IndexFunc(c.Types, func(i TypeInfo) bool { return i.Name == t })
}

// Document is the catalogue for people: of each type what it is, what it is recognised by,
// and what to do about it, with the sources.
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
