package arrow

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is the capacity that pipes are given: with the usual 64 KiB a batch
// takes a dozen turns of writer and reader. It is the most that Linux grants
// anybody by default.
const pipeSize = 1 << 20

// widenPipe gives a pipe more room. It is no error where that cannot be.
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
