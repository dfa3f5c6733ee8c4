package gap

import (
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// names adds facts to the names of package idle.
type names struct {
	*idle.Names
	known []facts // by number
}

// facts are derived from a name, or observed of it.
type facts struct {
	effect  cudaname.Effect // of a call
	marker  bool            // a forward-step marker
	fetches bool            // a range in which requests are fetched
	class   event.Class     // of a kernel, -1 for none
}

// of returns the facts of a name. The pointer is valid until the next call.
func (n *names) of(id int32) *facts {
	for int(id) >= len(n.known) {
		name := n.Text(int32(len(n.known)))
		n.known = append(n.known, facts{effect: cudaname.EffectOf(name), fetches: marker.FetchesRequests(name), class: -1})
	}
	return &n.known[id]
}
