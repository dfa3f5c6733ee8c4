package collective

import "sync"

// Names numbers the names of collectives, the same on all lanes. It is safe for concurrent use.
type Names struct {
	mu   sync.Mutex
	of   map[string]int32
	text []string
}

// NewNames returns an empty Names.
func NewNames() *Names { return &Names{of: map[string]int32{}} }

// Of returns the number of a name, which may be new.
func (n *Names) Of(name []byte) int32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	k, known := n.of[string(name)]
	if !known {
		k = int32(len(n.text))
		n.of[string(name)] = k
		n.text = append(n.text, string(name))
	}
	return k
}

// Text returns the name with a number that Of has returned.
func (n *Names) Text(k int32) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text[k]
}
