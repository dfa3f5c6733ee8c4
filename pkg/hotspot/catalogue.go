package hotspot

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// The knowledge is data: what the types are, what points to one, what to do, and
// which names lead where. Each entry has its public source.
//
//go:embed data/*.toml
var files embed.FS

// TypeInfo describes a type of waste.
type TypeInfo struct {
	Name     Type     `json:"name"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`     // completes "the line …"
	Evidence string   `json:"evidence"` // what shows it, with the usual times
	Source   string   `json:"source"`   // where that is documented: a repository's path or an address
}

// Indicator is a call that points to a type: see data/indicators.toml.
type Indicator struct {
	Type       Type       `json:"type"`
	Sub        string     `json:"sub"`
	Calls      []string   `json:"calls"`
	Methods    []string   `json:"methods"`
	Receivers  []string   `json:"receivers"`
	But        []string   `json:"but"`
	Kinds      []string   `json:"kinds"`
	Args       *int       `json:"args"`
	Argument   string     `json:"argument"`
	Without    string     `json:"without"`
	LeastUs    float64    `toml:"least_us" json:"least_us"`
	Confidence Confidence `json:"confidence"`
	Why        string     `json:"why"`
	Source     string     `json:"source"`
}

// Remedy is something to do about a type: see data/options.toml.
type Remedy struct {
	Type        Type       `json:"type"`
	Sub         string     `json:"sub"` // of hotspots of this sub-kind alone; "" of all
	Option      string     `json:"option"`
	Description string     `json:"description"`
	Savings     [2]float64 `json:"savings"` // of the hotspot's time, 0 to 1
	Risk        Risk       `json:"risk"`
	Complexity  string     `json:"complexity"`
	Source      string     `json:"source"`
}

// Catalogue is all that is known: the contents of the data files.
type Catalogue struct {
	Types      []TypeInfo  `json:"types"` // in the order in which a line is tried for them
	Indicators []Indicator `json:"indicators"`
	Remedies   []Remedy    `json:"remedies"`
	Targets    Targets     `json:"targets"`

	byLast map[string][]*Indicator // by the last part of their names, in order
}

// Targets are names of engines for drilling down: see data/targets.toml.
type Targets struct {
	Source   string
	Class    []Class
	Receiver []struct{ Name, Class string }
	Chain    []struct {
		Function string
		Next     []string
	}
	Step []struct{ Function string }
}

// Class is a class whose methods can be profiled.
type Class struct {
	Name     string   `json:"name"`
	Module   string   `json:"module"`
	Defaults []string `json:"defaults"` // methods that are profiled by default
	Methods  []string `json:"methods"`  // others that are known
	Tests    []string `json:"tests"`    // unit tests that cover it
}

// Knowledge returns the embedded catalogue, which must not be changed.
var Knowledge = sync.OnceValue(func() *Catalogue {
	c, err := load()
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return c
})

func load() (*Catalogue, error) {
	var all struct {
		Type      []TypeInfo
		Indicator []Indicator
		Option    []Remedy
	}
	c := &Catalogue{}
	for name, into := range map[string]any{"types": &all, "indicators": &all, "options": &all, "targets": &c.Targets} {
		text, err := files.ReadFile("data/" + name + ".toml")
		if err != nil {
			return nil, err
		}
		meta, err := toml.Decode(string(text), into)
		if err != nil {
			return nil, fmt.Errorf("%s.toml: %w", name, err)
		}
		if extra := meta.Undecoded(); len(extra) > 0 {
			return nil, fmt.Errorf("%s.toml: unknown %v", name, extra)
		}
	}
	c.Types, c.Indicators, c.Remedies = all.Type, all.Indicator, all.Option
	c.byLast = map[string][]*Indicator{}
	for i := range c.Indicators {
		ind := &c.Indicators[i]
		for _, name := range append(slices.Clone(ind.Calls), ind.Methods...) {
			if last := lastName(name); !slices.Contains(c.byLast[last], ind) {
				c.byLast[last] = append(c.byLast[last], ind)
			}
		}
	}
	return c, nil
}

// Info returns what is known of a type.
func (c *Catalogue) Info(t Type) TypeInfo {
	i := slices.IndexFunc(c.Types, func(i TypeInfo) bool { return i.Name == t })
	if i < 0 {
		panic("BUG: no type " + string(t))
	}
	return c.Types[i]
}

// order is a type's place in the order of triage.
func (c *Catalogue) order(t Type) int {
	return slices.IndexFunc(c.Types, func(i TypeInfo) bool { return i.Name == t })
}

// class returns a class by its name, nil where it is not known.
func (t *Targets) class(name string) *Class {
	for i := range t.Class {
		if t.Class[i].Name == name {
			return &t.Class[i]
		}
	}
	return nil
}

// classOfMethod returns the class that has a method and whose module's file that is.
func (t *Targets) classOfMethod(file, method string) *Class {
	for i := range t.Class {
		c := &t.Class[i]
		if strings.HasSuffix(file, c.file()) && (slices.Contains(c.Defaults, method) || slices.Contains(c.Methods, method)) {
			return c
		}
	}
	return nil
}

// file is the base name of a class's file.
func (c *Class) file() string { return c.Module[strings.LastIndexByte(c.Module, '.')+1:] + ".py" }

func (c *Class) has(method string) bool {
	return slices.Contains(c.Defaults, method) || slices.Contains(c.Methods, method)
}
