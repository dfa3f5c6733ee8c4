package collective

import "sync"

// Names numbers the names of collectives, the same on all lanes. Several may use it at a time.
type Names struct {
	mu   sync.Mutex
	of   map[string]int32
	text []string
}

// NewNames returns numbers of no names yet.
func NewNames() *Names { return &Names{of: map[string]int32{}} }

// Of returns the number of a name.
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

// Text returns the name of a number.
func (n *Names) Text(k int32) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text[k]
}
