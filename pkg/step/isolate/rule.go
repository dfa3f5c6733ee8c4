package isolate

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Tokens that are no kernel names. Those before tokenReplay are of the host and
// count where they lie between the launches of two collectives; names count where
// their kernels run between the two.
const (
	tokenSync   int32 = iota // a thread waits for the GPU
	tokenHtoD                // a copy to the GPU was launched
	tokenDtoH                // a copy from the GPU was launched
	tokenReplay              // the collective is of another graph replay
	firstName                // the names of kernels come from here on
)

// rule is how the steps of a segment without markers are identified.
type rule struct {
	begins  []bool        // of each token, whether a step begins where it lies before a collective
	classes []event.Class // of tokens, the class of their kernels
	embed   bool          // kernels that look up embeddings begin a step by any name
	each    bool          // each collective, or replay, began one there
	groups  int           // whole steps that it was learned from
	single  bool          // each replay of a graph is a step
	copies  bool          // tokens are copied back once in each step
	silent  bool          // there was no evidence there
	whole   bool          // replays begin with an embedding
	why     string        // what was not clear where the rule was learned, "" for nothing
}

// beginsWith says whether a step begins where a token lies. Those that came after the rule was
// learned say so only where they are names of embeddings.
func (u *rule) beginsWith(t int32, n *names) bool {
	if int(t) < len(u.begins) {
		return u.begins[t]
	}
	return u.embed && t >= firstName && isEmbedding(n.list[t-firstName])
}

// names numbers the names of kernels.
type names struct {
	ids  map[string]int32
	list []string // of the tokens from firstName on
	memo event.Memo[int32]
}

// token returns the number of the name in row i.
func (n *names) token(c *event.Strings, i int) int32 { return n.memo.Of(c, i, n.lookUp) }

// lookUp returns the token of a name, which may be a new one.
func (n *names) lookUp(text []byte) int32 {
	if id, ok := n.ids[string(text)]; ok {
		return id
	}
	if n.ids == nil {
		n.ids = map[string]int32{}
	}
	id := firstName + int32(len(n.list))
	n.list = append(n.list, string(text))
	n.ids[string(text)] = id
	return id
}

// context is what there is between two collectives.
type context struct {
	names  names
	starts []int64 // of host events that no collective was launched after yet
	tokens []int32
	launch int64 // of the collective before, none
	replay int64 // graph launch of the collective before, none

	launches [maxReplays + 1]int64 // the graph launches whose replays began last
	next     int                   // the oldest of them
}

// reset forgets all but the names, where a stretch is read again or another begins.
func (c *context) reset() {
	c.starts, c.tokens, c.launch, c.replay = c.starts[:0], c.tokens[:0], none, none
	c.forget()
}

// forget forgets the graph launches.
func (c *context) forget() {
	for i := range c.launches {
		c.launches[i] = none
	}
}

// begun notes the replay of a graph launch and says whether that is a new one.
func (c *context) begun(launch int64) bool {
	for i := range c.launches {
		if c.launches[i] == launch {
			return false
		}
	}
	c.launches[c.next] = launch
	c.next = (c.next + 1) % len(c.launches)
	return true
}

// host uses row k, which is of an API call or a copy.
func (c *context) host(b *event.Batch, k int) {
	switch b.Kind.Values[k] {
	case event.API:
		if b.Class.Valid.Get(k) && b.Class.Values[k] == event.APISync {
			c.add(b.Start.Values[k], tokenSync)
		}
	case event.Memcpy:
		at, ok := b.LaunchStart.Get(k)
		switch name := b.Name.Get(k); {
		case !ok:
		case string(name) == "memcpy HtoD":
			c.add(at, tokenHtoD)
		case string(name) == "memcpy DtoH":
			c.add(at, tokenDtoH)
		}
	}
}

// add keeps a host event, in the order of time: copies come when they run.
func (c *context) add(start int64, token int32) {
	if start < c.launch {
		return // it runs later than the collective launched after it
	}
	if n := maxHostEvents; len(c.starts) == n {
		c.starts = append(c.starts[:0], c.starts[n/2:]...)
		c.tokens = append(c.tokens[:0], c.tokens[n/2:]...)
	}
	c.starts, c.tokens = append(c.starts, start), append(c.tokens, token)
	for i := len(c.starts) - 1; i > 0 && c.starts[i] < c.starts[i-1]; i-- {
		c.starts[i], c.starts[i-1] = c.starts[i-1], c.starts[i]
		c.tokens[i], c.tokens[i-1] = c.tokens[i-1], c.tokens[i]
	}
}

// note uses a token that lies before the next collective or replay: it is learned, or a step
// may begin with it, which note returns.
func (r unmarked) note(t int32, class event.Class) (begins bool) {
	if r.learner != nil {
		r.learner.run.add(t, class)
		return false
	}
	begins = r.rule.beginsWith(t, &r.context.names)
	r.begins = r.begins || begins
	r.copying = r.copying || t == tokenDtoH
	return begins
}

// between uses row k, which is no collective or replay, and says whether a step begins with it.
func (r unmarked) between(b *event.Batch, k int) bool {
	if kind := b.Kind.Values[k]; kind != event.Kernel && kind != event.Graph {
		r.context.host(b, k)
		return false
	}
	class, ok := b.Class.Get(k)
	if !ok {
		class = -1
	}
	return b.Device.Values[k] == r.device && r.note(r.context.names.token(&b.Name, k), class)
}

// launched uses the host events since the launch of the collective, or replay, before, up to
// that of row k, and says whether a step begins with one of them.
func (r unmarked) launched(b *event.Batch, k int) (begins bool) {
	c := &r.context
	launch, ok := b.LaunchStart.Get(k)
	if !ok {
		return false
	}
	n := 0
	for ; n < len(c.starts) && c.starts[n] < launch; n++ {
		begins = r.note(c.tokens[n], -1) || begins
	}
	c.starts = append(c.starts[:0], c.starts[n:]...)
	c.tokens = append(c.tokens[:0], c.tokens[n:]...)
	c.launch = max(c.launch, launch)
	return begins
}

// unit uses what comes with row k, a collective or the first one of a replay: the host events
// before it, and of a collective whether another replay begins.
func (r unmarked) unit(b *event.Batch, k int) {
	if r.launched(b, k); r.plan.method == step.Graph {
		return
	}
	replay := int64(none)
	if b.Columns.Has(event.ColGraphNode) && b.GraphNode.Valid.Get(k) {
		if id, ok := b.Correlation.Get(k); ok {
			replay = id
		}
	}
	if replay != none && replay != r.context.replay {
		r.note(tokenReplay, -1)
	}
	r.context.replay = replay
}

// boundary says whether the rule has a step begin with the collective or replay in row k.
func (r unmarked) boundary(b *event.Batch, k int) bool {
	r.unit(b, k)
	begins := r.begins || r.rule.single
	r.copied += b2n((r.copying || r.eager.copied) && r.rule.copies)
	r.begins, r.copying, r.eager.copied = false, false, false
	return begins
}

// cycle is the rule for graph replays: each is a step, unless the period that was learned is
// of several.
func cycle(u *rule) *rule {
	u.single = u.why != "" || u.each
	switch {
	case u.silent && u.whole:
		u.why = ""
	case u.why != "":
		u.why = "a step may span several graph replays; a forward pass without a replay joins the step before it"
	}
	return u
}

// setRule sets the rule of the segment that begins.
func (r unmarked) setRule(u *rule) {
	if r.plan.method == step.Graph {
		u = cycle(u)
	}
	r.rule, r.want = u, r.plan.want
	for t, begins := range u.begins {
		switch t := int32(t); {
		case !begins || t == tokenReplay:
		case t == tokenSync:
			r.want[event.API] |= 1 << event.APISync
		case t == tokenHtoD || t == tokenDtoH:
			r.want[event.Memcpy] = ^uint32(0)
		case int(t) < len(u.classes) && u.classes[t] >= 0:
			r.want[event.Kernel] |= 1 << uint32(u.classes[t])
		}
	}
	if u.copies {
		r.want[event.Memcpy] = ^uint32(0)
	}
	if u.embed {
		r.want[event.Kernel] |= 1 << event.Copy
	}
}
