package nsys

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// process identifies a process within a report: its global id without the thread id. 0
// is the process of rows that name none.
type process uint64

// processOf returns the process part of a global id: all but the lowest 24 bits, which
// are the thread id.
func processOf(global int64) process { return process(uint64(global) &^ 0xffffff) }

// pid returns the process id of the operating system, of 24 bits.
func (p process) pid() int64 { return int64(p >> 24 & 0xffffff) }

// noSlot is the slot of processes without GPU work.
const noSlot = int32(-1)

// track is what GPU rows of one process, device and stream have in common.
type track struct {
	process process
	device  int64 // none if the export does not say or says "the host"
	stream  int64 // none if the export does not say, or for any stream
	// active: the track has kernels or whole-graph rows; allreduce: some are of that
	// class.
	active, allreduce bool

	slot     int32        // index of the rank in the report's ranks, noSlot if it has none
	shown    int32        // the device, or the lowest one of the process if there is none
	calls    *spill.Index // of its process, nil if there are none
	recent   spill.Hint   // where the last look-up in calls ended
	lastID   int64        // the correlation of the last look-up; its result follows
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
	tid     int64 // none if the export does not say
	slot    int32 // as in track
}

// newThread returns the thread of a globalTid.
func newThread(global int64) thread {
	if global == none {
		return thread{tid: none, slot: noSlot}
	}
	return thread{process: processOf(global), tid: global & 0xffffff, slot: noSlot}
}

// interner numbers the tracks, threads and processes that loaders find.
type interner struct {
	sync.Mutex
	report    *report
	tracks    map[track]int32
	threads   map[thread]int32
	processes map[process]int32
}

// unnamed is the number of the process of rows that name none.
const unnamed = int32(0)

// track returns the numbers of a track and its process, adding them if they are new.
func (in *interner) track(t track) ownerEntry {
	in.Lock()
	defer in.Unlock()
	n := intern(in.tracks, t, &in.report.tracks, &t)
	return ownerEntry{n, in.process(t.process)}
}

// thread returns the numbers of a thread and its process, adding them if they are new.
func (in *interner) thread(t thread) ownerEntry {
	in.Lock()
	defer in.Unlock()
	n := intern(in.threads, t, &in.report.threads, &t)
	return ownerEntry{n, in.process(t.process)}
}

// process returns the number of a process, adding it if it is new. The caller holds the
// lock.
func (in *interner) process(p process) int32 { return intern(in.processes, p, &in.report.processes, p) }

// intern returns the number of a key. If the key is new, it appends its value to the
// list.
func intern[K comparable, V any](numbers map[K]int32, key K, list *[]V, value V) int32 {
	n, ok := numbers[key]
	if !ok {
		n = int32(len(*list))
		numbers[key], *list = n, append(*list, value)
	}
	return n
}

// rankID identifies the process of a rank.
type rankID struct {
	process process
	device  int64 // the lowest one
}

// findRanks finds the report's ranks and numbers them as if it were the only report.
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

// lowestDevices returns the lowest device of each process with GPU activity, 0 if none
// of its rows names a device.
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

// allreduceDevices returns for each rank the lowest device with allreduce kernels, -1
// if it has none.
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
