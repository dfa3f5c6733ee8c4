//go:build unix

package spill

import "golang.org/x/sys/unix"

// newSlab returns memory outside the Go heap. On the heap the garbage collector would
// let as much garbage accumulate as the store holds.
func newSlab(size int) ([]byte, error) {
	slab, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		hugePages(slab)
	}
	return slab, err
}

func freeSlab(slab []byte) { unix.Munmap(slab) }
