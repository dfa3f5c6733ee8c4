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

// Entry is one entry of the catalogue: what is known of a pattern.
type Entry struct {
	Pattern string   // its name; several entries may be cases of one pattern
	Of      string   // the kind of facts that show it
	Is      []string // a fact must be one of these,
	All     []string // all of these,
	Not     []string // none of these,
	Ranges  []string // and its innermost range, up to a comma, one of these; empty: any
	// Least has lower bounds for numbers of a fact; a missing number counts as 0.
	Least map[string]float64
	// Each says which facts make one finding: those with the same "place" (call and ranges),
	// "path" (ranges) or "call", each "fact" by itself, or "all".
	Each string
	// Treat says how the run is treated to see the gain, see group.treatment. Classes are the
	// classes of rows that it treats.
	Treat   []string
	Classes []string
	// First findings come before all others. Their gain is not computed.
	First bool
	// Last findings are about something that delays no GPU. They come after all others and
	// have no gain.
	Last bool
	// Before is a pattern that hides host work of any kind. Findings of this entry say which
	// work it is, so they go before that pattern if they bring more than half as much.
	Before string
	Words
	Target  string   // what a finding without a place is about, e.g. what launching threads wait for
	Sources []string // where the pattern or the advice is documented
	Test    []Test   // facts that the entry is tested with
}

// Words are the texts of an entry about a finding.
type Words struct {
	Title string // the finding in half a line, with evidence in braces, as in Say
	Say   string // the sentence, with evidence in braces: see Text
	Do    string // what to do, in the imperative, with evidence in braces
	// What continues "launching threads": what they do. It is for facts about why threads are
	// stalled, and about samples.
	What string
}

// Test is a fact that an entry is tested with.
type Test struct {
	Is   []string       // as in Fact
	Want bool           // whether the fact belongs to the entry
	Text string         // the sentence of a finding from this fact, "" for any
	With map[string]any // numbers and names of the fact
}

// Catalogue returns the entries, in the order in which they are tried on a fact. The caller must
// not change them.
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

// recognises reports whether a fact is of the kind that the entry is about.
func (e *Entry) recognises(f *Fact) bool {
	is := func(what string) bool { return slices.Contains(f.Is, what) }
	name, _, _ := strings.Cut(Innermost(f.Path), ",")
	return (e.Of == "" || e.Of == f.Of) && (len(e.Ranges) == 0 || slices.Contains(e.Ranges, name)) && (len(e.Is) == 0 || slices.ContainsFunc(e.Is, is)) &&
		!slices.ContainsFunc(e.All, func(w string) bool { return !is(w) }) && !slices.ContainsFunc(e.Not, is)
}

// Recognised returns the entry that a fact belongs to, the first that recognises it, or nil.
func Recognised(f *Fact) *Entry {
	for k := range Catalogue() {
		if e := &Catalogue()[k]; e.recognises(f) && e.enough(f.Numbers) {
			return e
		}
	}
	return nil
}

// enough reports whether numbers reach the entry's lower bounds.
func (e *Entry) enough(numbers map[string]float64) bool {
	for name, least := range e.Least {
		if numbers[name] < least {
			return false
		}
	}
	return true
}

// Advice returns what to do about a fact of the entry. It returns "" if the text needs evidence,
// or if e is nil.
func (e *Entry) Advice() string {
	if e == nil || strings.Contains(e.Do, "{") {
		return ""
	}
	return e.Do
}

// IsWhy returns the catalogue's word for a why of idle time, as package idle names it. OS calls
// are reduced to their class.
func IsWhy(why string) string {
	if name, ok := strings.CutPrefix(why, "os:"); ok {
		why = "os:" + cudaname.ClassOS(name).String()
	}
	return "why:" + why
}

// TreatmentOf returns the entry about a why of launching threads, nil if there is none; why is
// as package idle names it.
func TreatmentOf(why string) *Entry { return Recognised(&Fact{Of: Idle, Is: []string{IsWhy(why)}}) }

// Phrase returns what launching threads do while a why holds, as a text that continues "launching
// threads", or "" if unknown. Whys without an entry are in states.
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

// states are the phrases for whys about which there is nothing to do, at least not here.
var states = map[string]string{
	"running": "run on a CPU", "spin": "spin on a CPU until the GPU is done", "blocked:cuda": "are blocked inside a CUDA call",
	"off": "are off their CPU", "profiler": "are held up by the profiler", "queue_full": "wait for a full queue of the GPU",
}
