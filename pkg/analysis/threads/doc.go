// Package threads says what threads of a run do as a whole, whether a GPU waits for them or
// not: which has a whole core's work to do, which spins, and whether all are stopped together by
// a limit on CPU time.
//
// It reads rows of the kinds run, os and api in the order of their start within a process, keeps a
// few numbers of each thread, and of each process the instants at which threads came back.
//
// # Stopped
//
// A thread is stopped where it is off its CPU in no call: it had work, and was not let. Threads
// that others keep off their CPU come back at any time. Those that a limit on CPU time stops
// (cpu.cfs_quota_us, cpu.max) come back when the kernel's timer begins a new period, so that
// these instants have one phase: that is what the Rayleigh test of circular statistics asks, by
// which angles at random are told from those with a direction. Where the calls of the system were
// not recorded, off its CPU may mean that it sleeps, and nothing is said.
package threads
