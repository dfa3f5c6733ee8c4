package parquet

import "github.com/hostbound/hostbound/pkg/trace/event"

// Limits on a dictionary. In a larger one, indexes are hardly smaller than values, and
// readers would need much memory.
const (
	maxDictionary     = 32 << 10
	maxDictionaryText = 2 << 20
)

// builder makes a dictionary of values, in order of first use, and the indexes that
// replace them. It keeps its memory for the next column, except maps that grew large.
type builder struct {
	intValues  []int64
	textValues event.Strings
	numbers    []int32 // one per value given

	ofInt  map[int64]int32
	ofText map[string]int32
}

// limit returns the most different values among n for which a dictionary pays: a
// quarter, plus a few for short columns.
func limit(n int) int { return min(n/4+16, maxDictionary) }

// ints makes the dictionary of integers. It gives up and returns false if too many
// values differ. A run of equal values costs one look-up.
func (b *builder) ints(values []int64) bool {
	b.intValues, b.numbers, b.ofInt = b.intValues[:0], b.numbers[:0], emptied(b.ofInt)
	most := limit(len(values))
	for i := 0; i < len(values); {
		v := values[i]
		n, known := b.ofInt[v]
		if !known {
			n = int32(len(b.intValues))
			b.ofInt[v] = n
			if b.intValues = append(b.intValues, v); len(b.intValues) > most {
				return false
			}
		}
		for ; i < len(values) && values[i] == v; i++ {
			b.numbers = append(b.numbers, n)
		}
	}
	return true
}

// strings is ints for strings.
func (b *builder) strings(values *event.Strings) bool {
	b.textValues.Reset()
	b.numbers, b.ofText = b.numbers[:0], emptied(b.ofText)
	most := limit(values.Len())
	for i := range values.Len() {
		t := values.Get(i)
		n, known := b.ofText[string(t)]
		if !known {
			n = int32(b.textValues.Len())
			b.ofText[string(t)] = n
			if b.textValues.AppendBytes(t); b.textValues.Len() > most || len(b.textValues.Data) > maxDictionaryText {
				return false
			}
		}
		b.numbers = append(b.numbers, n)
	}
	return true
}

// emptied returns an empty map: m itself unless it grew large.
func emptied[K comparable](m map[K]int32) map[K]int32 {
	if m == nil || len(m) > 1<<12 {
		return map[K]int32{}
	}
	clear(m)
	return m
}

// enum makes the dictionary of names from their codes.
func (b *builder) enum(names []string, codes []int64) {
	b.textValues.Reset()
	b.numbers = b.numbers[:0]
	numbers := make([]int32, len(names))
	for _, v := range codes {
		if numbers[v] == 0 {
			b.textValues.Append(names[v])
			numbers[v] = int32(b.textValues.Len())
		}
		b.numbers = append(b.numbers, numbers[v]-1)
	}
}
