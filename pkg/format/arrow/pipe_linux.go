package arrow

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is the capacity that pipes are given. With the default of 64 KiB writer and
// reader alternate a dozen times per batch. It is the most that Linux allows by
// default.
const pipeSize = 1 << 20

// widenPipe enlarges a pipe. It ignores errors, and anything that is not a pipe.
func widenPipe(pipe any) {
	f, ok := pipe.(*os.File)
	if !ok {
		return
	}
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	c.Control(func(fd uintptr) {
		if have, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && have < pipeSize {
			unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize)
		}
	})
}
