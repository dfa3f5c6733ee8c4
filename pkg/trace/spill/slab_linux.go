package spill

import "golang.org/x/sys/unix"

// hugePages asks for few large pages: faulting one in takes as long as a small one,
// apart from clearing it.
func hugePages(slab []byte) { unix.Madvise(slab, unix.MADV_HUGEPAGE) }
