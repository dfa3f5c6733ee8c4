package spill

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Store keeps pieces of bytes: in memory while they fit, after that in a
// temporary file, which has no name where the system allows it, so that nothing
// of it is left however the process ends. Put may be called from several
// goroutines, and so may Get; no other methods at the same time.
type Store struct {
	limit int64 // of bytes in memory

	mu     sync.Mutex
	slabs  [][]byte // memory that pieces lie in
	used   int64    // bytes of slabs that are taken
	file   *os.File // nil as long as memory suffices
	path   string   // of the file, "" once it has no name
	size   int64    // bytes of the file, those of tail included
	tail   []byte   // end of the file that is not yet written
	failed error
}

// Addr is where a piece lies.
type Addr int64

const (
	slabSize = 4 << 20
	tailSize = 1 << 20
	inFile   = Addr(1) << 46 // beside the offset in the file
	// MaxRecord bounds a piece.
	MaxRecord = 1 << 20
	// MaxAddr bounds an Addr: it leaves room beside it in a column of numbers.
	MaxAddr = inFile << 1
)

// NewStore returns a store that keeps up to limit bytes in memory.
func NewStore(limit int64) *Store { return &Store{limit: limit} }

// FileError is what goes wrong with the temporary file.
type FileError struct {
	Dir string // where the file is, or should have been
	Err error  // of the file system
}

// Error names the folder of the temporary file.
func (e *FileError) Error() string { return "temporary file in " + e.Dir + ": " + e.Err.Error() }

// Unwrap returns the error of the file system.
func (e *FileError) Unwrap() error { return e.Err }

// Put keeps a copy of b, of 1 to MaxRecord bytes.
func (s *Store) Put(b []byte) (Addr, error) {
	if len(b) == 0 || len(b) > MaxRecord {
		panic("BUG: a piece that is empty or too long")
	}
	a, to, err := s.reserve(len(b))
	if to != nil || err != nil {
		copy(to, b)
		return a, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return 0, s.failed
	}
	if s.file == nil {
		if s.failed = s.create(); s.failed != nil {
			return 0, s.failed
		}
	}
	if len(s.tail)+len(b) > tailSize {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	a = Addr(s.size) | inFile
	s.tail = append(s.tail, b...)
	s.size += int64(len(b))
	return a, nil
}

// reserve returns memory for a piece of n bytes, which the caller is to fill, nil
// where none is left.
func (s *Store) reserve(n int) (Addr, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+int64(n) > int64(len(s.slabs))*slabSize {
		if s.file != nil || int64(len(s.slabs)+1)*slabSize > s.limit {
			return 0, nil, nil
		}
		slab, err := newSlab(slabSize)
		if err != nil {
			return 0, nil, fmt.Errorf("memory: %w", err)
		}
		s.slabs = append(s.slabs, slab)
		s.used = int64(len(s.slabs)-1) * slabSize // what is left of the one before is not used
	}
	a := s.used
	s.used += int64(n)
	return Addr(a), s.slabs[a/slabSize][a%slabSize:][:n:n], nil
}

// create makes the file.
func (s *Store) create() error {
	f, err := os.CreateTemp("", "hostbound-")
	if err != nil {
		return s.explain(err)
	}
	s.file, s.path, s.tail = f, f.Name(), make([]byte, 0, tailSize)
	if os.Remove(s.path) == nil {
		s.path = ""
	}
	return nil
}

// explain makes an error of the file system that of the file, whose name nobody
// could find.
func (s *Store) explain(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	if s.size > 0 {
		err = fmt.Errorf("%w (%d MiB were written)", err, s.size>>20)
	}
	return &FileError{os.TempDir(), err}
}

// flush writes what is not yet in the file.
func (s *Store) flush() error {
	if len(s.tail) == 0 || s.failed != nil {
		return s.failed
	}
	if _, err := s.file.WriteAt(s.tail, s.size-int64(len(s.tail))); err != nil {
		s.failed = s.explain(err)
		return s.failed
	}
	s.tail = s.tail[:0]
	return nil
}

// fail keeps the first error.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = cmp.Or(s.failed, err)
}

// Err returns the first error that putting a piece into the file, or a log, has met.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Spilled returns the number of bytes in the file.
func (s *Store) Spilled() int64 { return s.size }

// Get returns n bytes from a on, of one piece. They are in the memory of the
// store or in that of scratch, which is made larger where it must be.
func (s *Store) Get(a Addr, n int, scratch *[]byte) ([]byte, error) {
	if a&inFile == 0 { // Fast path: pieces in memory do not change.
		at := int64(a)
		s.mu.Lock()
		slab := s.slabs[at/slabSize]
		s.mu.Unlock()
		return slab[at%slabSize:][:n:n], nil
	}
	s.mu.Lock()
	err := s.flush()
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if cap(*scratch) < n {
		*scratch = make([]byte, n+n/4)
	}
	b := (*scratch)[:n]
	if _, err := s.file.ReadAt(b, int64(a&^inFile)); err != nil {
		return nil, s.explain(err)
	}
	return b, nil
}

// Close gives back memory and file. A second call does nothing.
func (s *Store) Close() error {
	for _, slab := range s.slabs {
		freeSlab(slab)
	}
	s.slabs, s.used, s.limit, s.tail = nil, 0, 0, nil
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.path != "" {
		err = errors.Join(err, os.Remove(s.path))
	}
	s.file, s.failed = nil, os.ErrClosed
	return err
}
