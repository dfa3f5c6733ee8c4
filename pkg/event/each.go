package event

import "io"

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

// EachRank calls fn for every stretch of rows i to j that are of one rank, and
// passes over rows without a rank.
func (b *Batch) EachRank(fn func(rank int32, i, j int) error) error {
	ranks, valid := b.Rank.Values[:b.Len], b.Rank.Valid
	for i := 0; i < b.Len; {
		rank, known := ranks[i], valid.Get(i)
		j := i + 1
		for j < b.Len && valid.Get(j) == known && (ranks[j] == rank || !known) {
			j++
		}
		if known {
			if err := fn(rank, i, j); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}
