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
	if valid == nil {
		for ; i+4 <= len(ranks); i += 4 {
			if q := (*[4]int32)(ranks[i:]); (q[0]^rank)|(q[1]^rank)|(q[2]^rank)|(q[3]^rank) != 0 {
				break
			}
		}
		for i < len(ranks) && ranks[i] == rank {
			i++
		}
		return i
	}
	for i < len(ranks) && valid.Get(i) == known && (ranks[i] == rank || !known) {
		i++
	}
	return i
}
