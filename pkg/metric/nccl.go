package metric

import "github.com/hostbound/hostbound/pkg/event"

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

// is tells whether the test holds for the name of row i; it is the same test each time.
func (n *nameCache) is(names *event.Strings, i int, test func([]byte) bool) bool {
	if names.Dict == nil || names.Codes[i] < 0 {
		return test(names.Get(i))
	}
	if names.Dict != n.dict {
		n.dict = names.Dict
		n.known = make([]answer, len(n.dict.Offsets))
	}
	known := &n.known[names.Codes[i]]
	if *known == unknown {
		*known = no
		if test(names.Get(i)) {
			*known = yes
		}
	}
	return *known == yes
}

// isNCCL tells whether name contains "nccl", in any case.
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
