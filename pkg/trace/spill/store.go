package spill

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Store keeps byte records: in memory while they fit, then in a temporary file. Where
// the system allows it, the file has no name, so nothing is left behind however the
// process ends. Put and Get may be called concurrently; other methods may not.
type Store struct {
	limit int64 // of bytes in memory

	mu     sync.Mutex
	slabs  [][]byte // memory for records
	used   int64    // bytes of slabs in use
	file   *os.File // nil while memory suffices
	path   string   // of the file, "" once it has no name
	size   int64    // bytes of the file, including tail
	tail   []byte   // end of the file, not yet written
	failed error
}

// Addr is the address of a record.
type Addr int64

const (
	slabSize = 4 << 20
	tailSize = 1 << 20
	inFile   = Addr(1) << 46 // flag, beside the offset in the file
	// MaxRecord bounds the size of a record, in bytes.
	MaxRecord = 1 << 20
	// MaxAddr bounds an Addr. It leaves room for other bits in a column of numbers.
	MaxAddr = inFile << 1
)

// NewStore returns a store that keeps up to limit bytes in memory.
func NewStore(limit int64) *Store { return &Store{limit: limit} }

// FileError is an error of the temporary file.
type FileError struct {
	Dir string // where the file is, or should have been
	Err error  // from the file system
}

// Error names the folder of the temporary file.
func (e *FileError) Error() string { return "temporary file in " + e.Dir + ": " + e.Err.Error() }

// Unwrap returns the error of the file system.
func (e *FileError) Unwrap() error { return e.Err }

// Put stores a copy of b, which has 1 to MaxRecord bytes.
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

// reserve returns memory for a record of n bytes, for the caller to fill, or nil if the
// record must go to the file.
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
		s.used = int64(len(s.slabs)-1) * slabSize // the rest of the slab before stays unused
	}
	a := s.used
	s.used += int64(n)
	return Addr(a), s.slabs[a/slabSize][a%slabSize:][:n:n], nil
}

// create creates the file.
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

// explain turns an error of the file system into a FileError. It drops the file's name,
// which nobody could find.
func (s *Store) explain(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	if s.size > 0 {
		err = fmt.Errorf("%w (%d MiB were written)", err, s.size>>20)
	}
	return &FileError{os.TempDir(), err}
}

// flush writes what is not in the file yet.
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

// fail records the first error.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = cmp.Or(s.failed, err)
}

// Err returns the first error of writing to the file, or of a log.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Spilled returns the number of bytes in the file.
func (s *Store) Spilled() int64 { return s.size }

// Get returns n bytes of one record, from address a on. They are in the memory of the
// store or in scratch, which grows if it must.
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

// Close releases memory and file. A second call does nothing.
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
