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
	"github.com/hostbound/hostbound/pkg/spill"
	"github.com/hostbound/hostbound/pkg/symbol"
)

// Bounds of what is kept of stacks: how many are told apart and how much text they have
// together, in all reports, and how many frames of one, those next to the leaf.
const (
	maxStacks     = 1 << 17
	maxStackText  = 64 << 20
	maxStackDepth = 256
	maxLoose      = 1 << 23 // frames of a table in which those of a stack lie apart
)

// otherStack stands for stacks beyond the bounds, cutFrame for frames.
const (
	otherStack = "(other)"
	cutFrame   = "[Max depth]"
)

// stackTable is the stacks of a report, numbered.
type stackTable struct {
	texts    []string
	families []event.Class // of each
	numbers  map[string]int32
	size     int    // of the texts
	used     []bool // by number: a row of a rank has it
}

// number returns the number of a stack.
func (t *stackTable) number(text string, family event.Class) int32 {
	if k, ok := t.numbers[text]; ok {
		return k
	}
	if text != otherStack && (len(t.texts) >= maxStacks || t.size+len(text) > maxStackText) {
		return t.number(otherStack, event.Other)
	}
	if t.numbers == nil {
		t.numbers = map[string]int32{}
	}
	k := int32(len(t.texts))
	t.numbers[text] = k
	t.texts, t.families, t.used = append(t.texts, text), append(t.families, family), append(t.used, false)
	t.size += len(text)
	return k
}

// joinStacks returns the stacks that rows of several reports have, each once, in order,
// so that equal rows make equal streams; and for each report their places by its numbers.
func joinStacks(reports []*report) (texts []string, places [][]int32) {
	for _, r := range reports {
		for k, text := range r.stacks.texts {
			if r.stacks.used[k] {
				texts = append(texts, text)
			}
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	for _, r := range reports {
		of := make([]int32, len(r.stacks.texts))
		for k, text := range r.stacks.texts {
			at, _ := slices.BinarySearch(texts, text)
			of[k] = int32(at)
		}
		places = append(places, of)
	}
	return texts, places
}

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
	stacks  map[int64]int32 // numbers in the table by id
	calls   bool            // the profiler recorded them in a call: its own frames next to the leaf are left out

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
		strings: &r.strings, table: &r.stacks, stacks: map[int64]int32{}, calls: table == cudaStacksTable,
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
	err = scan(s, table, columns[table], ints(append(required, "module", "unresolved")...), low, high, func(b *block) error {
		ids, depths := b.column("id"), b.column("stackDepth")
		symbols, modules, unresolved := b.column("symbol"), b.column("module"), b.column("unresolved")
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
			if n := len(c.rows); ordered && n > 0 && c.rows[n-1].compare(f) > 0 {
				return errOrder
			}
			if len(c.rows) <= maxLoose {
				c.rows = append(c.rows, f)
			}
		}
		if ordered {
			c.join(false)
		}
		return nil
	})
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
		c.stacks[c.rows[i].chain] = number
		i = end
	}
	c.rows = append(c.rows[:0], c.rows[i:min(len(c.rows), i+maxStackDepth+1)]...) // more of the last one is cut in any case
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

// loadStacks reads the stacks of samples and calls, as far as their rows are wanted.
func (r *report) loadStacks(e export, columns map[string][]string) error {
	s, err := e.open()
	if err != nil {
		return err
	}
	defer s.close()
	r.chains = map[string]*chains{}
	for i := range eventTables {
		t := &eventTables[i]
		if t.stacks == "" || !t.in(columns) || !slices.Contains(r.host, t.kind) {
			continue
		}
		if r.chains[t.stacks], err = r.readChains(s, columns, t.stacks); err != nil {
			return r.explain(err)
		}
	}
	if c := r.chains[cudaStacksTable]; c != nil {
		if err := r.alignCalls(s, columns, c); err != nil {
			return r.explain(err)
		}
	}
	return nil
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
				if k, ok := c.stacks[ids.Int[i]+int64(shift)]; ok && isOfOther(name, c.table.texts[k]) {
					wrong[shift]++
				}
			}
		}
		return nil
	})
	if err != nil || wrong[0] == 0 {
		return err
	}
	shifted := map[int64]int32{}
	if wrong[1] == 0 {
		for id, k := range c.stacks {
			shifted[id-1] = k
		}
	} else {
		r.warn("%d stacks of CUDA calls are those of other calls: all are left out", wrong[0])
	}
	c.stacks = shifted
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

// sampledRunning is the state of a thread that was found on a CPU.
const sampledRunning = 1

// pickSamples picks the samples of known threads on a CPU; others were made where a
// thread left its CPU.
func (l *loader) pickSamples(_ *task, b *block) []int32 {
	start, threads, states, cycles := b.column("start"), b.column("globalTid"), b.column("threadState"), b.column("cpuCycles")
	l.picked = l.picked[:0]
	for i := range b.n {
		if isSpan(start, start, i) && !threads.Null[i] && (states.Null[i] || states.Int[i] <= sampledRunning) && (cycles.Null[i] || cycles.Int[i] != 0) {
			l.picked = append(l.picked, int32(i))
		}
	}
	return l.picked
}

// addSamples appends samples.
func (l *loader) addSamples(p *chunk, b *block, rows []int32) {
	p.start, p.end = appendRows(p.start, b.column("start"), rows), appendRows(p.end, b.column("start"), rows)
	l.addStacks(p, b, rows, "id")
}

// pickBacktraces picks the calls of known threads that have a stack.
func (l *loader) pickBacktraces(t *task, b *block) []int32 {
	start, end, threads, class := b.column("start"), b.column("end"), b.column("globalTid"), b.column("eventClass")
	ids, stacks := b.column("callchainId"), l.report.chains[t.table.stacks].stacks
	l.picked = l.picked[:0]
	for i := range b.n {
		switch {
		case ids.Null[i] || threads.Null[i] || !isSpan(start, end, i):
		case !class.Null[i] && (t.table.name == runtimeTable && class.Int[i] != backtrace || t.table.name == osTable && class.Int[i] != osCall):
		default:
			if _, ok := stacks[ids.Int[i]]; ok {
				l.picked = append(l.picked, int32(i))
			}
		}
	}
	return l.picked
}

// addBacktraces appends stacks of calls.
func (l *loader) addBacktraces(p *chunk, b *block, rows []int32) {
	l.addSpans(p, b, rows)
	l.addStacks(p, b, rows, "callchainId")
}

// addStacks appends the threads of rows, and their stacks and the families of these by the
// column that holds the ids.
func (l *loader) addStacks(p *chunk, b *block, rows []int32, id string) {
	l.addThreads(p, b, rows)
	ids, chains := b.column(id), l.report.chains[p.table.stacks]
	for _, i := range rows {
		family, number := none, none
		if k, ok := chains.stacks[orNone(ids, i)]; ok {
			family, number = int64(chains.table.families[k]), int64(k)
		}
		p.class, p.node = append(p.class, family), append(p.node, number)
	}
}

// useStacks marks the stacks that the rows of a run have.
func (r *report) useStacks(run *spill.Run) error {
	m, err := spill.NewMerge(r.store, []*spill.Run{run}, r.limits.fanIn)
	if err != nil {
		return err
	}
	for {
		_, rows, i, j, err := m.Next(spill.BlockRows)
		if err != nil || i == j {
			return err
		}
		for _, k := range rows[colNode][i:j] {
			if k != none {
				r.stacks.used[k] = true
			}
		}
	}
}
