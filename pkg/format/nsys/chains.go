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

// How nsys records stacks: a table of callchains has a row for each frame, which names the
// stack by its id; samples and calls refer to that.

// maxStackDepth is how many frames of a stack are kept, those next to the leaf.
const maxStackDepth = 256

// cutFrame stands for the frames of a stack beyond the bound.
const cutFrame = "[Max depth]"

// frameKey is a frame as an export has it.
type frameKey struct {
	function, module int64 // of StringIds, none for null
	unresolved       bool
}

// frame is what is known of a frame.
type frame struct {
	name      string
	family    event.Class
	inside    bool // the family holds for what the frame calls
	unnamed   bool // nothing but an address is known
	collector bool // nobody but the garbage collector calls it
}

// chainFrame is a frame of a stack by its place, 0 for the leaf.
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
	ids     []int64       // of its stacks, ascending
	stacks  []int32       // of each its number in the table; among distinct while it is read
	calls   bool          // the profiler recorded them in a call: its own frames next to the leaf are left out

	numbers map[frameKey]int32
	recent  cache[int32] // of numbers, by symbol, module and unresolved
	known   []frame      // by number

	last     chainFrame       // the one before
	some     bool             // there was one
	done     bool             // its stack is among ids
	frames   []int32          // that are kept of its stack so far
	distinct [][]int32        // the frames of each stack, the leaf first
	same     map[string]int32 // numbers in distinct by the bytes of their frames' numbers
	text     strings.Builder
	came     *[1 << cameBits]cameStack // stacks that came last, where they are ordered
}

// wantedStacks are the ids of the stacks that rows have, ascending.
type wantedStacks struct {
	ids  []int64
	next int // the first that is not less than the id that was asked for last
}

// has reports whether a stack is wanted. Ids come in ascending order as a rule.
func (w *wantedStacks) has(id int64) bool {
	if w.next > 0 && w.ids[w.next-1] >= id {
		w.next, _ = slices.BinarySearch(w.ids, id)
	}
	for w.next < len(w.ids) && w.ids[w.next] < id {
		w.next++
	}
	return w.next < len(w.ids) && w.ids[w.next] == id
}

// errOrder says that frames of one stack lie apart in their table.
var errOrder = errors.New("frames out of order")

// readChains reads the wanted stacks of a table of callchains, and asks for those of callers where
// it has to know them. In every export seen the frames of a stack stand together, the leaf first,
// so that one stack is held at a time; a table in which they do not has none, and a warning says so.
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

// frameRows are the rows of a block of a table of callchains.
type frameRows struct{ ids, depths, symbols, modules, unresolved *sqlite.Vector }

// stack returns how many rows from row i of n on are of one stack, as far as one sees.
func (f *frameRows) stack(i, n int) int {
	if !f.ids.Full {
		return 1
	}
	k, ids := i+1, f.ids.Int
	for id := ids[i]; k < n && ids[k] == id; k++ {
	}
	return k - i
}

// add adds the frames of a block. A stack of which all rows are seen and that came lately is not
// put together again.
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

// addRow adds the frame in a row.
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
	// What is not resolved has its address for a name.
	unnamed := key.unresolved || strings.HasPrefix(function, "0x")
	family, inside := cudaname.Family(function, module)
	k := int32(len(c.known))
	c.numbers[key] = k
	c.known = append(c.known, frame{
		cudaname.Frame(function, module, !unnamed), family, inside, unnamed, !unnamed && family == event.GC && cudaname.Collectors(function),
	})
	return k
}

// put adds a frame of the stack under way or, where that has none left, of the next one.
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

// end ends the stack under way, if there is one.
func (c *chains) end() {
	if !c.some || c.done {
		return
	}
	if len(c.frames) == 0 { // all are the profiler's
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

// settle gives the stacks their numbers in the table, when all of them are known: what a
// function without a name is can be known from another stack, of those of callers.
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

// collectors marks what is known to be garbage collection in a stack, though it has no name: the
// function that calls one which the collector alone calls, and the call by which that one was
// entered, with all that it leads to. What calls that may be anything.
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
	if k := uint64(id - c.ids[0]); k < uint64(len(c.ids)) && c.ids[k] == id { // Fast path: no id is left out.
		return c.stacks[k], true
	}
	k, ok := slices.BinarySearch(c.ids, id)
	if !ok {
		return 0, false
	}
	return c.stacks[k], true
}

// textOf returns the text of a stack whose leaf comes first.
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

// familyOf returns the family of a stack whose leaf comes first.
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

// alignCalls makes sure that the stacks of CUDA calls are those of the calls that name
// them: where a function of CUDA is in one, the call has to be. Exports of nsys 2022.2 name
// with each call the stack of the call before it.
func (r *report) alignCalls(s scanner, columns map[string][]string, c *chains) error {
	var wrong [2]int64 // as they are, and each with the next one
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

// isOfOther reports whether a stack is in functions of CUDA, but not in that of the call.
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
