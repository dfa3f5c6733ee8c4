package parquet

import "math/bits"

// maxDictionary is the size of a dictionary above which numbers take hardly
// less room than values, and readers would hold much memory.
const (
	maxDictionary     = 32 << 10
	maxDictionaryText = 2 << 20
)

// builder makes a dictionary of values, in the order of their first use, and
// the numbers that replace them.
type builder struct {
	intValues  []int64
	textValues Strings
	numbers    []int32

	slots []slot // a hash table, the length a power of two
	shift uint
	used  int
}

// slot is an entry of the hash table: a value's hash, or the value itself, and
// its number plus 1.
type slot struct {
	key    uint64
	number int32
}

// reset empties the builder for n values.
func (b *builder) reset() {
	b.intValues, b.numbers = b.intValues[:0], b.numbers[:0]
	b.textValues.Offsets, b.textValues.Data = append(b.textValues.Offsets[:0], 0), b.textValues.Data[:0]
	b.used = 0
	if len(b.slots) == 0 || len(b.slots) > 1<<12 {
		b.slots = make([]slot, 1<<8)
	} else {
		clear(b.slots)
	}
	b.shift = uint(64 - bits.Len(uint(len(b.slots)-1)))
}

// limit is the number of different values among n up to which a dictionary
// pays.
func limit(n int) int { return min(n/4+16, maxDictionary) }

// ints numbers values. It returns false, having given up, where there are too
// many different ones.
func (b *builder) ints(values []int64) bool {
	b.reset()
	most := limit(len(values))
	for i := 0; i < len(values); {
		v := values[i]
		n := b.find(uint64(v), func(int32) bool { return true })
		if n < 0 {
			n = b.add(uint64(v))
			b.intValues = append(b.intValues, v)
			if b.used > most {
				return false
			}
		}
		for ; i < len(values) && values[i] == v; i++ {
			b.numbers = append(b.numbers, n)
		}
	}
	return true
}

// texts does for texts what ints does for numbers.
func (b *builder) texts(texts *Strings) bool {
	b.reset()
	most := limit(texts.Len())
	for i := range texts.Len() {
		t := texts.Get(i)
		key := Sum64(t)
		n := b.find(key, func(n int32) bool { return string(b.textValues.Get(int(n))) == string(t) })
		if n < 0 {
			n = b.add(key)
			b.textValues.Append(t)
			if b.used > most || len(b.textValues.Data) > maxDictionaryText {
				return false
			}
		}
		b.numbers = append(b.numbers, n)
	}
	return true
}

// enum numbers the texts that the given values are numbers of.
func (b *builder) enum(texts []string, values []int64) {
	b.reset()
	numbers := make([]int32, len(texts))
	for _, v := range values {
		if numbers[v] == 0 {
			b.textValues.Append([]byte(texts[v]))
			numbers[v] = int32(b.textValues.Len())
		}
		b.numbers = append(b.numbers, numbers[v]-1)
	}
}

// mix is a multiplier that spreads the bits of keys, out of xxHash64.
const mix = 0x9E3779B185EBCA87

// find returns the number of the value with the given key that is the one that
// is looked for, -1 where there is none.
func (b *builder) find(key uint64, same func(number int32) bool) int32 {
	mask := uint64(len(b.slots) - 1)
	for i := key * mix >> b.shift; ; i = (i + 1) & mask {
		s := &b.slots[i]
		if s.number == 0 {
			return -1
		}
		if s.key == key && same(s.number-1) {
			return s.number - 1
		}
	}
}

// add gives a new value its number.
func (b *builder) add(key uint64) int32 {
	if 2*b.used >= len(b.slots) {
		old := b.slots
		b.slots = make([]slot, 4*len(old))
		b.shift -= 2
		for _, s := range old {
			if s.number != 0 {
				b.put(s)
			}
		}
	}
	b.used++
	b.put(slot{key: key, number: int32(b.used)})
	return int32(b.used - 1)
}

// put enters a key that is not there into the first free slot. The table is never full.
func (b *builder) put(s slot) {
	mask := uint64(len(b.slots) - 1)
	i := s.key * mix >> b.shift
	for b.slots[i].number != 0 {
		i = (i + 1) & mask
	}
	b.slots[i] = s
}
