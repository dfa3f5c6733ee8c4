package nsys

import "hash/maphash"

// namer finds out what the numbers of names stand for, which rows repeat.
type namer struct {
	report *report
	found  *found
	err    error // of the store, checked with each block

	kernels cache[nameEntry] // by short, demangled and mangled name
	calls   cache[callEntry] // by name
	osCalls cache[nameEntry] // likewise
	named   cache[nameEntry] // ranges, by the number of their name
	ranges  cache[textEntry] // literal strings, by their hash
	seed    maphash.Seed

	kernelClass map[[2]int64]int64 // by the strings of the short and the demangled name
	rangeClass  []int64            // of the strings of ranges, unclassed where not yet found
	asking      map[int64]bool     // by number of a name: see asks
}

// ownerEntry is the number of a track or thread and that of its process.
type ownerEntry struct{ number, process int32 }

// nameEntry is the number of a name and the code of its class.
type nameEntry struct {
	name, class int64
}

// textEntry is a text that is in the store, and its class.
type textEntry struct {
	text string // "" where it is a long one
	nameEntry
}

// callEntry is a call's name and class, and what it does to the profiler.
type callEntry struct {
	nameEntry
	profiler int8 // stopsProfiler, startsProfiler, 0 for nothing
}

// unclassed stands for a class that has not been found yet.
const unclassed = int64(-2)

// ownText stands for a string whose text a range cannot have as it is.
const ownText = int64(-3)

// newNamer returns a namer that adds to what was found.
func newNamer(r *report, found *found) namer {
	n := namer{report: r, found: found, seed: maphash.MakeSeed(), kernelClass: map[[2]int64]int64{}, rangeClass: make([]int64, r.strings.len())}
	for i := range n.rangeClass {
		n.rangeClass[i] = unclassed
	}
	return n
}

// triple is up to three numbers of a row that decide something together. (An array of them
// would be made in memory for each row.)
type triple struct{ a, b, c int64 }

// cache holds what was found out for triples, the last of those with the same
// hash. Rows repeat a few of them in turns, so it is nearly always right, and
// faster than a map.
type cache[V any] struct {
	slots [1 << cacheBits]struct {
		key   triple
		known bool
		value V
	}
}

const cacheBits = 10

// at returns the value of a triple, and whether it was known before. If not it
// is for the caller to set.
func (m *cache[V]) at(key triple) (value *V, known bool) {
	const factor = 0x9e3779b97f4a7c15
	h := uint64(key.a)*factor + uint64(key.b)
	h = h*factor + uint64(key.c)
	s := &m.slots[h*factor>>(64-cacheBits)]
	if s.known && s.key == key {
		return &s.value, true
	}
	s.key, s.known = key, true
	return &s.value, false
}
