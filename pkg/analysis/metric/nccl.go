package metric

import "github.com/hostbound/hostbound/pkg/trace/event"

// nameCache remembers which names of a Dict a test holds for: each is examined once.
type nameCache struct {
	dict  *event.Dict
	known []answer // of the names of dict
}

// answer is what is known of a name.
type answer uint8

const (
	unknown answer = iota
	no
	yes
)

// is reports whether the test holds for the name of row i; it is the same test each time.
func (n *nameCache) is(names *event.Strings, i int, test func([]byte) bool) bool {
	if d := names.Dict; d != nil && d == n.dict && names.Codes[i] >= 0 {
		if known := n.known[names.Codes[i]]; known != unknown { // Fast path
			return known == yes
		}
	}
	return n.examine(names, i, test)
}

// examine finds out whether the test holds, and remembers it of a name of a dictionary.
func (n *nameCache) examine(names *event.Strings, i int, test func([]byte) bool) bool {
	holds := test(names.Get(i))
	if names.Dict == nil || names.Codes[i] < 0 {
		return holds
	}
	if names.Dict != n.dict {
		n.dict, n.known = names.Dict, make([]answer, len(names.Dict.Offsets))
	}
	known := &n.known[names.Codes[i]]
	if *known = no; holds {
		*known = yes
	}
	return holds
}

// isNCCL reports whether name contains "nccl", in any case.
func isNCCL(name []byte) bool {
	// Look at every fourth byte at most: where it cannot be the last of the
	// word, go on as far as it allows.
	for i := 3; i < len(name); {
		switch name[i] | 0x20 {
		case 'l':
			if name[i-1]|0x20 == 'c' && name[i-2]|0x20 == 'c' && name[i-3]|0x20 == 'n' {
				return true
			}
			i += 4
		case 'c':
			i++
		case 'n':
			i += 3
		default:
			i += 4
		}
	}
	return false
}
