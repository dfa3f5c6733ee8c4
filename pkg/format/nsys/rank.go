package nsys

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// process identifies a process within a report: its global id with the thread
// id cut off. 0 is the process of rows that do not say theirs.
type process uint64

// processOf is the process part of a global id: all but the lowest 24 bits, which are the
// thread's.
func processOf(global int64) process { return process(uint64(global) &^ 0xffffff) }

// pid is the process id, of 24 bits, as the operating system numbers it.
func (p process) pid() int64 { return int64(p >> 24 & 0xffffff) }

// noSlot is the slot of processes without GPU work.
const noSlot = int32(-1)

// track is what GPU rows of one process, device and stream have in common.
type track struct {
	process process
	device  int64 // none where the export does not say or says "the host"
	stream  int64 // none likewise
	// active: it has kernels or whole-graph rows; allreduce: some are that.
	active, allreduce bool

	slot     int32        // of the rank in the report's ranks, noSlot for none
	shown    int32        // the device, or for none the lowest one of the process
	calls    *spill.Index // of its process, nil where there are none
	recent   spill.Hint   // where in calls the last look-up ended
	lastID   int64        // the correlation that was looked up last, and what was found
	lastCall call
	lastOK   bool
}

// Numbers that stand for "no device" and "no stream" in an export.
const (
	hostDevice = 1<<31 - 1
	anyStream  = 1<<32 - 1
)

// newTrack returns the track of a globalPid, deviceId and streamId.
func newTrack(key triple) track {
	t := track{device: key.b, stream: key.c, slot: noSlot, lastID: none}
	if key.a != none {
		t.process = processOf(key.a)
	}
	if t.device >= hostDevice || t.device < 0 {
		t.device = none
	}
	if t.stream == anyStream {
		t.stream = none
	}
	return t
}

// thread is a thread of the host.
type thread struct {
	process process
	tid     int64 // none where the export does not say
	slot    int32 // as that of a track
}

// newThread returns the thread of a globalTid.
func newThread(global int64) thread {
	if global == none {
		return thread{tid: none, slot: noSlot}
	}
	return thread{process: processOf(global), tid: global & 0xffffff, slot: noSlot}
}

// interner numbers the tracks, threads and processes that all loaders meet.
type interner struct {
	sync.Mutex
	report    *report
	tracks    map[track]int32
	threads   map[thread]int32
	processes map[process]int32
}

// unnamed is the number of the process of rows that do not say theirs.
const unnamed = int32(0)

// track returns the numbers of a track and its process, which are new or not.
func (in *interner) track(t track) ownerEntry {
	in.Lock()
	defer in.Unlock()
	n := intern(in.tracks, t, &in.report.tracks, &t)
	return ownerEntry{n, in.process(t.process)}
}

// thread returns the numbers of a thread and its process, which are new or not.
func (in *interner) thread(t thread) ownerEntry {
	in.Lock()
	defer in.Unlock()
	n := intern(in.threads, t, &in.report.threads, &t)
	return ownerEntry{n, in.process(t.process)}
}

// process returns the number of a process. The caller holds the lock.
func (in *interner) process(p process) int32 { return intern(in.processes, p, &in.report.processes, p) }

// intern returns the number of a key, which is new or not: then its value is appended to a list.
func intern[K comparable, V any](numbers map[K]int32, key K, list *[]V, value V) int32 {
	n, ok := numbers[key]
	if !ok {
		n = int32(len(*list))
		numbers[key], *list = n, append(*list, value)
	}
	return n
}

// rankID says which process a rank is.
type rankID struct {
	process process
	device  int64 // the lowest
}

// findRanks finds the report's ranks, and numbers them as if it were the only
// report.
func (r *report) findRanks() {
	lowest := r.lowestDevices()
	r.ranks = r.ranks[:0]
	for p, d := range lowest {
		r.ranks = append(r.ranks, rankID{p, d})
	}
	slices.SortFunc(r.ranks, func(a, b rankID) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.process.pid(), b.process.pid()),
			cmp.Compare(a.process>>48, b.process>>48))
	})
	slots := map[process]int32{}
	r.info.Ranks = []int32{}
	for i, id := range r.ranks {
		slots[id.process] = int32(i)
		r.info.Ranks = append(r.info.Ranks, int32(i))
	}
	of := func(p process) int32 {
		if n, ok := slots[p]; ok {
			return n
		}
		return noSlot
	}
	for _, t := range r.tracks {
		t.slot, t.shown = of(t.process), int32(t.device)
		if t.device == none {
			t.shown = int32(lowest[t.process])
		}
	}
	for _, t := range r.threads {
		t.slot = of(t.process)
	}
	r.slots = r.slots[:0]
	for _, p := range r.processes {
		r.slots = append(r.slots, of(p))
	}
	r.info.AllreduceDevices = r.allreduceDevices(len(r.ranks))
}

// lowestDevices finds the processes with GPU activity and the lowest device of
// each, 0 where none of its rows has one.
func (c *census) lowestDevices() map[process]int64 {
	lowest := map[process]int64{}
	for _, t := range c.tracks {
		if !t.active {
			continue
		}
		d, ok := lowest[t.process]
		if !ok {
			d = none
		}
		if t.device != none && (d == none || t.device < d) {
			d = t.device
		}
		lowest[t.process] = d
	}
	for p, d := range lowest {
		lowest[p] = max(d, 0)
	}
	return lowest
}

// allreduceDevices finds for each rank the lowest device that has allreduce
// kernels, -1 for a rank that has none.
func (c *census) allreduceDevices(ranks int) []int32 {
	devices := make([]int32, ranks)
	for i := range devices {
		devices[i] = -1
	}
	for _, t := range c.tracks {
		if !t.allreduce || t.slot == noSlot {
			continue
		}
		if d := &devices[t.slot]; *d < 0 || t.shown < *d {
			*d = t.shown
		}
	}
	return devices
}
