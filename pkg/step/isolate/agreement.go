package isolate

import (
	"slices"
)

// common returns how many numbers are in both lists, which are sorted.
func common(a, b []int32) (n float64) {
	for _, v := range a {
		if _, is := slices.BinarySearch(b, v); is {
			n++
		}
	}
	return n
}

// once returns the share of steps (from one element of at to the next) that contain
// exactly one of other.
func once(at, other []int32) float64 {
	n, k := 0, 0
	for i := 0; i+1 < len(at); i++ {
		for k < len(other) && other[k] < at[i] {
			k++
		}
		first := k
		for k < len(other) && other[k] < at[i+1] {
			k++
		}
		if k-first == 1 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(at)-1))
}

// union returns the sorted union of two sorted lists.
func union(a, b []int32) []int32 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
