package nsys

import "hash/maphash"

// namer resolves the numbers of names, which rows repeat.
type namer struct {
	report *report
	found  *found
	err    error // of the store, checked with each block

	kernels cache[nameEntry] // by short, demangled and mangled name
	calls   cache[callEntry] // by name
	osCalls cache[nameEntry] // likewise
	named   cache[nameEntry] // ranges, by the number of their name
	ranges  cache[textEntry] // literal strings, by hash
	seed    maphash.Seed

	kernelClass map[[2]int64]int64 // by the strings of the short and demangled name
	rangeClass  []int64            // by string, of ranges; unclassed if not found yet
	asking      map[int64]bool     // by number of the name: see asks
}

// ownerEntry is the number of a track or thread and the number of its process.
type ownerEntry struct{ number, process int32 }

// nameEntry is the number of a name and the code of its class.
type nameEntry struct {
	name, class int64
}

// textEntry is a text in the store, and its class.
type textEntry struct {
	text string // "" if it is long
	nameEntry
}

// callEntry is a call's name and class, and its effect on the profiler.
type callEntry struct {
	nameEntry
	profiler int8 // stopsProfiler, startsProfiler, 0 for nothing
}

// unclassed stands for a class that is not found yet.
const unclassed = int64(-2)

// ownText stands for a string that is not the text of a range as it is.
const ownText = int64(-3)

// newNamer returns a namer that adds to found.
func newNamer(r *report, found *found) namer {
	n := namer{report: r, found: found, seed: maphash.MakeSeed(), kernelClass: map[[2]int64]int64{}, rangeClass: make([]int64, r.strings.len())}
	for i := range n.rangeClass {
		n.rangeClass[i] = unclassed
	}
	return n
}

// triple holds up to three numbers of a row that together determine a value. (An array
// would be allocated for each row.)
type triple struct{ a, b, c int64 }

// cache holds the values found for triples, of those with one hash the latest. Rows
// keep repeating a few of them, so it nearly always hits, and is faster than a map.
type cache[V any] struct {
	slots [1 << cacheBits]struct {
		key   triple
		known bool
		value V
	}
}

const cacheBits = 10

// at returns the value of a triple, and whether it was known. If not, the caller must
// set it.
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
