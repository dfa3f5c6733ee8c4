// Osname sorts the calls of the operating system's libraries into classes, by
// what a thread inside them waits for.
//
// The class of a call is the first of these that matches its name, leading underscores
// left out:
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
// A class says what such a call may wait for, not that the thread waited: fread is off the
// CPU for four fifths of its time, mmap for a thirtieth.

package cudaname

import (
	"regexp"
	"strings"
	"sync"
)

// The classes of calls of the operating system's libraries, besides [Other].
const (
	Lock   = "lock"   // mutexes, reader-writer and spin locks
	Wait   = "wait"   // condition variables, barriers, semaphores, futexes
	Join   = "join"   // the end of a thread or process
	Sleep  = "sleep"  // time
	IO     = "io"     // poll, epoll, sockets, message queues
	Driver = "driver" // ioctl
	Memory = "memory" // mappings and the limit of the heap
	File   = "file"   // files, and read and write of any descriptor
)

// OSClasses are all classes, in the order in which they are tried.
var OSClasses = []string{Lock, Wait, Join, Sleep, IO, Driver, Memory, File, Other}

// osPatterns are compiled when a call is first classified: most recordings have none.
var osPatterns = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		Lock:   regexp.MustCompile(`^pthread_(mutex|rwlock|spin)_`),
		Wait:   regexp.MustCompile(`^(pthread_(cond|barrier)_|sem_|futex)`),
		Join:   regexp.MustCompile(`^(pthread_\w*join|wait(pid|id|3|4)?$)`),
		Sleep:  regexp.MustCompile(`^(sleep|usleep|nanosleep|clock_nanosleep)$`),
		IO:     regexp.MustCompile(`^(p?poll|p?select|epoll_p?wait|recv|send|accept|connect|mq_)`),
		Driver: regexp.MustCompile(`^ioctl$`),
		Memory: regexp.MustCompile(`^(mmap|munmap|mremap|madvise|mprotect|s?brk$)`),
		File: regexp.MustCompile(`^(open|creat|fopen|fdopen|freopen|close|fclose|p?read|fread|p?write|fwrite|fget|fput|getline|` +
			`fflush|fsync|fdatasync|sync|l?stat|fstat|access|unlink|rename|lseek|fseek|f?truncate)`),
	}
})

// ClassOS returns the class of a call by its name. It is meant to be asked once for a name,
// not once for a row.
func ClassOS(name string) string {
	name = strings.TrimLeft(name, "_")
	for _, class := range OSClasses {
		if p := osPatterns()[class]; p != nil && p.MatchString(name) {
			return class
		}
	}
	return Other
}

// promptCalls matches the calls of those classes that come back at once, whatever others do.
var promptCalls = later(`^(pthread_\w+_(unlock|try\w+|init|destroy|signal|broadcast)|pthread_tryjoin_np|sem_(post|trywait|getvalue|init|destroy)|sched_yield)$`)

// Waits reports whether a call may wait at all. Who is off its CPU in one that does not had to
// give that up: in pthread_cond_signal to the thread that it woke, say.
func Waits(name string) bool { return !promptCalls().MatchString(strings.TrimLeft(name, "_")) }

var asks = later(`^(p?poll|p?select|epoll_p?wait|sched_yield|pthread_yield)$`)

// Asks reports whether a call asks whether there is something, or lets others run, and comes back:
// a thread that is on a CPU in it spins.
func Asks(name string) bool { return asks().MatchString(strings.TrimLeft(name, "_")) }
