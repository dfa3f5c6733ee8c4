package event

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Each calls fn with every batch of src, to its end.
func Each(src Source, fn func(*Batch) error) error {
	for {
		b, err := src.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// PartsOf returns the parts of a source, none where it has none.
func PartsOf(src Source) (parts []Source, beside int) {
	if p, ok := src.(Parted); ok {
		return p.Parts()
	}
	return nil, 0
}

// Beside calls fn with 0 to n-1, beside of them at a time, and returns the error of the
// lowest. After an error it begins no more.
func Beside(n, beside int, fn func(k int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range min(n, beside) {
		wg.Go(func() {
			for k := int(next.Add(1)) - 1; k < n && !failed.Load(); k = int(next.Add(1)) - 1 {
				if errs[k] = fn(k); errs[k] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Tee returns a source of the same batches as src, each of which show is called with, too,
// while the reader has it: neither may change it. When the end or an error was returned
// all calls have ended.
func Tee(src Source, show func(*Batch) error) Source { return &tee{Source: src, show: show} }

type tee struct {
	Source
	show   func(*Batch) error
	beside sync.WaitGroup
	err    error // of show
}

// Next returns the next batch, when the one before has been seen by both.
func (s *tee) Next() (*Batch, error) {
	if s.beside.Wait(); s.err != nil {
		return nil, s.err
	}
	b, err := s.Source.Next()
	if err == nil {
		s.beside.Go(func() { s.err = s.show(b) })
	}
	return b, err
}

// EachRank calls fn for every stretch of rows i to j that are of one rank, and
// passes over rows without a rank.
func (b *Batch) EachRank(fn func(rank int32, i, j int) error) error {
	for i := 0; i < b.Len; {
		j := b.RankEnd(i)
		if b.Rank.Valid.Get(i) {
			if err := fn(b.Rank.Values[i], i, j); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}

// RankEnd returns where the stretch ends that begins with row i, of rows of one
// rank or of none.
func (b *Batch) RankEnd(i int) int {
	ranks, valid := b.Rank.Values[:b.Len], b.Rank.Valid
	rank, known := ranks[i], valid.Get(i)
	if known && ranks[len(ranks)-1] == rank { // Fast path: nearly all batches are of one rank.
		b := unsafe.Slice((*byte)(unsafe.Pointer(&ranks[i])), 4*(len(ranks)-i))
		if bytes.Equal(b[4:], b[:len(b)-4]) && valid.all(i, len(ranks)) { // each number is the next one
			return len(ranks)
		}
	}
	for i < len(ranks) && valid.Get(i) == known && (ranks[i] == rank || !known) {
		i++
	}
	return i
}
