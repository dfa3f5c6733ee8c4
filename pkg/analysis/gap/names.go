package gap

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// viewOps are the operations of PyTorch that give a tensor another shape or type
// and leave its data where it is, as their ranges are called.
var viewOps = []string{
	"view", "view_as", "_unsafe_view", "reshape", "reshape_as", "_reshape_alias", "slice", "select", "narrow",
	"transpose", "permute", "t", "expand", "expand_as", "squeeze", "unsqueeze", "flatten", "unflatten", "split",
	"split_with_sizes", "chunk", "unbind", "as_strided", "alias", "detach", "detach_", "to", "_to_copy",
	"contiguous", "movedim", "empty", "empty_like", "empty_strided", "resize_", "lift_fresh",
}

// isView reports whether a range is a tensor operation that moves no data.
func isView(name string) bool {
	op, ok := strings.CutPrefix(name, "aten::")
	op, _, _ = strings.Cut(op, ",")
	return ok && slices.Contains(viewOps, op)
}

// names are names of idle's with what they say.
type names struct {
	*idle.Names
	known []facts // by number
}

// facts are what a name says, and what was seen of it.
type facts struct {
	effect cudaname.Effect // of a call
	view   bool            // a tensor operation that moves no data
	marker bool            // a forward-step marker
	class  event.Class     // of a kernel, -1 for none

	asked, fetches bool // a range in which requests are fetched, once that was asked
}

// of returns what is known of a name.
func (n *names) of(id int32) *facts {
	for int(id) >= len(n.known) {
		name := n.Text(int32(len(n.known)))
		n.known = append(n.known, facts{effect: cudaname.EffectOf(name), view: isView(name), class: -1})
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
