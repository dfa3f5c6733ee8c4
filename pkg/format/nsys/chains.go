package nsys

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"unsafe"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// How nsys records stacks: a table of callchains has a row per frame, with the id of
// its stack. Samples and calls refer to stacks by id.

// maxStackDepth is how many frames of a stack are kept, counted from the leaf.
const maxStackDepth = 256

// cutFrame stands for the frames that were cut off.
const cutFrame = "[Max depth]"

// frameKey identifies a frame in an export.
type frameKey struct {
	function, module int64 // numbers of StringIds, none for null
	unresolved       bool
}

// frame is what is known of a frame.
type frame struct {
	name      string
	family    event.Class
	inside    bool // the family also holds for everything that the frame calls
	unnamed   bool // only an address is known
	collector bool // only the garbage collector calls it
}

// chainFrame is a frame of a stack with its depth, 0 for the leaf.
type chainFrame struct {
	chain int64
	depth int32
	frame int32 // number of its frameKey
}

// compare orders frames by stack, the leaf first.
func (f chainFrame) compare(g chainFrame) int {
	return cmp.Or(cmp.Compare(f.chain, g.chain), cmp.Compare(f.depth, g.depth))
}

// chains are the stacks of a table of callchains.
type chains struct {
	strings *stringTable
	table   *stackTable
	wanted  *wantedStacks // nil for all
	ids     []int64       // of the stacks, ascending
	stacks  []int32       // number of each stack in the table; while reading, its index in distinct
	calls   bool          // recorded in calls: the profiler's own frames next to the leaf are left out

	numbers map[frameKey]int32
	recent  cache[int32] // of numbers, by symbol, module and unresolved
	known   []frame      // by number

	last     chainFrame       // the frame before
	some     bool             // there was a frame before
	done     bool             // its stack is already in ids
	frames   []int32          // of its stack so far, without those left out
	distinct [][]int32        // frames of each stack, leaf first
	same     map[string]int32 // indexes in distinct, by the bytes of the frame numbers
	text     strings.Builder
	came     *[1 << cameBits]cameStack // recent stacks, if frames are ordered
}

// wantedStacks are the ids of the stacks that rows refer to, ascending.
type wantedStacks struct {
	ids  []int64
	next int // first index whose id is not less than the last one asked for
}

// has reports whether a stack is wanted. Ids are usually asked for in ascending order.
func (w *wantedStacks) has(id int64) bool {
	if w.next > 0 && w.ids[w.next-1] >= id {
		w.next, _ = slices.BinarySearch(w.ids, id)
	}
	for w.next < len(w.ids) && w.ids[w.next] < id {
		w.next++
	}
	return w.next < len(w.ids) && w.ids[w.next] == id
}

// errOrder is returned if the frames of a stack are not contiguous in their table.
var errOrder = errors.New("frames out of order")

// readChains reads the wanted stacks of a table of callchains, and calls callers if it
// has to know the stacks of callers. In every export seen, the frames of a stack are
// contiguous, leaf first, so only one stack is held at a time. A table with another
// order yields no stacks and a warning.
func (r *report) readChains(s scanner, columns map[string][]string, table string, stacks *wantedStacks, callers func() (*wantedStacks, error)) (*chains, error) {
	c := &chains{
		strings: &r.strings, table: &r.stacks, wanted: stacks, calls: table == cudaStacksTable,
		numbers: map[frameKey]int32{}, same: map[string]int32{},
	}
	required := []string{"id", "symbol", "stackDepth"}
	if slices.ContainsFunc(required, func(name string) bool { return !slices.Contains(columns[table], name) }) {
		return c, nil
	}
	wanted := ints(append(required, "module", "unresolved")...)
	if stacks != nil {
		wanted[0].Keep = stacks.has
	}
	switch err := scanAny(s, columns, table, wanted, c.add); {
	case err == errOrder:
		r.warn("%s has stacks whose frames are not contiguous: its stacks are not read", table)
		c.ids, c.stacks = nil, nil
		return c, nil
	case err != nil:
		return nil, err
	}
	c.end()
	return c, c.settle(callers)
}

// frameRows are the columns of a block of a callchain table.
type frameRows struct{ ids, depths, symbols, modules, unresolved *sqlite.Vector }

// stack returns how many of rows i to n belong to the stack of row i.
func (f *frameRows) stack(i, n int) int {
	if !f.ids.Full {
		return 1
	}
	k, ids := i+1, f.ids.Int
	for id := ids[i]; k < n && ids[k] == id; k++ {
	}
	return k - i
}

// add adds the frames of a block. A recent stack whose rows are all in the block is not
// assembled again.
func (c *chains) add(b *block) error {
	f := &frameRows{b.column("id"), b.column("stackDepth"), b.column("symbol"), b.column("module"), b.column("unresolved")}
	for i, n := 0, 0; i < b.n; i += n {
		n = f.stack(i, b.n)
		id := f.ids.Int[i]
		if c.wanted != nil && !c.wanted.has(id) {
			continue
		}
		var came *cameStack
		if i+n < b.n && (!c.some || id > c.last.chain) {
			if came = c.cameAs(f, i, n); came != nil && came.is(f, i, n) {
				c.end()
				c.ids, c.stacks = append(c.ids, id), append(c.stacks, came.number)
				c.last, c.some, c.done = chainFrame{chain: id}, true, true
				continue
			}
		}
		for k := range n {
			if err := c.addRow(f, int32(i+k)); err != nil {
				return err
			}
		}
		if came != nil {
			c.end()
			came.number = c.stacks[len(c.stacks)-1]
			for k, v := range f.columns() {
				came.columns[k] = append(came.columns[k][:0], v.Int[i:i+n]...)
			}
		}
	}
	return nil
}

// addRow adds the frame in row i.
func (c *chains) addRow(rows *frameRows, i int32) error {
	if rows.ids.Null[i] || rows.depths.Null[i] {
		return nil
	}
	key := triple{orNone(rows.symbols, i), orNone(rows.modules, i), rows.unresolved.Int[i]}
	frame, known := c.recent.at(key)
	if !known {
		*frame = c.frame(frameKey{key.a, key.b, !rows.unresolved.Null[i] && key.c != 0})
	}
	f := chainFrame{rows.ids.Int[i], int32(max(0, min(rows.depths.Int[i], math.MaxInt32))), *frame}
	if c.some && (f.compare(c.last) < 0 || c.done && f.chain == c.last.chain) {
		return errOrder
	}
	c.put(f)
	return nil
}

// frame returns the number of a frame.
func (c *chains) frame(key frameKey) int32 {
	if k, ok := c.numbers[key]; ok {
		return k
	}
	function, module := c.strings.str(c.strings.find(key.function)), c.strings.str(c.strings.find(key.module))
	// An unresolved frame is named by its address.
	unnamed := key.unresolved || strings.HasPrefix(function, "0x")
	family, inside := cudaname.Family(function, module)
	k := int32(len(c.known))
	c.numbers[key] = k
	c.known = append(c.known, frame{
		cudaname.Frame(function, module, !unnamed), family, inside, unnamed, !unnamed && family == event.GC && cudaname.Collectors(function),
	})
	return k
}

// put adds a frame to the current stack, or begins a new one if the frame belongs to
// another.
func (c *chains) put(f chainFrame) {
	if f.chain != c.last.chain {
		c.end()
	}
	skip := c.calls && len(c.frames) == 0 && c.known[f.frame].family == event.ByProfiler
	if !skip && len(c.frames) <= maxStackDepth {
		c.frames = append(c.frames, f.frame)
	}
	c.last, c.some, c.done = f, true, false
}

// end ends the current stack, if there is one.
func (c *chains) end() {
	if !c.some || c.done {
		return
	}
	if len(c.frames) == 0 { // all frames are the profiler's
		c.frames = append(c.frames, c.last.frame)
	}
	key := unsafe.Slice((*byte)(unsafe.Pointer(&c.frames[0])), 4*len(c.frames))
	number, ok := c.same[string(key)]
	if !ok {
		number = int32(len(c.distinct))
		c.distinct, c.same[string(key)] = append(c.distinct, slices.Clone(c.frames)), number
	}
	c.ids, c.stacks = append(c.ids, c.last.chain), append(c.stacks, number)
	c.frames, c.done = c.frames[:0], true
}

// settle numbers the stacks in the table once all are known: what a nameless function
// is may be known only from another stack, one of a caller's.
func (c *chains) settle(callers func() (*wantedStacks, error)) error {
	if slices.ContainsFunc(c.known, func(f frame) bool { return f.collector }) {
		w, err := callers()
		if err != nil {
			return err
		}
		for i, id := range c.ids {
			if w == nil || w.has(id) {
				c.collectors(c.distinct[c.stacks[i]])
			}
		}
	}
	numbers := make([]int32, len(c.distinct))
	for k, frames := range c.distinct {
		numbers[k] = c.table.number(c.textOf(frames), c.familyOf(frames))
	}
	for i, k := range c.stacks {
		c.stacks[i] = numbers[k]
	}
	c.distinct, c.same, c.came = nil, nil, nil
	return nil
}

// collectors marks functions without a name that must be garbage collection: the direct
// caller of a function that only the collector calls, and the frame above it, with all
// that they call. Anything may call that one.
func (c *chains) collectors(frames []int32) {
	for i, f := range frames {
		if !c.known[f].collector {
			continue
		}
		for _, g := range frames[i+1 : min(i+3, len(frames))] {
			if !c.known[g].unnamed {
				break
			}
			c.known[g].family, c.known[g].inside = event.GC, true
		}
	}
}

// number returns the number in the table of the stack with an id.
func (c *chains) number(id int64) (number int32, ok bool) {
	if len(c.ids) == 0 {
		return 0, false
	}
	if k := uint64(id - c.ids[0]); k < uint64(len(c.ids)) && c.ids[k] == id { // Fast path: ids are contiguous.
		return c.stacks[k], true
	}
	k, ok := slices.BinarySearch(c.ids, id)
	if !ok {
		return 0, false
	}
	return c.stacks[k], true
}

// textOf returns the text of a stack given leaf first.
func (c *chains) textOf(frames []int32) string {
	c.text.Reset()
	if len(frames) > maxStackDepth {
		frames = frames[:maxStackDepth]
		c.text.WriteString(cutFrame)
	}
	for _, f := range slices.Backward(frames) {
		if c.text.Len() > 0 {
			c.text.WriteByte(';')
		}
		c.text.WriteString(c.known[f].name)
	}
	return c.text.String()
}

// familyOf returns the family of a stack given leaf first.
func (c *chains) familyOf(frames []int32) event.Class {
	for _, f := range frames {
		if c.known[f].inside {
			return c.known[f].family
		}
	}
	return c.known[frames[0]].family
}

// cudaFunction matches the names of CUDA calls.
var cudaFunction = regexp.MustCompile(`^cu(da)?[A-Z]\w*$`)

// alignCalls checks that the stacks of CUDA calls are those of the calls that refer to
// them: if a stack has CUDA functions, the call must be one of them. In exports of nsys
// 2022.2 each call refers to the stack of the call before it.
func (r *report) alignCalls(s scanner, columns map[string][]string, c *chains) error {
	var wrong [2]int64 // as they are, and shifted by one call
	err := scanAny(s, columns, runtimeTable, ints("callchainId", "eventClass", "nameId"), func(b *block) error {
		ids, class, names := b.column("callchainId"), b.column("eventClass"), b.column("nameId")
		for i := range b.n {
			if ids.Null[i] || class.Null[i] || class.Int[i] != backtrace {
				continue
			}
			name := cudaname.API(r.strings.str(r.strings.find(orNone(names, int32(i)))))
			for shift := range wrong {
				if k, ok := c.number(ids.Int[i] + int64(shift)); ok && isOfOther(name, c.table.stacks[k]) {
					wrong[shift]++
				}
			}
		}
		return nil
	})
	if err != nil || wrong[0] == 0 {
		return err
	}
	if wrong[1] > 0 {
		r.warn("%d stacks of CUDA calls belong to other calls: all stacks of calls are left out", wrong[0])
		c.ids, c.stacks = nil, nil
	}
	for k := range c.ids {
		c.ids[k]--
	}
	return nil
}

// isOfOther reports whether a stack has CUDA functions, but not that of the call.
func isOfOther(call, stack string) bool {
	other := false
	for function := range strings.SplitSeq(stack, ";") {
		if !cudaFunction.MatchString(function) {
			continue
		}
		if cudaname.API(function) == call {
			return false
		}
		other = true
	}
	return other
}
