//go:build !unix

package spill

func newSlab(size int) ([]byte, error) { return make([]byte, size), nil }

func freeSlab([]byte) {}
