package nsys

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// row is a row of the stream as text, "-" for null; names are quoted.
type row [event.ColStep]string

func (r row) String() string { return strings.Join(r[:], " ") }

// reference computes the rows that a trace must be read as, by rules that are as
// simple as they can be and know nothing of how the reader goes about it.
type reference struct {
	t       *sim.Trace
	columns map[string][]string // that the export has
	offset  int64               // of written times

	gpu    []*referenceRow
	host   []*referenceRow
	ranks  []uint64 // processes
	sizes  map[string]int32
	device map[uint64]int64
}

// referenceRow is a row before it has a rank. Numbers that are not there are nil.
type referenceRow struct {
	kind              event.Kind
	table             int // place in the order of tables
	start, end        int64
	process           uint64 // 0 where the export does not say
	device, stream    *int64
	thread            *int64
	name              string
	class             string
	corr, node, bytes *int64
	domain            string
	launch            *referenceRow
}

// newReference makes that of a trace that was written to an export with these
// columns.
func newReference(t *sim.Trace, columns map[string][]string) *reference {
	w := &reference{t: t, columns: columns, offset: t.Session.Shift, device: map[uint64]int64{}, sizes: map[string]int32{}}
	if t.Session.Normalize {
		w.offset += t.Session.UTC
	}
	w.nvtx()
	w.calls()
	w.work()
	w.overheads()
	w.adopt()
	w.number()
	w.join()
	return w
}

// has reports whether the export has a table and in it all of some columns.
func (w *reference) has(table string, columns ...string) bool {
	have, ok := w.columns[table]
	for _, c := range columns {
		ok = ok && slices.Contains(have, c)
	}
	return ok
}

// optional returns v where the export has its column, 0 standing for null.
func (w *reference) optional(table, column string, v int64) *int64 {
	if v == 0 || !w.has(table, column) {
		return nil
	}
	return &v
}

func (w *reference) processID(table, column string, p int32) uint64 {
	if !w.has(table, column) {
		return 0
	}
	q := w.t.Processes[p]
	return uint64(q.HW)<<56 | uint64(q.VM)<<48 | uint64(q.PID)<<24
}

// text is a text of StringIds that a column refers to.
func (w *reference) text(table, column string, id sim.StringID) string {
	if !w.has(table, column) || !w.has("StringIds", "id", "value") {
		return ""
	}
	return w.t.Text(id)
}

// adopt gives rows that do not say their process to the one with most GPUs, or
// else most launches, calls, markers, ranges.
func (w *reference) adopt() {
	streams := map[string]uint64{}
	unnamed := false
	for _, r := range w.gpu {
		if r.process == 0 {
			unnamed = true
			continue
		}
		streams[strconv.FormatUint(r.process, 10)+" "+word(r.device)+" "+word(r.stream)] = r.process
	}
	counts := map[uint64]int{}
	for _, p := range streams {
		counts[p]++
	}
	rules := []func(r *referenceRow) bool{
		func(r *referenceRow) bool { return r.class == "launch" || r.class == "graph_launch" },
		func(r *referenceRow) bool { return r.kind == event.API },
		func(r *referenceRow) bool { return r.class == "step" },
		func(r *referenceRow) bool { return r.kind == event.NVTX },
	}
	for _, rule := range rules {
		if !unnamed || len(counts) > 0 {
			break
		}
		for _, r := range w.host {
			if r.process != 0 && rule(r) {
				counts[r.process]++
			}
		}
	}
	var best uint64
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		if counts[p] > counts[best] {
			best = p
		}
	}
	for _, r := range append(slices.Clone(w.gpu), w.host...) {
		if r.process == 0 {
			r.process = best
		}
	}
}

// number finds the ranks.
func (w *reference) number() {
	devices := map[uint64][]int64{}
	for _, r := range w.gpu {
		if r.kind != event.Kernel && r.kind != event.Graph {
			continue
		}
		if devices[r.process] == nil {
			devices[r.process] = []int64{}
		}
		if r.device != nil {
			devices[r.process] = append(devices[r.process], *r.device)
		}
	}
	for p, list := range devices {
		w.ranks = append(w.ranks, p)
		if len(list) > 0 {
			w.device[p] = slices.Min(list)
		}
	}
	slices.SortFunc(w.ranks, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(w.device[a], w.device[b]), cmp.Compare(a>>24&0xffffff, b>>24&0xffffff), cmp.Compare(a, b))
	})
	for _, r := range w.gpu {
		if r.device == nil && r.kind != event.Sync {
			r.device = new(w.device[r.process])
		}
	}
}

// join finds for each GPU row the first call of its process with its id.
func (w *reference) join() {
	for _, g := range w.gpu {
		for _, c := range w.host {
			if c.kind == event.API && g.corr != nil && c.corr != nil && *c.corr == *g.corr && c.process == g.process &&
				(g.launch == nil || c.start < g.launch.start) {
				g.launch = c
			}
		}
	}
}

func word(v *int64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatInt(*v, 10)
}

func orDash(s string) string { return cmp.Or(s, "-") }

// rank returns the rank of a process, -1 for none.
func (w *reference) rank(process uint64) int { return slices.Index(w.ranks, process) }

// rows returns all rows in the order of the stream.
func (w *reference) rows() []row {
	all := append(slices.Clone(w.host), w.gpu...)
	place := func(r *referenceRow) int {
		if k := w.rank(r.process); k >= 0 {
			return k
		}
		return len(w.ranks)
	}
	slices.SortStableFunc(all, func(a, b *referenceRow) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.table, b.table))
	})
	var rows []row
	for _, r := range all {
		rows = append(rows, w.row(r))
	}
	return rows
}

func (w *reference) row(r *referenceRow) row {
	var s row
	for c := range s {
		s[c] = "-"
	}
	s[event.ColKind] = event.Kinds[r.kind]
	s[event.ColStart], s[event.ColEnd] = word(&r.start), word(&r.end)
	if k := w.rank(r.process); k >= 0 {
		s[event.ColRank] = strconv.Itoa(k)
	}
	s[event.ColDevice], s[event.ColStream], s[event.ColThread] = word(r.device), word(r.stream), word(r.thread)
	s[event.ColName], s[event.ColClass] = strconv.Quote(r.name), orDash(r.class)
	s[event.ColCorrelation], s[event.ColGraphNode], s[event.ColBytes] = word(r.corr), word(r.node), word(r.bytes)
	s[event.ColDomain] = orDash(r.domain)
	if r.launch != nil {
		s[event.ColLaunchStart], s[event.ColLaunchEnd] = word(&r.launch.start), word(&r.launch.end)
		s[event.ColLaunchThread] = word(r.launch.thread)
	}
	return s
}

// TestReferenceRandom compares the reader with the reference on random traces: every
// schema, tables and columns that are missing, reduced exports.
func TestReferenceRandom(t *testing.T) {
	seeds := uint64(400)
	if os.Getenv("HOSTBOUND_ALL") == "" {
		seeds = 60
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			tr, opt := sim.Random(seed)
			path, columns := written(t, tr, opt)
			if !isExport(columns) {
				t.Skip("nothing was written")
			}
			sameAsReference(t, newReference(tr, columns), path)
		})
	}
}

// TestReferenceSimulated does the same on runs of an engine.
func TestReferenceSimulated(t *testing.T) {
	configs := map[string]func(*sim.Config){
		"default":   func(*sim.Config) {},
		"whole":     func(c *sim.Config) { c.Mode = sim.Whole },
		"eager":     func(c *sim.Config) { c.Mode, c.Literal, c.Markers = sim.Eager, true, sim.AllMarkers()[0] },
		"several":   func(c *sim.Config) { c.Ranks, c.Devices, c.Frontend, c.Overheads = 2, 2, true, true },
		"gil":       func(c *sim.Config) { c.GIL, c.GCEvery = 30, 3 },
		"lost":      func(c *sim.Config) { c.Dropped = 0.3 },
		"normalise": func(c *sim.Config) { c.Ranks = 1 },
	}
	for name, change := range configs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sim.Default()
			c.Steps, c.Warmup, c.Layers = 4, 1, 2
			change(&c)
			tr, err := sim.Simulate(c)
			if err != nil {
				t.Fatal(err)
			}
			tr.Session.Normalize = name == "normalise"
			path, columns := written(t, tr, sim.Options{})
			sameAsReference(t, newReference(tr, columns), path)
		})
	}
}
