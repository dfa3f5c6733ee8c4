package gap

import (
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// names are names of idle's with what they say.
type names struct {
	*idle.Names
	known []facts // by number
}

// facts are what a name says, and what was seen of it.
type facts struct {
	effect cudaname.Effect // of a call
	marker bool            // a forward-step marker
	class  event.Class     // of a kernel, -1 for none

	asked, fetches bool // a range in which requests are fetched, once that was asked
}

// of returns what is known of a name.
func (n *names) of(id int32) *facts {
	for int(id) >= len(n.known) {
		name := n.Text(int32(len(n.known)))
		n.known = append(n.known, facts{effect: cudaname.EffectOf(name), class: -1})
	}
	return &n.known[id]
}

// fetches reports whether a range is where requests are fetched.
func (n *names) fetches(id int32) bool {
	known := n.of(id)
	if !known.asked {
		known.asked, known.fetches = true, marker.FetchesRequests(n.Text(id))
	}
	return known.fetches
}

// list returns all names.
func (n *names) list() (all []string) {
	for id := range int32(n.Len()) {
		all = append(all, n.text(id))
	}
	return all
}

// text returns the text of a number, "" for -1.
func (n *names) text(id int32) string { return n.Text(id) }
