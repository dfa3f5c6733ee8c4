package parquet

import (
	"math"
	"math/bits"

	"github.com/parquet-go/parquet-go/bloom/xxhash"
)

// The hash of a column chunk is the xxHash64 of 64-bit little-endian words: one
// for each row that is not null, which is the bits of a number and the xxHash64
// of a text, then the number of rows, then the hash of the bitmap of the rows
// that are not null, 0 where no row is null. So it does not depend on how the
// values are encoded, and texts out of a dictionary are hashed once each.

// hash returns the hash of the given number of rows of a column. The values of
// those that are not null stand in v one after the other.
func (v *Vector) hash(c *Column, rows int) uint64 {
	var h hasher
	h.init()
	if c.Enum != nil {
		h.addNumbered(sumTexts(nil, enumTexts(c.Enum)), v.Int)
	} else {
		h.addValues(c, v)
	}
	return h.end(c, v, rows)
}

// addValues adds the words of values as they are in the file.
func (h *hasher) addValues(c *Column, v *Vector) {
	switch {
	case c.Type.IsInt():
		add(h, v.Int)
	case c.Type.IsFloat():
		h.addEach(len(v.Float), func(i int) uint64 { return math.Float64bits(v.Float[i]) })
	default:
		h.addTexts(&v.Text, 0)
	}
}

// addTexts adds the words of the texts from number i on.
func (h *hasher) addTexts(s *Strings, i int) {
	h.addEach(s.Len()-i, func(k int) uint64 { return xxhash.Sum64(s.Get(i + k)) })
}

// end returns the hash of a chunk whose values were added.
func (h *hasher) end(c *Column, v *Vector, rows int) uint64 {
	nulls := uint64(0)
	if v.count(c) < rows {
		nulls = hashBits(v.Valid, rows)
	}
	h.add([]uint64{uint64(rows), nulls})
	return h.sum()
}

// sumTexts appends the words of texts.
func sumTexts(dst []uint64, s *Strings) []uint64 {
	for i := range s.Len() {
		dst = append(dst, xxhash.Sum64(s.Get(i)))
	}
	return dst
}

func enumTexts(texts []string) *Strings {
	s := new(Strings)
	for _, t := range texts {
		s.Append([]byte(t))
	}
	return s
}

// hashBits hashes a bitmap of n bits.
func hashBits(m []byte, n int) uint64 {
	whole := xxhash.Sum64(m[:n>>3])
	if n&7 == 0 {
		return whole
	}
	return whole*prime1 + uint64(m[n>>3]&(1<<(n&7)-1))
}

// Sum64 returns the xxHash64 of b.
func Sum64(b []byte) uint64 { return xxhash.Sum64(b) }

// The primes of xxHash64.
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

// hasher is xxHash64 fed with words, which spares columns of numbers the way
// over bytes.
type hasher struct {
	lane [4]uint64
	tail [4]uint64 // the words that do not fill four lanes yet
	n    uint64    // words
}

func (h *hasher) init() {
	p1, p2 := uint64(prime1), uint64(prime2)
	*h = hasher{lane: [4]uint64{p1 + p2, p2, 0, -p1}}
}

func round(lane, word uint64) uint64 { return bits.RotateLeft64(lane+word*prime2, 31) * prime1 }

func (h *hasher) add(words []uint64) { add(h, words) }

func add[T int64 | uint64](h *hasher, words []T) {
	for len(words) > 0 && h.n&3 != 0 {
		h.word(uint64(words[0]))
		words = words[1:]
	}
	a, b, c, d := h.lane[0], h.lane[1], h.lane[2], h.lane[3]
	for len(words) >= 4 {
		a, b = round(a, uint64(words[0])), round(b, uint64(words[1]))
		c, d = round(c, uint64(words[2])), round(d, uint64(words[3]))
		words = words[4:]
		h.n += 4
	}
	h.lane = [4]uint64{a, b, c, d}
	for _, w := range words {
		h.word(uint64(w))
	}
}

func (h *hasher) word(w uint64) {
	h.tail[h.n&3] = w
	h.n++
	if h.n&3 == 0 {
		for i, w := range h.tail {
			h.lane[i] = round(h.lane[i], w)
		}
	}
}

// addEach adds n words.
func (h *hasher) addEach(n int, word func(i int) uint64) {
	var block [256]uint64
	for i := 0; i < n; {
		k := min(len(block), n-i)
		for j := range block[:k] {
			block[j] = word(i + j)
		}
		h.add(block[:k])
		i += k
	}
}

// addNumbered adds the words with the given numbers.
func (h *hasher) addNumbered(words []uint64, numbers []int64) {
	h.addEach(len(numbers), func(i int) uint64 { return words[numbers[i]] })
}

func (h *hasher) sum() uint64 {
	sum := uint64(prime5)
	if h.n >= 4 {
		sum = bits.RotateLeft64(h.lane[0], 1) + bits.RotateLeft64(h.lane[1], 7) +
			bits.RotateLeft64(h.lane[2], 12) + bits.RotateLeft64(h.lane[3], 18)
		for _, lane := range h.lane {
			sum = (sum^round(0, lane))*prime1 + prime4
		}
	}
	sum += 8 * h.n
	for _, w := range h.tail[:h.n&3] {
		sum = bits.RotateLeft64(sum^round(0, w), 27)*prime1 + prime4
	}
	sum = (sum ^ sum>>33) * prime2
	sum = (sum ^ sum>>29) * prime3
	return sum ^ sum>>32
}
