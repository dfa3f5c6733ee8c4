package isolate

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// token is what may lie before a collective, or a replay: a kernel of a name, or what the host
// did.
type token struct {
	name  string
	class event.Class // of the kernel, -1
	of    uint8       // the bits of the kinds of evidence that it is of
}

// Tokens that are no kernels are of the host and count where they lie between the launches of two
// collectives; names count where their kernels run between the two.
const (
	tokenSync int32 = iota // a thread waits for the GPU
	tokenHtoD              // a copy to the GPU was launched
	tokenDtoH              // a copy from the GPU was launched
	firstName              // the names of kernels come from here on
)

// vocabulary numbers tokens.
type vocabulary struct {
	all  []token
	ids  map[string]int32
	memo event.Memo[int32]
}

// newVocabulary returns one of no names.
func newVocabulary() vocabulary {
	return vocabulary{ids: map[string]int32{}, all: []token{
		tokenSync: {"", -1, 1 << bySync}, tokenHtoD: {"", -1, 1 << byInput}, tokenDtoH: {"", -1, 1 << byOutput},
	}}
}

// kernel returns the token of the kernel in row k.
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

// isEmbedding says whether a kernel of that name looks up embeddings, which is
// where a forward pass begins. (rotary_embedding_kernel does not: each layer has it.)
func isEmbedding(name string) bool {
	name = strings.ToLower(name)
	has := func(part string) bool { return strings.Contains(name, part) }
	return !has("rotary") && !has("rope") &&
		(has("embedding") || has("indexselect") || has("index_select") || has("vectorized_gather_kernel"))
}

// isHead says whether a kernel of that name makes tokens of what the layers
// return, which is where a forward pass ends.
func isHead(name string, class event.Class) bool {
	name = strings.ToLower(name)
	return class == event.Sampling || strings.Contains(name, "lm_head") || strings.Contains(name, "logits") ||
		strings.Contains(name, "argmax")
}

// context is what there is between two collectives.
type context struct {
	words    vocabulary
	hosts    []hostEvent // that no collective was launched after yet, in the order of time
	launch   int64       // of the collective before, none
	launches []int64     // the graph launches whose replays began last
}

// hostEvent is a token of the host.
type hostEvent struct {
	start int64
	token int32
}

// reset forgets all but the names, where a stretch is read again or another begins.
func (c *context) reset() {
	c.hosts, c.launches, c.launch = c.hosts[:0], c.launches[:0], none
}

// begun notes the replay of a graph launch and says whether that is a new one.
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

// host uses row k, which is of an API call or a copy. Copies come when they run.
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
		return // it runs later than the collective launched after it
	}
	if len(c.hosts) == maxQueued {
		c.hosts = slices.Delete(c.hosts, 0, maxQueued/2)
	}
	i := len(c.hosts)
	for ; i > 0 && e.start < c.hosts[i-1].start; i-- {
	}
	c.hosts = slices.Insert(c.hosts, i, e)
}

// isReplay says whether a graph launch ran row k of the GPU.
func isReplay(b *event.Batch, k int) bool {
	if b.Kind.Values[k] == event.Graph {
		return b.End.Values[k] > b.Start.Values[k]
	}
	return b.GraphNode.Valid.Get(k)
}

// isUnit says whether row k is a collective that steps are made of.
func (s *structure) isUnit(b *event.Batch, k int) bool {
	return s.plan.method == step.Allreduce && b.Kind.Values[k] == event.Kernel && (s.device < 0 || b.Device.Values[k] == s.device) &&
		b.Class.Valid.Get(k) && b.Class.Values[k] == event.Allreduce
}

// note uses a token that lies before the next collective or replay: it is learned, or a step
// may begin with it, which note returns.
func (s *structure) note(t int32) (begins bool) {
	if s.learner != nil {
		s.learner.run.add(t)
		return false
	}
	begins = int(t) < len(s.rule.begins) && s.rule.begins[t] // not of names that came after it was learned
	s.begins = s.begins || begins
	return begins
}

// between uses row k, which is no collective or replay, and says whether a step begins with it.
func (s *structure) between(b *event.Batch, k int) bool {
	if kind := b.Kind.Values[k]; kind != event.Kernel && kind != event.Graph {
		s.context.host(b, k)
		return false
	}
	return b.Device.Values[k] == s.device && s.note(s.context.words.kernel(b, k))
}

// launched uses the host events since the launch of the collective, or replay, before, up to
// that of row k, and says whether a step begins with one of them.
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

// boundary says whether the rule has a step begin with the collective or replay in row k.
func (s *structure) boundary(b *event.Batch, k int) bool {
	s.launched(b, k)
	begins := s.begins || s.rule.single
	s.begins = false
	return begins
}

// b2n is 1 for true, for counting.
func b2n(b bool) int {
	if b {
		return 1
	}
	return 0
}
