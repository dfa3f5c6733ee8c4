package cudaname

import (
	"fmt"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

func TestClassOS(t *testing.T) {
	for class, names := range map[event.Class][]string{
		event.OSLock:   {"pthread_mutex_lock", "pthread_rwlock_rdlock", "__pthread_mutex_timedlock", "pthread_spin_lock"},
		event.OSWait:   {"pthread_cond_timedwait", "sem_wait", "futex", "futex_wait", "pthread_barrier_wait"},
		event.OSJoin:   {"pthread_join", "pthread_timedjoin_np", "waitpid", "wait", "wait4"},
		event.OSSleep:  {"sleep", "usleep", "nanosleep", "clock_nanosleep"},
		event.OSIO:     {"poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "recvmsg", "sendto", "accept4", "connect", "mq_receive"},
		event.OSDriver: {"ioctl"},
		event.OSMemory: {"mmap", "mmap64", "munmap", "brk", "sbrk", "madvise"},
		event.OSFile:   {"open64", "fopen", "read", "pread64", "write", "fsync", "sync_file_range", "fstat64", "lstat", "stat64", "ftruncate"},
		event.Other:    {"", "_", "pthread_create", "waitfor", "sleepy", "brkpoint", "ioctls", "backtrace", "sched_yield"},
	} {
		for _, name := range names {
			if got := ClassOS(name); got != class {
				t.Errorf("%s is %s, want %s", name, got, class)
			}
		}
	}
}

func TestWaits(t *testing.T) {
	for name, want := range map[string]bool{
		"pthread_mutex_lock": true, "pthread_cond_timedwait": true, "sem_wait": true, "pthread_barrier_wait": true, "poll": true, "": true,
		"pthread_mutex_unlock": false, "__pthread_cond_signal": false, "pthread_cond_broadcast": false, "sem_post": false, "sched_yield": false, "flock": true, "pthread_rwlock_tryrdlock": false,
	} {
		if Waits(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func ExampleClassOS() {
	fmt.Println(ClassOS("__pthread_mutex_lock"), ClassOS("epoll_wait"), ClassOS("fsync"))
	// Output: lock io file
}
