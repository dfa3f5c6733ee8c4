// The calls of OS libraries are classified by what a thread inside them waits for.
//
// The class of a call is the first of these that matches its name, without leading
// underscores:
//
//	lock    pthread mutexes, reader-writer and spin locks
//	wait    condition variables, barriers, semaphores, futexes
//	join    the end of a thread or a process
//	sleep   time
//	io      poll, select and epoll, sockets, message queues
//	driver  ioctl, which is how libcuda talks to its driver
//	memory  mappings and the heap's limit
//	file    files and what their names stand for; read and write of any descriptor
//	other   everything else
//
// A class says what such a call may wait for, not that the thread waited. fread is off
// the CPU for four fifths of its time, mmap for a thirtieth.

package cudaname

import (
	"regexp"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// OSClasses are all classes of OS calls, in the order in which they are tried.
var OSClasses = []event.Class{event.OSLock, event.OSWait, event.OSJoin, event.OSSleep, event.OSIO, event.OSDriver, event.OSMemory, event.OSFile, event.Other}

// osPatterns are those of all classes but the last, compiled when first needed: most
// recordings have none of these calls.
var osPatterns = [...]func() *regexp.Regexp{
	later(`^pthread_(mutex|rwlock|spin)_`),
	later(`^(pthread_(cond|barrier)_|sem_|futex)`),
	later(`^(pthread_\w*join|wait(pid|id|3|4)?$)`),
	later(`^(sleep|usleep|nanosleep|clock_nanosleep)$`),
	later(`^(p?poll|p?select|epoll_p?wait|recv|send|accept|connect|mq_)`),
	later(`^ioctl$`),
	later(`^(mmap|munmap|mremap|madvise|mprotect|s?brk$)`),
	later(`^(open|creat|fopen|fdopen|freopen|close|fclose|p?read|fread|p?write|fwrite|fget|fput|getline|` +
		`fflush|fsync|fdatasync|sync|l?stat|fstat|access|unlink|rename|lseek|fseek|f?truncate)`),
}

// ClassOS returns the class of an OS call. Call it once per name, not once per row.
func ClassOS(name string) event.Class {
	name = strings.TrimLeft(name, "_")
	for k, pattern := range osPatterns {
		if pattern().MatchString(name) {
			return OSClasses[k]
		}
	}
	return event.Other
}

// promptCalls matches calls that return at once, whatever others do.
var promptCalls = later(`^(pthread_\w+_(unlock|try\w+|init|destroy|signal|broadcast)|pthread_tryjoin_np|sem_(post|trywait|getvalue|init|destroy)|sched_yield)$`)

// Waits reports whether a call may wait at all. A thread that is off its CPU in one that
// does not was preempted, for example in pthread_cond_signal by the thread that it woke.
func Waits(name string) bool { return !promptCalls().MatchString(strings.TrimLeft(name, "_")) }

var asks = later(`^(p?poll|p?select|epoll_p?wait|sched_yield|pthread_yield)$`)

// Asks reports whether a call polls or yields, and returns: a thread that is on a CPU in
// it spins.
func Asks(name string) bool { return asks().MatchString(strings.TrimLeft(name, "_")) }
