package findings

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
)

//go:embed data/patterns.toml
var patterns string

// Entry is what is known of a pattern.
type Entry struct {
	Pattern string   // its name; several entries may be cases of one
	Of      string   // the kind of facts that show it
	Is      []string // they are one of these,
	All     []string // and all of these,
	Not     []string // and none of these
	Ranges  []string // and their innermost range is one of these, up to a comma; none: any
	// Least has numbers that a finding must have at least.
	Least map[string]float64
	// Each says which facts are one finding: those of one "place" (call and ranges), of one "path"
	// (ranges), each "fact" by itself, or "all".
	Each string
	// Treat says how the run is treated, see treatment; Classes are the classes of rows for it.
	Treat   []string
	Classes []string
	// First findings go before all others, whatever they bring, and need not bring anything.
	First bool
	// Last findings are about what holds no GPU up: they go after all others, and bring nothing.
	Last bool
	// Before is a pattern that hides host work, whatever it is: findings of this one, which say what
	// it is, go before it where they bring half as much.
	Before string
	Words
	Target  string   // what a finding without a place is about: what launching threads wait for
	Sources []string // where that is documented
	Test    []Test   // lines that the entry is tested with
}

// Words are what an entry says of a finding.
type Words struct {
	Title string // the finding in half a line, with evidence as in Say
	Say   string // the sentence, with evidence in braces: see Text
	Do    string // what to do, as an order; may hold evidence, too
	// What goes on from "launching threads": what they do where the facts are about why they do
	// not go on, or about samples.
	What string
}

// Test is a fact that an entry is tested with.
type Test struct {
	Is   []string       // as in Fact
	Want bool           // it is one of the entry
	Text string         // the sentence of a finding of such a fact, "" for any
	With map[string]any // numbers and names of the fact
}

// Catalogue returns the entries, in the order in which facts are shown to them.
var Catalogue = sync.OnceValue(func() []Entry {
	var list struct{ Entry []Entry }
	meta, err := toml.Decode(patterns, &list)
	if err == nil && len(meta.Undecoded()) > 0 {
		err = fmt.Errorf("unknown key %s", meta.Undecoded()[0])
	}
	if err != nil {
		panic("BUG: patterns.toml: " + err.Error())
	}
	return list.Entry
})

// recognises reports whether a fact is one of an entry.
func (e *Entry) recognises(f *Fact) bool {
	is := func(what string) bool { return slices.Contains(f.Is, what) }
	name, _, _ := strings.Cut(Innermost(f.Path), ",")
	return (e.Of == "" || e.Of == f.Of) && (len(e.Ranges) == 0 || slices.Contains(e.Ranges, name)) && (len(e.Is) == 0 || slices.ContainsFunc(e.Is, is)) &&
		!slices.ContainsFunc(e.All, func(w string) bool { return !is(w) }) && !slices.ContainsFunc(e.Not, is)
}

// Recognised returns the entry that a fact belongs to, nil for none.
func Recognised(f *Fact) *Entry {
	for k := range Catalogue() {
		if e := &Catalogue()[k]; e.recognises(f) && e.enough(f.Numbers) {
			return e
		}
	}
	return nil
}

// enough reports whether numbers are what an entry asks for.
func (e *Entry) enough(numbers map[string]float64) bool {
	for name, least := range e.Least {
		if numbers[name] < least {
			return false
		}
	}
	return true
}

// Advice is what to do about a fact of the entry, "" where that depends on more of it, or for none.
func (e *Entry) Advice() string {
	if e == nil || strings.Contains(e.Do, "{") {
		return ""
	}
	return e.Do
}

// IsWhy is what idle time is for which a why holds, in the words of the catalogue; why is as package
// idle names it.
func IsWhy(why string) string {
	if name, ok := strings.CutPrefix(why, "os:"); ok {
		why = "os:" + cudaname.ClassOS(name)
	}
	return "why:" + why
}

// TreatmentOf returns the entry about why launching threads do not go on, nil where there is
// none; why is as package idle names it.
func TreatmentOf(why string) *Entry { return Recognised(&Fact{Of: Idle, Is: []string{IsWhy(why)}}) }

// Phrase says what launching threads do for which a why holds: it goes on from "launching
// threads", and is "" where that is not known. The whys that no entry is about are in states.
func Phrase(why string) string {
	if e := TreatmentOf(why); e != nil && !strings.HasPrefix(why, "in:") {
		return e.What
	}
	if text := states[why]; text != "" {
		return text
	}
	for _, s := range []struct{ prefix, text string }{
		{"blocked:", "are blocked in a call of the system (%s)"}, {"in:", "are in a call of the system (%s)"}, {"os:", "run inside %s"},
	} {
		if name, ok := strings.CutPrefix(why, s.prefix); ok {
			return fmt.Sprintf(s.text, name)
		}
	}
	return ""
}

// states are what threads do for which nothing is to be done, or nothing here.
var states = map[string]string{
	"running": "run on a CPU", "spin": "spin on a CPU until the GPU is done", "blocked:cuda": "are blocked inside a CUDA call",
	"off": "are off their CPU", "profiler": "are held up by the profiler", "queue_full": "wait for a full queue of the GPU",
}
