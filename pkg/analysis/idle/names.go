package idle

import (
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// MaxNames is how many different names are distinguished.
const MaxNames = 1 << 16

// Names numbers names from 0 on. After MaxNames, all new names are one: "(other)".
type Names struct {
	fold bool
	ids  map[string]int32
	list []string
	buf  []byte
	memo event.Memo[int32]
}

// NewNames returns an empty Names. With fold, each run of digits becomes one #, so that names
// that differ only in digits are one.
func NewNames(fold bool) *Names {
	return &Names{fold: fold, ids: make(map[string]int32)}
}

// Of returns the number of the name in row i.
func (n *Names) Of(c *event.Strings, i int) int32 { return n.memo.Of(c, i, n.ID) }

// Len returns the number of names.
func (n *Names) Len() int { return len(n.list) }

// Full reports whether names were left out.
func (n *Names) Full() bool { return len(n.list) > MaxNames }

// Text returns the name with a number, "" for a negative number.
func (n *Names) Text(id int32) string {
	if id < 0 {
		return ""
	}
	return n.list[id]
}

// ID returns the number of a name.
func (n *Names) ID(text []byte) int32 {
	key := text
	if n.fold {
		n.buf = marker.AppendFolded(n.buf[:0], text)
		key = n.buf
	}
	if id, ok := n.ids[string(key)]; ok {
		return id
	}
	if len(n.list) >= MaxNames {
		key = []byte("(other)")
		if id, ok := n.ids[string(key)]; ok {
			return id
		}
	}
	id := int32(len(n.list))
	s := string(key)
	n.ids[s] = id
	n.list = append(n.list, s)
	return id
}
