package isolate

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// token is something that may precede a collective or replay: a kernel of some name, or
// an action of the host.
type token struct {
	name  string
	class event.Class // -1 for none and for the host
	of    uint8       // a bit for each kind of evidence that it is
}

// Tokens of the host count where they lie between the launches of two collectives.
// Kernel names count where the kernels run between the two.
const (
	tokenSync int32 = iota // a thread waits for the GPU
	tokenHtoD              // launch of a copy to the GPU
	tokenDtoH              // launch of a copy from the GPU
	firstName              // kernel names begin here
)

// vocabulary assigns numbers to tokens.
type vocabulary struct {
	all  []token
	ids  map[string]int32
	memo event.Memo[int32]
}

// newVocabulary returns a vocabulary without kernel names.
func newVocabulary() vocabulary {
	return vocabulary{ids: map[string]int32{}, all: []token{
		tokenSync: {"", -1, 1 << bySync}, tokenHtoD: {"", -1, 1 << byInput}, tokenDtoH: {"", -1, 1 << byOutput},
	}}
}

// kernel returns the token of the kernel in row k, a new one if its name is new.
func (v *vocabulary) kernel(b *event.Batch, k int) int32 {
	return v.memo.Of(&b.Name, k, func(text []byte) int32 {
		if t, ok := v.ids[string(text)]; ok {
			return t
		}
		class, ok := b.Class.Get(k)
		if !ok {
			class = -1
		}
		one := token{name: string(text), class: class}
		one.of = uint8(b2n(isEmbedding(one.name))<<byEmbedding | b2n(isHead(one.name, class))<<byHead)
		v.all = append(v.all, one)
		v.ids[one.name] = int32(len(v.all) - 1)
		return v.ids[one.name]
	})
}

// isEmbedding reports whether kernels of a name look up embeddings, with which a forward
// pass begins. rotary_embedding_kernel does not: each layer has it.
func isEmbedding(name string) bool {
	name = strings.ToLower(name)
	has := func(part string) bool { return strings.Contains(name, part) }
	return !has("rotary") && !has("rope") &&
		(has("embedding") || has("indexselect") || has("index_select") || has("vectorized_gather_kernel"))
}

// isHead reports whether kernels of a name turn the layers' output into tokens, with
// which a forward pass ends.
func isHead(name string, class event.Class) bool {
	name = strings.ToLower(name)
	return class == event.Sampling || strings.Contains(name, "lm_head") || strings.Contains(name, "logits") ||
		strings.Contains(name, "argmax")
}

// context is what lies between two collectives.
type context struct {
	words    vocabulary
	hosts    []hostEvent // not yet followed by the launch of a collective, in the order of time
	launch   int64       // launch of the last collective, none before the first
	launches []int64     // the graph launches whose replays began last
}

// hostEvent is a token of the host.
type hostEvent struct {
	start int64
	token int32
}

// reset forgets everything except the names, before rows are read again or a new stretch
// begins.
func (c *context) reset() {
	c.hosts, c.launches, c.launch = c.hosts[:0], c.launches[:0], none
}

// begun records the replay of a graph launch and reports whether it is new.
func (c *context) begun(launch int64) bool {
	if slices.Contains(c.launches, launch) {
		return false
	}
	if len(c.launches) > maxReplays {
		c.launches = slices.Delete(c.launches, 0, 1)
	}
	c.launches = append(c.launches, launch)
	return true
}

// host processes row k, an API call or a copy. Copies come when they run, later than
// their launch.
func (c *context) host(b *event.Batch, k int) {
	e := hostEvent{start: b.Start.Values[k], token: -1}
	switch kind := b.Kind.Values[k]; {
	case kind == event.API && b.Class.Valid.Get(k) && b.Class.Values[k] == event.APISync:
		e.token = tokenSync
	case kind == event.Memcpy && b.LaunchStart.Valid.Get(k):
		switch e.start = b.LaunchStart.Values[k]; string(b.Name.Get(k)) {
		case "memcpy HtoD":
			e.token = tokenHtoD
		case "memcpy DtoH":
			e.token = tokenDtoH
		}
	}
	if e.token < 0 || e.start < c.launch {
		return // it runs after the collective that was launched after it
	}
	if len(c.hosts) == maxQueued {
		c.hosts = slices.Delete(c.hosts, 0, maxQueued/2)
	}
	i := len(c.hosts)
	for ; i > 0 && e.start < c.hosts[i-1].start; i-- {
	}
	c.hosts = slices.Insert(c.hosts, i, e)
}

// isReplay reports whether GPU row k is part of a graph replay.
func isReplay(b *event.Batch, k int) bool {
	if b.Kind.Values[k] == event.Graph {
		return b.End.Values[k] > b.Start.Values[k]
	}
	return b.GraphNode.Valid.Get(k)
}

// isUnit reports whether row k is a collective that steps are made of.
func (s *structure) isUnit(b *event.Batch, k int) bool {
	return s.plan.method == step.Allreduce && b.Kind.Values[k] == event.Kernel && (s.device < 0 || b.Device.Values[k] == s.device) &&
		b.Class.Valid.Get(k) && b.Class.Values[k] == event.Allreduce
}

// note processes a token that precedes the next collective or replay: it is learned, or
// reports whether a step begins with it.
func (s *structure) note(t int32) (begins bool) {
	if s.learner != nil {
		s.learner.run.add(t)
		return false
	}
	begins = int(t) < len(s.rule.begins) && s.rule.begins[t] // names that came after learning have no entry
	s.begins = s.begins || begins
	return begins
}

// between processes row k, neither collective nor replay, and reports whether a step
// begins with it.
func (s *structure) between(b *event.Batch, k int) bool {
	if kind := b.Kind.Values[k]; kind != event.Kernel && kind != event.Graph {
		s.context.host(b, k)
		return false
	}
	return b.Device.Values[k] == s.device && s.note(s.context.words.kernel(b, k))
}

// launched processes the host events between the launch of the last collective, or
// replay, and that of row k. It reports whether a step begins with one of them.
func (s *structure) launched(b *event.Batch, k int) (begins bool) {
	c := &s.context
	launch, ok := b.LaunchStart.Get(k)
	if !ok {
		return false
	}
	n := 0
	for ; n < len(c.hosts) && c.hosts[n].start < launch; n++ {
		begins = s.note(c.hosts[n].token) || begins
	}
	c.hosts = append(c.hosts[:0], c.hosts[n:]...)
	c.launch = max(c.launch, launch)
	return begins
}

// boundary reports whether by the rule a step begins with the collective or replay in
// row k.
func (s *structure) boundary(b *event.Batch, k int) bool {
	s.launched(b, k)
	begins := s.begins || s.rule.single
	s.begins = false
	return begins
}

// b2n returns 1 for true and 0 for false.
func b2n(b bool) int {
	if b {
		return 1
	}
	return 0
}
