package isolate

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// run is the sequence of a device's collectives in a stretch without markers:
// what lies before each of them.
type run struct {
	tokens []int32 // of all collectives, each token once a collective
	ends   []int   // where those of each collective end in tokens

	classes []event.Class // of each token, -1
	at      []int         // of each token, the number of the collective it lay before last, plus 1
}

// add notes that a token lies before the next collective.
func (s *run) add(t int32, class event.Class) {
	for int(t) >= len(s.at) {
		s.at = append(s.at, 0)
		s.classes = append(s.classes, -1)
	}
	if n := len(s.ends) + 1; s.at[t] != n {
		s.at[t], s.classes[t] = n, class
		s.tokens = append(s.tokens, t)
	}
}

// collective notes a collective.
func (s *run) collective() { s.ends = append(s.ends, len(s.tokens)) }

// places returns for each token the collectives that it lies before, without the
// first one: what came before that was not seen.
func (s *run) places() [][]int32 {
	places := make([][]int32, max(len(s.at), int(firstName)))
	from := 0
	for i, end := range s.ends {
		for _, t := range s.tokens[from:end] {
			if i > 0 {
				places[t] = append(places[t], int32(i))
			}
		}
		from = end
	}
	return places
}

// isEmbedding says whether a kernel of that name looks up embeddings, which is
// where a forward pass begins. (rotary_embedding_kernel does not: each layer has it.)
func isEmbedding(name string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "rotary") || strings.Contains(name, "rope") {
		return false
	}
	return strings.Contains(name, "embedding") || strings.Contains(name, "indexselect") ||
		strings.Contains(name, "index_select") || strings.Contains(name, "vectorized_gather_kernel")
}

// isHead says whether a kernel of that name makes tokens of what the layers
// return, which is where a forward pass ends.
func isHead(name string, class event.Class) bool {
	name = strings.ToLower(name)
	return class == event.Sampling || strings.Contains(name, "lm_head") || strings.Contains(name, "logits") ||
		strings.Contains(name, "argmax")
}
