package spill

import "golang.org/x/sys/unix"

// hugePages asks for memory in few large pages: each takes as long to come by as a
// small one, but for clearing it.
func hugePages(slab []byte) { unix.Madvise(slab, unix.MADV_HUGEPAGE) }
