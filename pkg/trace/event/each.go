package event

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Each calls fn with every batch of src, until the end or the first error.
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

// PartsOf returns the parts of a source, nil if it cannot be read in parts.
func PartsOf(src Source) (parts []Source, beside int) {
	if p, ok := src.(Parted); ok {
		return p.Parts()
	}
	return nil, 0
}

// Beside calls fn with 0 to n-1, at most beside calls at a time, and returns the error
// of the lowest number. After an error it starts no more calls.
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

// Tee returns a source of the same batches as src. It also calls show with each batch,
// concurrently with the reader; neither may change the batch. All calls have ended when
// Next returns io.EOF or an error.
func Tee(src Source, show func(*Batch) error) Source { return &tee{Source: src, show: show} }

type tee struct {
	Source
	show   func(*Batch) error
	beside sync.WaitGroup
	err    error // from show
}

// Next returns the next batch once show is done with the one before.
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

// EachRank calls fn for each run of consecutive rows i to j of one rank. It skips rows
// without a rank.
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

// RankEnd returns the end of the run of consecutive rows from i that have the same
// rank, or none.
func (b *Batch) RankEnd(i int) int {
	ranks, valid := b.Rank.Values[:b.Len], b.Rank.Valid
	rank, known := ranks[i], valid.Get(i)
	if known && ranks[len(ranks)-1] == rank { // Fast path: nearly all batches have one rank.
		b := unsafe.Slice((*byte)(unsafe.Pointer(&ranks[i])), 4*(len(ranks)-i))
		if bytes.Equal(b[4:], b[:len(b)-4]) && valid.all(i, len(ranks)) { // each number equals the next one
			return len(ranks)
		}
	}
	for i < len(ranks) && valid.Get(i) == known && (ranks[i] == rank || !known) {
		i++
	}
	return i
}
