package nsys

import (
	"slices"
	"sync"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Bounds on the stacks that are kept: their number and their total text in bytes, over
// all reports.
const (
	maxStacks    = 1 << 17
	maxStackText = 64 << 20
)

// otherStack stands for stacks beyond the bounds.
const otherStack = "(other)"

// stackTable numbers the stacks of a report. Functions with the same name may be in
// different modules, which the text does not show. So each family gets its own number,
// and the class of a sample does not depend on which stack came first.
type stackTable struct {
	stacks   []string
	families []event.Class // by number
	numbers  map[stackKey]int32
	size     int    // total length of the stacks
	used     []bool // by number: a row of a rank refers to it
}

// stackKey distinguishes stacks.
type stackKey struct {
	text   string
	family event.Class
}

// number returns the number of a stack, adding it if it is new.
func (t *stackTable) number(text string, family event.Class) int32 {
	if k, ok := t.numbers[stackKey{text, family}]; ok {
		return k
	}
	if text != otherStack && (len(t.stacks) >= maxStacks || t.size+len(text) > maxStackText) {
		return t.number(otherStack, event.Other)
	}
	if t.numbers == nil {
		t.numbers = map[stackKey]int32{}
	}
	k := int32(len(t.stacks))
	t.numbers[stackKey{text, family}] = k
	t.stacks, t.families, t.used = append(t.stacks, text), append(t.families, family), append(t.used, false)
	t.size += len(text)
	return k
}

// joinStacks returns the stacks that rows of the reports refer to, sorted without
// duplicates, so that equal rows make equal streams. places maps the numbers of each
// report to indexes in stacks.
func joinStacks(reports []*report) (stacks []string, places [][]int32) {
	for _, r := range reports {
		for k, text := range r.stacks.stacks {
			if r.stacks.used[k] {
				stacks = append(stacks, text)
			}
		}
	}
	slices.Sort(stacks)
	stacks = slices.Compact(stacks)
	for _, r := range reports {
		of := make([]int32, len(r.stacks.stacks))
		for k, text := range r.stacks.stacks {
			at, _ := slices.BinarySearch(stacks, text)
			of[k] = int32(at)
		}
		places = append(places, of)
	}
	return stacks, places
}

// mayHave reports whether rows of the table may become events. A backtrace needs the
// table of its frames to have rows; most exports have none.
func (t *table) mayHave(s scanner, columns map[string][]string) (bool, error) {
	if t.kind != event.Backtrace {
		return true, nil
	}
	if len(columns[t.stacks]) == 0 {
		return false, nil
	}
	low, high, err := s.Rows(t.stacks)
	return low <= high, err
}

// loadStacks reads the stacks of samples and calls whose rows are wanted.
func (r *report) loadStacks(e export, columns map[string][]string) error {
	s, err := e.open()
	if err != nil {
		return err
	}
	defer s.Close()
	r.chains = map[string]*chains{}
	for i := range eventTables {
		t := &eventTables[i]
		if t.stacks == "" || !t.in(columns) || !slices.Contains(r.host, t.kind) {
			continue
		}
		var wanted *wantedStacks
		callers := func() (*wantedStacks, error) { return wanted, nil } // nil for all
		if t.kind == event.Sample {
			callers = sync.OnceValues(func() (*wantedStacks, error) { return r.sampled(s, columns) })
		}
		if t.kind == event.Sample && r.onlyCallers {
			if wanted, err = callers(); err != nil {
				return r.explain(err)
			}
		}
		if r.chains[t.stacks], err = r.readChains(s, columns, t.stacks, wanted, callers); err != nil {
			return r.explain(err)
		}
	}
	if c := r.chains[cudaStacksTable]; c != nil && len(c.ids) > 0 {
		if err := r.alignCalls(s, columns, c); err != nil {
			return r.explain(err)
		}
	}
	return nil
}

// sampled returns the stacks of samples of callers. In most recordings most frames are
// of other threads.
func (r *report) sampled(s scanner, columns map[string][]string) (*wantedStacks, error) {
	w, known := &wantedStacks{}, new(cache[bool])
	err := scanAll(s, columns, sampleTable, ints("id", "globalTid"), func(b *block) error {
		ids, threads := b.column("id"), b.column("globalTid")
		for i := range b.n {
			if ids.Null[i] || threads.Null[i] {
				continue
			}
			wanted, ok := known.at(triple{a: threads.Int[i]})
			if !ok {
				*wanted = r.calling[newThread(threads.Int[i])]
			}
			if *wanted {
				w.ids = append(w.ids, ids.Int[i])
			}
		}
		return nil
	})
	slices.Sort(w.ids)
	return w, err
}

// sampledRunning is the thread state of a sample on a CPU.
const sampledRunning = 1

// pickSamples picks the samples of known threads on a CPU. Others were taken when a
// thread left its CPU.
func (p *picker) pickSamples(_ *task, b *block) []int32 {
	start, threads, states, cycles := b.column("start"), b.column("globalTid"), b.column("threadState"), b.column("cpuCycles")
	return p.pick(b, func(i int) bool {
		return isSpan(start, start, i) && !threads.Null[i] && (states.Null[i] || states.Int[i] <= sampledRunning) && (cycles.Null[i] || cycles.Int[i] != 0)
	})
}

// addSamples appends samples.
func (a *adder) addSamples(p *chunk, b *block, rows []int32) {
	p.start, p.end = appendRows(p.start, b.column("start"), rows), appendRows(p.end, b.column("start"), rows)
	a.addStacks(p, b, rows, "id")
}

// pickBacktraces picks the calls of known threads that have a stack.
func (p *picker) pickBacktraces(t *task, b *block) []int32 {
	start, end, threads, class := b.column("start"), b.column("end"), b.column("globalTid"), b.column("eventClass")
	ids, chains := b.column("callchainId"), p.report.chains[t.table.stacks]
	of := map[string]int64{runtimeTable: backtrace, osTable: osCall}
	want, some := of[t.table.name]
	return p.pick(b, func(i int) bool {
		if ids.Null[i] || threads.Null[i] || !isSpan(start, end, i) || some && !class.Null[i] && class.Int[i] != want {
			return false
		}
		_, ok := chains.number(ids.Int[i])
		return ok
	})
}

// addBacktraces appends stacks of calls.
func (a *adder) addBacktraces(p *chunk, b *block, rows []int32) {
	a.addSpans(p, b, rows)
	a.addStacks(p, b, rows, "callchainId")
}

// addStacks appends the stacks of rows and their families. id is the column with the
// ids.
func (a *adder) addStacks(p *chunk, b *block, rows []int32, id string) {
	ids, chains := b.column(id), a.report.chains[p.table.stacks]
	for _, i := range rows {
		family, number := none, none
		if k, ok := chains.number(orNone(ids, i)); ok {
			family, number = int64(chains.table.families[k]), int64(k)
		}
		p.class, p.node = append(p.class, family), append(p.node, number)
	}
}

// useStacks marks the stacks that the rows of a run refer to.
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
