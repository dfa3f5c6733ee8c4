package kineto

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// counts are what a loader counts.
type counts struct {
	event.Tally // steps are not counted until the markers are known
	rows        [noCategory]int64
	elements    int64 // elements of the array of events that are objects
	broken      int64 // objects that are not events
	untimed     int64 // events without usable times
	fine        int64 // times with a fraction of a microsecond

	starts      event.Span        // first and last start
	processes   []process         // of calls, at most maxProcesses
	device      int64             // lowest device of GPU rows, none if no row names one
	reduces     int64             // lowest device with kernels of class allreduce, 0 if these name none; none if there are no such kernels
	collectives map[int32][]int64 // their ends, by name
	groups      map[int32]int32   // largest number of ranks in a collective, by name
	markers     []row             // ranges that may mark forward steps
	sample      sample            // of GPU rows
	foreign     int64             // events of accelerators that are not supported
	events      bool              // an element of the array is an event
}

// isString reports whether a value is a string.
func isString(value []byte) bool { return len(value) > 1 && value[0] == '"' }

// newCounts returns the counts of no rows.
func newCounts() counts {
	return counts{
		Tally: event.NoTally, starts: event.NoSpan, device: none, reduces: none,
		collectives: map[int32][]int64{}, groups: map[int32]int32{},
	}
}

// group records the number of ranks of a collective. Invalid sizes are ignored.
func (c *counts) group(name int32, size int64) {
	if 0 < size && size <= maxWorld {
		c.groups[name] = max(c.groups[name], int32(size))
	}
}

// lowest returns the lower of two numbers, either of which may be none.
func lowest(a, b int64) int64 {
	if a == none || b == none {
		return max(a, b)
	}
	return min(a, b)
}

// row counts a row; device is that of a GPU row.
func (c *counts) row(r *row, device int64) {
	c.rows[r.category]++
	c.Kinds[kinds[r.category]]++
	c.starts.Join(event.Span{Start: r.start, End: r.start})
	if r.start%1000 != 0 {
		c.fine++
	}
	if r.class >= 0 {
		c.Classes[r.class]++
	}
	if r.marker != noMarker {
		c.markers = append(c.markers, *r)
	}
	if !kinds[r.category].IsGPU() {
		return
	}
	c.Busy.Join(event.Span{Start: r.start, End: r.end})
	c.sample.add(r.key())
	c.device = lowest(c.device, device)
	if r.category != kernelCategory {
		return
	}
	c.GPU.Join(event.Span{Start: r.start, End: r.end})
	if r.class == event.Allreduce {
		c.reduces = lowest(c.reduces, max(device, 0))
	}
	if r.class.IsCollective() {
		c.collectives[r.name] = append(c.collectives[r.name], r.end)
	}
}

// process is a process that has calls in the document.
type process struct {
	pid   string // as in the document
	calls int64
}

// maxProcesses is how many processes are distinguished: a document should have one.
const maxProcesses = 64

// caller counts calls of a process.
func (c *counts) caller(pid []byte, calls int64) {
	k := slices.IndexFunc(c.processes, func(p process) bool { return p.pid == string(pid) })
	switch {
	case k >= 0:
		c.processes[k].calls += calls
	case len(c.processes) < maxProcesses:
		c.processes = append(c.processes, process{string(pid), calls})
	default:
		c.processes[maxProcesses-1].calls += calls
	}
}

// process returns the pid of most calls, "" if there are none, and whether the document
// was merged from several processes: more than one call in ten belongs to others.
func (c *counts) process() (pid string, merged bool) {
	var most process
	all := int64(0)
	for _, p := range c.processes {
		all += p.calls
		if p.calls > most.calls {
			most = p
		}
	}
	return most.pid, mergedCalls*(all-most.calls) > all
}

// add adds the counts of d.
func (c *counts) add(d *counts) {
	for i, n := range d.rows {
		c.rows[i] += n
	}
	c.Join(&d.Tally)
	c.elements += d.elements
	c.broken += d.broken
	c.untimed += d.untimed
	c.fine += d.fine
	c.starts.Join(d.starts)
	for _, p := range d.processes {
		c.caller([]byte(p.pid), p.calls)
	}
	c.device, c.reduces = lowest(c.device, d.device), lowest(c.reduces, d.reduces)
	for name, ends := range d.collectives {
		c.collectives[name] = append(c.collectives[name], ends...)
	}
	for name, size := range d.groups {
		c.group(name, int64(size))
	}
	c.markers = append(c.markers, d.markers...)
	c.foreign += d.foreign
	c.events = c.events || d.events
	c.sample.shift = max(c.sample.shift, d.sample.shift)
	for _, key := range d.sample.keys {
		c.sample.add(key)
	}
}

// sample holds the keys of GPU rows, or, if there are many, the keys whose highest bits
// are 0. This choice does not depend on the order of the rows.
type sample struct {
	keys  []uint64
	shift int // number of those bits
}

// maxSample is the most keys that are kept. Tests change it.
var maxSample = 1 << 14

// key returns a hash of the row. Equal rows have the same key and are one row repeated: a
// stream runs one thing at a time.
func (r *row) key() uint64 {
	when := (uint64(r.start)*0x9e3779b97f4a7c15 ^ uint64(r.correlation)) * 0xbf58476d1ce4e5b9
	when = (when ^ when>>31 ^ uint64(r.end)) * 0x94d049bb133111eb
	what := (uint64(r.name)<<32 | uint64(r.owner)) * 0x9e3779b97f4a7c15
	return when&^0xffffffff | (when^what>>32)&0xffffffff
}

// add adds a key.
func (s *sample) add(key uint64) {
	for ; len(s.keys) >= maxSample && s.shift < 32; s.shift++ {
		s.keys = slices.DeleteFunc(s.keys, func(k uint64) bool { return k>>(63-s.shift) != 0 })
	}
	if key>>(64-s.shift) == 0 && len(s.keys) < maxSample {
		s.keys = append(s.keys, key)
	}
}

// again returns how many rows repeat an earlier row; an estimate if the sample is not
// of all rows.
func (s *sample) again() int64 {
	all := len(s.keys)
	slices.Sort(s.keys)
	return int64(all-len(slices.Compact(s.keys))) << s.shift
}
