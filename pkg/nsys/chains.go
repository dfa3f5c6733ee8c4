package nsys

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"unsafe"

	"github.com/hostbound/hostbound/pkg/cudaname"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/symbol"
)

// How nsys records stacks: a table of callchains has a row for each frame, which names the
// stack by its id; samples and calls refer to that.

// Bounds of what is kept of frames: how many of a stack, those next to the leaf, and how
// many of a table in which those of a stack lie apart.
const (
	maxStackDepth = 256
	maxLoose      = 1 << 23
)

// cutFrame stands for the frames of a stack beyond the bound.
const cutFrame = "[Max depth]"

// frameKey is a frame as an export has it.
type frameKey struct {
	function, module int64 // of StringIds, none for null
	unresolved       bool
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
	ids     []int64 // of its stacks, ascending
	stacks  []int32 // of each its number in the table
	calls   bool    // the profiler recorded them in a call: its own frames next to the leaf are left out

	numbers map[frameKey]int32
	recent  cache[int32]  // of numbers, by symbol, module and unresolved
	names   []string      // of frames
	family  []event.Class // of frames
	inside  []bool        // the family holds for what the frame calls

	rows []chainFrame
	same map[string]int32 // numbers in the table by the bytes of their frames' numbers
	text strings.Builder
}

// errOrder says that frames of one stack lie apart in their table.
var errOrder = errors.New("frames out of order")

// readChains reads a table of callchains. In every export seen the frames of a stack
// stand together, so that those of one block are held at a time; where they do not, all are.
func (r *report) readChains(s scanner, columns map[string][]string, table string) (*chains, error) {
	c, err := r.scanChains(s, columns, table, true)
	if err == errOrder {
		c, err = r.scanChains(s, columns, table, false)
	}
	return c, err
}

// scanChains reads a table of callchains, whose rows are in order where ordered is set.
func (r *report) scanChains(s scanner, columns map[string][]string, table string, ordered bool) (*chains, error) {
	c := &chains{
		strings: &r.strings, table: &r.stacks, calls: table == cudaStacksTable,
		numbers: map[frameKey]int32{}, same: map[string]int32{},
	}
	required := []string{"id", "symbol", "stackDepth"}
	if slices.ContainsFunc(required, func(name string) bool { return !slices.Contains(columns[table], name) }) {
		return c, nil
	}
	low, high, err := s.rows(table)
	if err != nil {
		return nil, err
	}
	wanted := ints(append(required, "module", "unresolved")...)
	err = scan(s, table, columns[table], wanted, low, high, func(b *block) error { return c.add(b, ordered) })
	if err != nil {
		return nil, err
	}
	if len(c.rows) > maxLoose {
		r.warn("%s has %d frames and more in no order: no stack of it is read", table, maxLoose)
		c.rows = nil
	}
	slices.SortStableFunc(c.rows, chainFrame.compare)
	c.join(true)
	return c, nil
}

// add takes the frames of a block, up to one more than maxLoose; those of the last stack
// wait for more of it.
func (c *chains) add(b *block, ordered bool) error {
	ids, depths := b.column("id"), b.column("stackDepth")
	symbols, modules, unresolved := b.column("symbol"), b.column("module"), b.column("unresolved")
	last, rows := chainFrame{chain: math.MinInt64}, c.rows
	if n := len(rows); n > 0 {
		last = rows[n-1]
	}
	for i := range b.n {
		if ids.Null[i] || depths.Null[i] {
			continue
		}
		key := triple{orNone(symbols, int32(i)), orNone(modules, int32(i)), unresolved.Int[i]}
		frame, known := c.recent.at(key)
		if !known {
			*frame = c.frame(frameKey{key[0], key[1], !unresolved.Null[i] && unresolved.Int[i] != 0})
		}
		f := chainFrame{ids.Int[i], int32(max(0, min(depths.Int[i], math.MaxInt32))), *frame}
		if ordered && (f.chain < last.chain || f.chain == last.chain && f.depth < last.depth) {
			return errOrder
		}
		if last = f; len(rows) <= maxLoose {
			rows = append(rows, f)
		}
	}
	if c.rows = rows; ordered {
		c.join(false)
	}
	return nil
}

// frame returns the number of a frame.
func (c *chains) frame(key frameKey) int32 {
	if k, ok := c.numbers[key]; ok {
		return k
	}
	function, module := c.strings.str(c.strings.find(key.function)), c.strings.str(c.strings.find(key.module))
	// What is not resolved has its address for a name.
	name := symbol.Frame(function, module, !key.unresolved && !strings.HasPrefix(function, "0x"))
	family, inside := symbol.Family(function, module)
	k := int32(len(c.names))
	c.numbers[key] = k
	c.names, c.family, c.inside = append(c.names, name), append(c.family, family), append(c.inside, inside)
	return k
}

// join puts the frames of each stack together; more of the last one may follow but for
// where all is set.
func (c *chains) join(all bool) {
	var frames []int32
	i := 0
	for i < len(c.rows) {
		end := i + 1
		for end < len(c.rows) && c.rows[end].chain == c.rows[i].chain {
			end++
		}
		if end == len(c.rows) && !all {
			break
		}
		frames = frames[:0]
		for k, f := range c.rows[i:end] {
			if c.calls && len(frames) == 0 && c.family[f.frame] == event.ByProfiler && i+k+1 < end {
				continue
			}
			if len(frames) <= maxStackDepth {
				frames = append(frames, f.frame)
			}
		}
		key := unsafe.Slice((*byte)(unsafe.Pointer(&frames[0])), 4*len(frames))
		number, ok := c.same[string(key)]
		if !ok {
			number = c.table.number(c.textOf(frames), c.familyOf(frames))
			c.same[string(key)] = number
		}
		c.ids, c.stacks = append(c.ids, c.rows[i].chain), append(c.stacks, number)
		i = end
	}
	c.rows = append(c.rows[:0], c.rows[i:min(len(c.rows), i+maxStackDepth+1)]...) // more of the last one is cut in any case
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
		c.text.WriteString(c.names[f])
	}
	return c.text.String()
}

// familyOf returns the family of a stack whose leaf comes first.
func (c *chains) familyOf(frames []int32) event.Class {
	for _, f := range frames {
		if c.inside[f] {
			return c.family[f]
		}
	}
	return c.family[frames[0]]
}

// cudaFunction matches the names of CUDA calls.
var cudaFunction = regexp.MustCompile(`^cu(da)?[A-Z]\w*$`)

// alignCalls makes sure that the stacks of CUDA calls are those of the calls that name
// them: where a function of CUDA is in one, the call has to be. Exports of nsys 2022.2 name
// with each call the stack of the call before it.
func (r *report) alignCalls(s scanner, columns map[string][]string, c *chains) error {
	low, high, err := s.rows(runtimeTable)
	if err != nil {
		return err
	}
	var wrong [2]int64 // as they are, and each with the next one
	wanted := ints("callchainId", "eventClass", "nameId")
	err = scan(s, runtimeTable, columns[runtimeTable], wanted, low, high, func(b *block) error {
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
		r.warn("%d stacks of CUDA calls are those of other calls: all are left out", wrong[0])
		c.ids, c.stacks = nil, nil
	}
	for k := range c.ids {
		c.ids[k]--
	}
	return nil
}

// isOfOther tells whether a stack is in functions of CUDA, but not in that of the call.
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
