package sim

import (
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"unsafe"
)

// listChunk is the largest number of rows that a List allocates at once.
const listChunk = 1 << 14

// listRoom is the number of rows of a List that stay in memory. It is a multiple of
// listChunk.
const listRoom = 1 << 18

// List is a growing sequence of rows. The first 262,144 are in memory, later ones in a
// temporary file that disappears with the list. Rows that contain pointers all stay in
// memory. The zero value is empty.
type List[T any] struct {
	chunks [][]T // in memory; the last one follows those in the file
	n      int
	file   *os.File // contains chunks of listChunk rows
	stored int      // chunks in the file
	err    error    // error of the file: rows are missing
}

// Add appends a row.
func (l *List[T]) Add(v T) {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == cap(l.chunks[last]) {
		if l.n > listRoom && l.store(l.chunks[last]) {
			l.chunks[last] = l.chunks[last][:0]
		} else {
			l.chunks = append(l.chunks, make([]T, 0, min(max(8, l.n), listChunk)))
			last++
		}
	}
	l.chunks[last] = append(l.chunks[last], v)
	l.n++
}

// store appends a chunk to the file and reports whether its memory can be reused.
func (l *List[T]) store(chunk []T) bool {
	if binary.Size(chunk) < 0 {
		return false
	}
	if l.file == nil && l.err == nil {
		l.file, l.err = unnamedFile()
	}
	if l.err == nil {
		_, l.err = l.file.WriteAt(memory(chunk), int64(l.stored)*int64(len(memory(chunk))))
		l.stored++
	}
	return true
}

// unnamedFile creates a temporary file that disappears when it is closed.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "gentrace-*")
	if err != nil {
		return nil, fmt.Errorf("keep rows: %w", err)
	}
	return f, os.Remove(f.Name())
}

// memory returns the bytes of rows, which must not contain pointers.
func memory[T any](rows []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), len(rows)*int(unsafe.Sizeof(rows[0])))
}

// Len returns the number of rows.
func (l *List[T]) Len() int { return l.n }

// All iterates over the rows in the order in which they were added. The pointers stay
// valid, but rows must be changed by Change only. An error of the file ends the
// iteration.
func (l *List[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, chunk := range l.pieces() {
			for i := range chunk {
				if !yield(&chunk[i]) {
					return
				}
			}
		}
	}
}

// Change calls f for each row in order; f may change the row.
func (l *List[T]) Change(f func(*T)) {
	for at, chunk := range l.pieces() {
		for i := range chunk {
			f(&chunk[i])
		}
		if at >= 0 && l.err == nil {
			_, l.err = l.file.WriteAt(memory(chunk), at)
		}
	}
}

// pieces iterates over the chunks in order, with their offset in the file, -1 for memory.
func (l *List[T]) pieces() iter.Seq2[int64, []T] {
	return func(yield func(int64, []T) bool) {
		for k, chunk := range l.chunks {
			for i := 0; k == len(l.chunks)-1 && i < l.stored; i++ {
				stored := make([]T, listChunk)
				at := int64(i) * int64(len(memory(stored)))
				if l.err == nil {
					_, l.err = l.file.ReadAt(memory(stored), at)
				}
				if l.err != nil || !yield(at, stored) {
					return
				}
			}
			if !yield(-1, chunk) {
				return
			}
		}
	}
}
