package sim

import "iter"

// listChunk is the largest number of rows a List allocates at once.
const listChunk = 1 << 14

// List is a growing sequence of rows that never moves them: a trace of millions
// of rows costs their size and no more. Its zero value is empty.
type List[T any] struct {
	chunks [][]T
	n      int
}

// Add appends a row.
func (l *List[T]) Add(v T) {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == cap(l.chunks[last]) {
		l.chunks = append(l.chunks, make([]T, 0, min(max(8, l.n), listChunk)))
		last++
	}
	l.chunks[last] = append(l.chunks[last], v)
	l.n++
}

// Len is the number of rows.
func (l *List[T]) Len() int { return l.n }

// All goes through the rows in the order they were added. The pointers stay
// valid, and a row may be changed through them.
func (l *List[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, chunk := range l.chunks {
			for i := range chunk {
				if !yield(&chunk[i]) {
					return
				}
			}
		}
	}
}
