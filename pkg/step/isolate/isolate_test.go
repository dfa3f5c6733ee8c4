package isolate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Options of the random traces, whose units are 20 us.
func testOptions(by string, all bool) Options {
	return Options{By: by, Gap: 3 * eventtest.Unit, SegmentGap: 12 * eventtest.Unit, BusyAll: all}
}

// isolate runs rows through an Isolator and returns what comes out, by rank, in
// its order within the rank.
func isolate(t *testing.T, h *event.Header, rows []eventtest.Row, opt Options, batch int) []eventtest.Row {
	t.Helper()
	it, err := New(eventtest.Source(h, rows, batch), opt)
	if err != nil {
		t.Fatal(err)
	}
	got, err := eventtest.Collect(it)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(got, func(a, b eventtest.Row) int {
		return cmp.Or(cmp.Compare(b2i(a.Kind == event.Window), b2i(b.Kind == event.Window)), cmp.Compare(a.Rank, b.Rank))
	})
	return got
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestAgainstReference(t *testing.T) {
	seeds := uint64(1500)
	if os.Getenv("HOSTBOUND_ALL") == "" {
		seeds = 120
	}
	steps, split := 0, 0
	for seed := range seeds {
		h, rows := eventtest.Random(seed)
		h.Reports = noGraphs(h.Reports)
		for _, by := range []string{step.Allreduce, step.NVTX, step.Graph} {
			opt := testOptions(by, seed%4 == 0)
			want := reference(rows, opt)
			for _, batch := range eventtest.BatchSizes(seed / 4) {
				got := isolate(t, h, rows, opt, batch)
				for i := range got { // see TestEagerForward and TestWarnings
					if got[i].Kind == event.Step || got[i].Kind == event.Window {
						got[i].Class = -1
					}
				}
				if d := diff(got, want); d != "" {
					t.Fatalf("seed %d, by %s, batches of %d: %s", seed, by, batch, d)
				}
			}
			for i := range want {
				steps += b2i(want[i].Kind == event.Step)
				split += b2i(want[i].Kind == event.Step && want[i].Segment > 0)
			}
		}
	}
	if steps < 1000 || split < 300 {
		t.Errorf("%d steps, %d of them after a gap: the traces show too little", steps, split)
	}
}

// noGraphs makes the header deny whole-graph rows, so that allreduce is allowed.
func noGraphs(reports []event.Report) []event.Report {
	for i := range reports {
		delete(reports[i].Rows, "graph")
	}
	return reports
}

func diff(got, want []eventtest.Row) string {
	for i := range want {
		if i >= len(got) {
			return fmt.Sprintf("row %d of %d is missing: %+v", i, len(want), want[i])
		}
		if got[i] != want[i] {
			return fmt.Sprintf("row %d\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
	if len(got) > len(want) {
		return fmt.Sprintf("row %d is too many: %+v", len(want), got[len(want)])
	}
	return ""
}

// Rows of contiguous ranks come out contiguous, however long the ranks are.
func TestRanksStayTogether(t *testing.T) {
	var rows []eventtest.Row
	for rank := range int32(3) {
		for i := range int64(70_000) {
			r := eventtest.New(event.Kernel, rank, i*100, i*100+50, "k")
			r.Device, r.Class = 0, event.Other
			if i%10 == 0 {
				r.Class = event.Allreduce
			}
			rows = append(rows, r)
		}
	}
	it, err := New(eventtest.Source(eventtest.Header(rows), rows, event.BatchRows), Options{By: step.Allreduce, Gap: step.DefaultGap})
	if err != nil {
		t.Fatal(err)
	}
	var order []int32
	n := 0
	for {
		b, err := it.Next()
		if err != nil {
			break
		}
		if b.Len > event.MaxBatchRows {
			t.Errorf("a batch of %d rows", b.Len)
		}
		for i := range b.Len {
			if b.Kind.Values[i] == event.Window {
				continue
			}
			n++
			if r := b.Rank.Values[i]; len(order) == 0 || order[len(order)-1] != r {
				order = append(order, r)
			}
		}
	}
	if !slices.Equal(order, []int32{0, 1, 2}) || n != len(rows)+3 {
		t.Errorf("%d rows of ranks %v", n, order)
	}
}

// counter counts the rows that were read.
type counter struct {
	event.Source
	rows int
}

func (c *counter) Next() (*event.Batch, error) {
	b, err := c.Source.Next()
	if err == nil {
		c.rows += b.Len
	}
	return b, err
}

// Rows are handed out soon, also of several ranks and where there are no steps.
func TestLatency(t *testing.T) {
	var one, two []eventtest.Row
	for i := range int64(200_000) {
		r := eventtest.New(event.Kernel, 0, i, i+1, "k")
		r.Device = 0
		one = append(one, r)
		r.Rank = int32(i / 100_000)
		two = append(two, r)
	}
	for name, rows := range map[string][]eventtest.Row{"one": one, "two": two} {
		src := &counter{Source: eventtest.Source(eventtest.Header(rows), rows, 1000)}
		it, err := New(src, Options{By: step.NVTX})
		if err != nil {
			t.Fatal(err)
		}
		out := 0
		for {
			b, err := it.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if b.Len > event.BatchRows+1000 {
				t.Errorf("%s: a batch of %d rows", name, b.Len)
			}
			if out += b.Len; src.rows-out > 3*event.BatchRows {
				t.Fatalf("%s: of %d rows %d are held back", name, src.rows, src.rows-out)
			}
		}
	}
}

func TestTornRank(t *testing.T) {
	var rows []eventtest.Row
	for i := range int64(200_000) {
		rows = append(rows, eventtest.New(event.Kernel, int32(i/80_000)%2, i, i+1, "k"))
	}
	it, err := New(eventtest.Source(eventtest.Header(rows), rows, event.BatchRows), Options{By: step.NVTX})
	if err != nil {
		t.Fatal(err)
	}
	_, err = eventtest.Collect(it)
	var advice interface{ Hint() string }
	if !errors.As(err, &advice) || !strings.Contains(err.Error(), "not in one piece") {
		t.Errorf("error %v", err)
	}
}

func TestUnsorted(t *testing.T) {
	rows := []eventtest.Row{eventtest.New(event.Kernel, 0, 5, 6, "k"), eventtest.New(event.Kernel, 0, 4, 6, "k")}
	for _, batch := range []int{1, 2} {
		it, err := New(eventtest.Source(eventtest.Header(rows), rows, batch), Options{By: step.NVTX})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eventtest.Collect(it); err == nil || !strings.Contains(err.Error(), "order") {
			t.Errorf("batches of %d: error %v", batch, err)
		}
	}
}

func TestChoose(t *testing.T) {
	header := func(classes, rows map[string]int64) *event.Header {
		return &event.Header{Columns: event.BaseCols, Reports: []event.Report{{Extent: event.Extent{Classes: classes, Rows: rows}}}}
	}
	type counts = map[string]int64
	only := func(h *event.Header) *event.Header { h.Reports[0].StartOnly = true; return h }
	tests := []struct {
		by, marker string
		header     *event.Header
		want, err  string
	}{
		{by: step.Auto, header: header(counts{"allreduce": 3, "step": 2}, nil), want: step.Allreduce},
		{by: "", header: header(counts{"allreduce": 3, "step": 2}, counts{"graph": 1}), want: step.NVTX},
		{by: step.Auto, header: header(counts{"step": 2, "graph_launch": 1}, nil), want: step.NVTX},
		{by: step.Auto, header: header(counts{"graph_launch": 1}, nil), want: step.Graph},
		{by: step.Auto, header: header(counts{"graph_launch": 1}, counts{"nvtx": 1}), marker: "x", want: step.NVTX},
		{by: step.Auto, header: only(header(counts{"graph_launch": 1}, nil)), want: step.Graph},
		{by: step.Auto, header: only(header(counts{"graph_launch": 25}, nil)), err: "pieces of the only forward step"},
		{by: step.Graph, header: only(header(counts{"graph_launch": 25}, nil)), want: step.Graph},
		{by: step.Auto, header: header(nil, nil), err: "could not find inference steps"},
		{by: step.Allreduce, header: header(counts{"allreduce": 3}, counts{"graph": 1}), err: "hide the all-reduce kernels"},
		{by: step.Graph, header: header(nil, nil), want: step.Graph},
		{by: "magic", header: header(nil, nil), err: "unknown method"},
		{by: step.NVTX, marker: "(", header: header(nil, nil), err: "marker expression"},
	}
	for _, test := range tests {
		var said []string
		it, err := New(eventtest.Source(test.header, nil, 1), Options{
			By: test.by, Marker: test.marker, Log: func(s string) { said = append(said, s) },
		})
		if test.err != "" {
			var advice interface{ Hint() string }
			if !errors.As(err, &advice) || !strings.Contains(err.Error(), test.err) || advice.Hint() == "" {
				t.Errorf("%+v: error %v", test, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", test, err)
			continue
		}
		if got := it.Header().Isolation.Method; got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
		if (test.by == step.Auto || test.by == "") && (len(said) != 1 || !strings.HasPrefix(said[0], "using ") || !strings.Contains(said[0], "to find steps (--by "+test.want+")")) {
			t.Errorf("%+v: said %q", test, said)
		}
	}
}

// reference is the same as an Isolator, obviously: it looks at all rows at once.
func reference(rows []eventtest.Row, opt Options) []eventtest.Row {
	var out, windows []eventtest.Row
	for i := 0; i < len(rows); {
		j := i
		for j < len(rows) && rows[j].Rank == rows[i].Rank {
			j++
		}
		if rows[i].Rank < 0 {
			out = append(out, rows[i:j]...)
		} else {
			ref := &referenceRank{rows: rows[i:j], opt: opt}
			ref.readMarkers()
			ref.find()
			out = append(out, ref.rowsWithSteps()...)
			if len(ref.steps) > 0 {
				windows = append(windows, ref.window())
			}
		}
		i = j
	}
	return append(out, windows...)
}

type referenceMarker struct {
	row    eventtest.Row
	number int64
	id     int
}

type referenceStep struct {
	row     eventtest.Row
	segment int
	period  int64 // its end
	id      int   // of its marker, or launch
	since   int64 // when the host began it
}

type referenceRank struct {
	rows    []eventtest.Row
	opt     Options
	markers []referenceMarker
	steps   []referenceStep
	// pauses are taken for stalls, of the steps before them, which they may not be: split
	// has those that are not, by their start.
	pauses []referencePause
	split  map[int64]bool
}

type referencePause struct {
	from, to int64
	before   int // number of the step
}

// find finds the steps, again and again until no pause is taken for a stall because of a range
// that goes on after the next step.
func (ref *referenceRank) find() {
	ref.split = map[int64]bool{}
	for again := true; again; {
		ref.steps, ref.pauses, again = nil, nil, false
		switch ref.opt.By {
		case step.Allreduce:
			ref.byAllreduce()
		case step.NVTX:
			ref.byNVTX()
		case step.Graph:
			ref.byGraph()
		}
		for _, p := range ref.pauses {
			if ref.isSplit(p) {
				ref.split[p.from], again = true, true
				break
			}
		}
	}
}

// isSplit says whether a pause that may be a stall is none.
func (ref *referenceRank) isSplit(p referencePause) bool {
	until := int64(1 << 62)
	switch before, after := &ref.steps[p.before], p.before+1; {
	case before.row.End > p.from || after == len(ref.steps) || ref.steps[after].segment > before.segment:
		return false
	case after+1 == len(ref.steps):
	case ref.steps[after+1].segment > before.segment:
		until = ref.closes(before.segment, ref.steps[after+1].row.Start)
	default:
		until = ref.steps[after+1].row.Start
	}
	for _, other := range ref.pauses {
		if other.before > p.before {
			until = min(until, other.to)
		}
	}
	return !ref.works(p.from, p.to, &ref.steps[p.before], until)
}

// stretches returns those longer than SegmentGap in [from, to) in which no GPU is busy.
func (ref *referenceRank) stretches(from, to int64) (all [][2]int64) {
	add := func(until int64) {
		if until-from > ref.opt.SegmentGap {
			all = append(all, [2]int64{from, until})
		}
	}
	for _, r := range ref.rows { // in the order of their start
		if !isBusy(&r, ref.opt.BusyAll) || r.Start >= to {
			continue
		}
		add(r.Start)
		from = max(from, r.End)
	}
	add(to)
	return all
}

// closes returns when the pause ends that is the end of a segment, before the given time.
func (ref *referenceRank) closes(segment int, before int64) int64 {
	end, last := int64(-1), (*referenceStep)(nil)
	for i := range ref.steps {
		if s := &ref.steps[i]; s.segment == segment {
			end, last = max(end, s.row.End), s
		}
	}
	for _, p := range ref.stretches(end, before) {
		if ref.split[p[0]] || !ref.works(p[0], p[1], last, 1<<62) {
			return p[1]
		}
	}
	return before
}

// works says whether a launching thread works for half of a pause: inside a call, or a range
// that began no earlier than the step before and ends by the given time.
func (ref *referenceRank) works(from, to int64, before *referenceStep, until int64) bool {
	launching := map[int64]bool{}
	cuts := []int64{from, to}
	waits := false
	for _, r := range ref.rows {
		if r.Kind == event.API && (r.Class == event.Launch || r.Class == event.GraphLaunch) && r.Start < to {
			launching[r.Thread] = true
		}
	}
	for _, r := range ref.rows {
		cuts = append(cuts, min(max(from, r.Start), to), min(max(from, r.End), to))
		waits = waits || launching[r.Thread] && r.Kind == event.OS && r.Class == event.OSIO && r.Start < to && r.End > from
	}
	slices.Sort(cuts)
	work := int64(0)
	for k := 1; k < len(cuts); k++ {
		if cuts[k-1] < cuts[k] && slices.ContainsFunc(ref.rows, func(r eventtest.Row) bool {
			if !launching[r.Thread] || r.Start > cuts[k-1] || r.End < cuts[k] || r.Start < before.row.Start && 2*(r.End-r.Start) <= ref.opt.SegmentGap {
				return false
			}
			switch r.Kind {
			case event.API:
				return true
			case event.OS:
				return r.Class != event.OSIO
			case event.Run:
				return r.CPU >= 0 && !waits
			case event.NVTX:
				return r.Start >= before.since && (r.End <= to || r.End <= until)
			}
			return false
		}) {
			work += cuts[k] - cuts[k-1]
		}
	}
	return 2*work >= to-from
}

func isBusy(r *eventtest.Row, all bool) bool {
	switch r.Kind {
	case event.Kernel, event.Graph:
		return r.End > r.Start
	case event.Memcpy, event.Memset:
		return all && r.End > r.Start
	}
	return false
}

func (ref *referenceRank) readMarkers() {
	first := map[int]int64{} // start of the first of an id
	for _, r := range ref.rows {
		counts, ok := marker.Parse(r.Name)
		if r.Kind != event.NVTX || !ok {
			continue
		}
		m := referenceMarker{row: r, number: -1, id: len(ref.markers)}
		if counts.HasStep {
			m.number = counts.Step
			for _, o := range ref.markers {
				if o.number == m.number && r.Start-first[o.id] <= 100_000 {
					m.id = o.id
				}
			}
		}
		if _, ok := first[m.id]; !ok {
			first[m.id] = r.Start
		}
		ref.markers = append(ref.markers, m)
	}
}

func (ref *referenceRank) around(t int64) (id int, text string, since int64) {
	id, text, since = -1, "step", t
	for _, m := range ref.markers {
		if m.row.Start <= t && t < m.row.End {
			id, text = m.id, m.row.Name
			for _, o := range ref.markers {
				if o.id == m.id {
					since = o.row.Start
					break
				}
			}
		}
	}
	return id, text, since
}

func (ref *referenceRank) segmentEnd() int64 {
	end := int64(-1)
	for _, s := range ref.steps {
		if s.segment == ref.steps[len(ref.steps)-1].segment {
			end = max(end, s.row.End)
		}
	}
	return end
}

// segmentAt returns the segment of something that starts at t, and whether it is
// a new one.
func (ref *referenceRank) segmentAt(t int64) (int, bool) {
	if len(ref.steps) == 0 {
		return 0, true
	}
	last := &ref.steps[len(ref.steps)-1]
	var doubtful []referencePause
	for _, p := range ref.stretches(ref.segmentEnd(), t) {
		if ref.split[p[0]] || !ref.works(p[0], p[1], last, 1<<62) {
			return last.segment + 1, true
		}
		if !ref.works(p[0], p[1], last, p[1]) {
			doubtful = append(doubtful, referencePause{p[0], p[1], len(ref.steps) - 1})
		}
	}
	for _, p := range doubtful {
		if !slices.Contains(ref.pauses, p) {
			ref.pauses = append(ref.pauses, p)
		}
	}
	return last.segment, false
}

func (ref *referenceRank) begin(from eventtest.Row, name string) *referenceStep {
	segment, _ := ref.segmentAt(from.Start)
	row := eventtest.New(event.Step, from.Rank, from.Start, from.End, name)
	row.Step, row.Segment, row.Size = int64(len(ref.steps)), int64(segment), 1
	ref.steps = append(ref.steps, referenceStep{row: row, segment: segment, since: from.Start})
	return &ref.steps[len(ref.steps)-1]
}

func (ref *referenceRank) byAllreduce() {
	var kernels []eventtest.Row
	device := int32(1 << 30)
	for _, r := range ref.rows {
		if r.Kind == event.Kernel && r.Class == event.Allreduce {
			kernels = append(kernels, r)
			device = min(device, r.Device)
		}
	}
	for _, k := range kernels {
		if k.Device != device {
			continue
		}
		id, text, since := -1, "step", k.Start
		if k.LaunchStart >= 0 {
			id, text, since = ref.around(k.LaunchStart)
		}
		_, begin := ref.segmentAt(k.Start)
		if !begin {
			s := &ref.steps[len(ref.steps)-1]
			switch {
			case id >= 0:
				begin = id != s.id
			case s.id < 0:
				begin = k.Start-s.row.End > ref.opt.Gap
			}
		}
		if n := len(ref.steps); id >= 0 && n > 0 && ref.steps[n-1].id < 0 {
			if segment, fresh := ref.segmentAt(k.Start); !fresh && (n == 1 || ref.steps[n-2].segment < segment) {
				ref.steps, begin = ref.steps[:n-1], true
			}
		}
		if begin {
			s := ref.begin(k, text)
			s.id, s.since = id, min(since, k.Start)
			continue
		}
		s := &ref.steps[len(ref.steps)-1]
		s.row.Size++
		s.row.End = max(s.row.End, k.End)
	}
}

func (ref *referenceRank) byNVTX() {
	done := map[int]bool{}
	for _, m := range ref.markers {
		if done[m.id] {
			continue
		}
		done[m.id] = true
		row := m.row
		for _, o := range ref.markers {
			if o.id == m.id {
				row.End = max(row.End, o.row.End)
			}
		}
		ref.begin(row, row.Name)
	}
}

func (ref *referenceRank) byGraph() {
	device := int32(-1)
	for _, r := range ref.rows {
		replayed := r.Kind == event.Graph && r.End > r.Start || isBusy(&r, ref.opt.BusyAll) && r.GraphNode >= 0 ||
			r.Kind == event.Kernel && r.GraphNode >= 0
		if !replayed || device >= 0 && r.Device != device {
			continue
		}
		device = r.Device
		segment, fresh := ref.segmentAt(r.Start)
		if s := ref.replay(int(r.Correlation), segment); !fresh && s != nil {
			s.row.End = max(s.row.End, r.End)
			continue
		}
		text, since := "step", r.Start
		if r.LaunchStart >= 0 {
			_, text, since = ref.around(r.LaunchStart)
		}
		s := ref.begin(r, text)
		s.id, s.since = int(r.Correlation), min(since, r.Start)
	}
}

// replay returns the step of a launch among the last of the segment, nil where
// there is none.
func (ref *referenceRank) replay(launch, segment int) *referenceStep {
	for i := len(ref.steps) - 1; i >= 0 && i >= len(ref.steps)-1-maxReplays && ref.steps[i].segment == segment; i-- {
		if ref.steps[i].id == launch {
			return &ref.steps[i]
		}
	}
	return nil
}

func (ref *referenceRank) rowsWithSteps() []eventtest.Row {
	rows := slices.Clone(ref.rows)
	for i := range ref.steps {
		s := &ref.steps[i]
		s.period = -1
		if i+1 < len(ref.steps) && ref.steps[i+1].segment == s.segment {
			s.period = ref.steps[i+1].row.Start
		} else {
			for _, o := range ref.steps {
				if o.segment == s.segment {
					s.period = max(s.period, o.row.End)
				}
			}
		}
		for k := range rows {
			if s.row.Start <= rows[k].Start && rows[k].Start < s.period {
				rows[k].Step = s.row.Step
			}
		}
	}
	var out []eventtest.Row
	k := 0
	for _, s := range ref.steps {
		for ; k < len(rows) && rows[k].Start < s.row.Start; k++ {
			out = append(out, rows[k])
		}
		out = append(out, s.row)
	}
	return append(out, rows[k:]...)
}

func (ref *referenceRank) window() eventtest.Row {
	counts := map[int64]int64{}
	common := int64(0)
	for _, s := range ref.steps {
		counts[s.row.Size]++
	}
	for size, n := range counts {
		if n > counts[common] || n == counts[common] && size > common {
			common = size
		}
	}
	segment := int64(-1)
	for k := range ref.steps[len(ref.steps)-1].segment + 1 {
		all, hits := 0, 0
		for _, s := range ref.steps {
			all += b2i(s.segment == k)
			hits += b2i(s.segment == k && s.row.Size == common)
		}
		if all >= 5 && 2*hits >= all {
			segment = int64(k)
		}
	}
	w := eventtest.New(event.Window, ref.rows[0].Rank, 1<<62, -1, "window")
	for _, s := range ref.steps {
		if segment < 0 || int64(s.segment) == segment {
			w.Start, w.End = min(w.Start, s.row.Start), max(w.End, s.row.End)
		}
	}
	w.Step, w.Segment, w.Size = int64(len(ref.steps)), segment, common
	return w
}

// A range may prolong a step that was followed by another one already, and by so
// many rows that its batch is full.
func TestProlongedStep(t *testing.T) {
	mark := func(start, end, number int64) eventtest.Row {
		r := eventtest.New(event.NVTX, 0, start, end, fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 1 gen reqs", number))
		r.Class, r.Thread = event.StepMarker, 1
		return r
	}
	rows := []eventtest.Row{mark(0, 60_000, 1)}
	for i := range int64(20_000) {
		r := eventtest.New(event.Kernel, 0, 1+i, 2+i, "k")
		r.Device = 0
		rows = append(rows, r)
	}
	rows = append(rows, mark(30_000, 50_000, 2), mark(60_000, 70_000, 3), mark(100_000, 300_000, 1), mark(100_001, 400_000, 2))
	for _, batch := range []int{1, 100, event.BatchRows, 30_000} {
		it, err := New(eventtest.Source(eventtest.Header(rows), rows, batch), Options{By: step.NVTX})
		if err != nil {
			t.Fatal(err)
		}
		got, err := eventtest.Collect(it)
		if err != nil {
			t.Fatal(err)
		}
		var ends []int64
		for _, r := range got {
			if r.Kind == event.Step {
				ends = append(ends, r.End)
			}
		}
		if want := []int64{300_000, 400_000, 70_000}; !slices.Equal(ends, want) {
			t.Errorf("batches of %d: steps end at %v, want %v", batch, ends, want)
		}
		if w := got[len(got)-1]; w.Kind != event.Window || w.Start != 0 || w.End != 400_000 {
			t.Errorf("window %+v", w)
		}
	}
}

// besideThread is ten markers of 100 ns, each with a launch, and after each by so many ns one
// of a thread that launches nothing.
func besideThread(after int64) (rows []eventtest.Row) {
	for i := range int64(10) {
		start := i * 10_000
		for thread, at := range []int64{start, start + after} {
			m := eventtest.New(event.NVTX, 0, at, at+100, "_forward_step: 0 ctx reqs, 1 gen reqs")
			m.Class, m.Thread = event.StepMarker, int64(1+thread)
			rows = append(rows, m)
		}
		call := eventtest.New(event.API, 0, start+10, start+20, "cudaLaunchKernel")
		call.Class, call.Thread = event.Launch, 1
		kernel := eventtest.New(event.Kernel, 0, start+30, start+5000, "k")
		kernel.Device = 0
		rows = append(rows, call, kernel)
	}
	eventtest.Sort(rows)
	return rows
}

// engines are two threads of a process that number their own steps, each with a marker, a
// launch and a kernel: of so many of ten the markers begin at once.
func engines(together int64) (rows []eventtest.Row) {
	for i := range int64(10) {
		for thread := range int64(2) {
			at := i*1_000_000 + thread*500_000*int64(b2i(i >= together)) + 60*thread
			m := eventtest.New(event.NVTX, 0, at, at+50, fmt.Sprintf("_forward_step %d: 0 ctx reqs, 1 gen reqs", i))
			m.Class, m.Thread = event.StepMarker, 1+thread
			call := eventtest.New(event.API, 0, at+10, at+20, "cudaLaunchKernel")
			call.Class, call.Thread = event.Launch, 1+thread
			kernel := eventtest.New(event.Kernel, 0, at+30, at+5000, "k")
			kernel.Device = int32(thread)
			rows = append(rows, m, call, kernel)
		}
	}
	eventtest.Sort(rows)
	return rows
}

func TestWarnings(t *testing.T) {
	var rows []eventtest.Row
	for i := range int64(10) {
		r := eventtest.New(event.Kernel, 0, i*10_000_000, i*10_000_000+1000, "allreduce")
		r.Class, r.Device = event.Allreduce, 0
		rows = append(rows, r)
		m := eventtest.New(event.NVTX, 0, i*10_000_000+50, i*10_000_000+60, "_forward_step: 1 ctx reqs, 1 gen reqs")
		m.Class, m.Thread = event.StepMarker, 1
		if i > 0 {
			rows = append(rows, m)
		}
	}
	other := eventtest.New(event.Kernel, 1, 5, 6, "k")
	leading := slices.Clone(rows)
	for i := range leading {
		if r := &leading[i]; r.Kind == event.Kernel && r.Start > 30_000_000 { // launched during a marker
			r.LaunchStart, r.LaunchEnd, r.LaunchThread, r.Start, r.End = r.Start+55, r.Start+56, 1, r.Start+57, r.End+57
		}
	}
	slices.SortStableFunc(leading, func(a, b eventtest.Row) int { return int(a.Start - b.Start) })
	var half, double []eventtest.Row // of the markers
	for i, r := range rows {
		if r.Kind != event.NVTX || i%4 == 0 {
			half = append(half, r)
		}
		if double = append(double, r); r.Kind == event.NVTX {
			r.Start, r.End = r.Start+1_000_000, r.End+1_000_000
			double = append(double, r)
		}
	}
	alternate := func(rows []eventtest.Row) []eventtest.Row { // without every other marker
		n := 0
		return slices.DeleteFunc(slices.Clone(rows), func(r eventtest.Row) bool {
			n += b2i(r.Kind == event.NVTX)
			return r.Kind == event.NVTX && n%2 == 0
		})
	}
	unlike := []string{"lost", "few", "half", "double", "alternate", "two engines"} // where markers show other iterations
	tests := []struct {
		name string
		rows []eventtest.Row
		by   string
		want []string
	}{
		{"half", half, step.Allreduce, []string{"rank 0 has 10 steps by allreduce, but 4 forward-step markers"}},
		{"double", double, step.Allreduce, []string{"rank 0 has 10 steps by allreduce, but 18 forward-step markers"}},
		{"torn", rows, step.Allreduce, []string{"rank 0 has 10 steps by allreduce, but 9 forward-step markers"}},
		{"leading", leading, step.Allreduce, []string{"rank 0 has 10 steps by allreduce, but 9 forward-step markers"}},
		{"lost", lostPrefill(), step.NVTX, []string{"rank 0 has 28 steps by nvtx, but 31 forward passes by their launches: steps may be split or merged; if several threads have markers"}},
		{"alternate", alternate(replaysOf(20, 4_000_000, 0)), step.NVTX, []string{"rank 0 has 10 steps by nvtx, but 19 forward-step markers by their numbers"}},
		{"pauses", apart(replaysOf(20, 4_000_000, 0)), step.NVTX, []string{"rank 0 has too few steps (20; 5 of one size needed)"}},
		{"ahead", replaysOf(20, 20_000_000, 0), step.NVTX, []string{"the host of rank 0 runs ahead of its GPU, which finishes 15.9 ms after the last marker of a window of 3.90 ms: "}},
		{"ahead at a prefill", replaysOf(20, 20_000_000, 1), step.NVTX, nil},
		{"ahead in few", replaysOf(4, 4_000_000, 0), step.NVTX, []string{"rank 0 has too few steps"}},
		{"a step ahead", replaysOf(20, 4_200_000, 0), step.NVTX, nil},
		{"few", rows[:3], step.Allreduce, []string{"rank 0 has too few steps (2; 5 of one size needed): all are used, warm-up included", "rank 0 has 2 steps by allreduce, but 1"}},
		{"twice", twice(), step.NVTX, []string{"rank 0 has 20 steps by nvtx, but 10 forward passes by their launches"}},
		{"beside the launching thread", besideThread(1000), step.NVTX, []string{"rank 0 has 20 steps by nvtx, but 10 forward passes by their launches"}},
		{"across threads", besideThread(60), step.NVTX, []string{"rank 0 has 20 steps by nvtx, but 10 forward passes by their launches"}},
		{"two engines", engines(4), step.NVTX, []string{"rank 0 has 16 steps by nvtx, but 10 forward-step markers by their numbers"}},
		{"a thread for each GPU", engines(10), step.NVTX, nil},
		{"none", rows, step.Graph, []string{"no steps at all: no rank has a recorded replay"}},
		{"uneven", unevenSegment(), step.Allreduce, []string{"only 5 of 12 steps of rank 0 are analysed: pauses or unrecorded time split them into 2 segments", "rank 0 has 12 steps by allreduce, but 16 forward passes by their all-reduce kernels"}},
		{"stalls", stalls(), step.Allreduce, []string{"only 6 of 18 steps of rank 0 are analysed: pauses or unrecorded time split them into 3 segments"}},
		{"some", append(slices.Clone(rows), other), step.NVTX, []string{"rank 1 has no steps"}},
		{"empty", nil, step.NVTX, []string{"no steps at all"}},
	}
	for _, test := range tests {
		var said []string
		it, err := New(eventtest.Source(eventtest.Header(test.rows), test.rows, 4), Options{
			By: test.by, Log: func(s string) { said = append(said, s) },
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := eventtest.Collect(it)
		if err != nil {
			t.Fatal(err)
		}
		ok := len(said) == len(test.want)
		for i := range said {
			ok = ok && strings.HasPrefix(said[i], test.want[i])
		}
		for _, r := range got {
			ok = ok && (r.Kind != event.Window || r.Class == event.StepMarker == slices.Contains(unlike, test.name))
		}
		if !ok {
			t.Errorf("%s: said %q, want %q", test.name, said, test.want)
		}
	}
}

// unevenSegment is 5 steps of one all-reduce kernel each, and after a long gap 7, of
// which 4 have two.
func unevenSegment() (rows []eventtest.Row) {
	for i := range int64(12) {
		at := i * 10_000_000
		if i >= 5 {
			at += 200_000_000
		}
		m := eventtest.New(event.NVTX, 0, at, at+50_000, fmt.Sprintf("_forward_step %d: 0 ctx reqs, 1 gen reqs", i))
		m.Class, m.Thread = event.StepMarker, 1
		rows = append(rows, m)
		for k := range 1 + b2n(i >= 8) {
			from := at + 100 + 1000*int64(k)
			r := eventtest.New(event.Kernel, 0, from, from+500, "allreduce")
			r.Class, r.Device = event.Allreduce, 0
			r.LaunchStart, r.LaunchEnd, r.LaunchThread = from-50, from-40, 1
			rows = append(rows, r)
		}
	}
	return rows
}

// stalls is three times 6 steps of one all-reduce kernel each, 200 ms apart.
func stalls() (rows []eventtest.Row) {
	for i := range int64(18) {
		at := i*10_000_000 + i/6*190_000_000
		m := eventtest.New(event.NVTX, 0, at, at+50_000, fmt.Sprintf("_forward_step %d: 0 ctx reqs, 1 gen reqs", i))
		m.Class, m.Thread = event.StepMarker, 1
		r := eventtest.New(event.Kernel, 0, at+100, at+600, "allreduce")
		r.Class, r.Device = event.Allreduce, 0
		r.LaunchStart, r.LaunchEnd, r.LaunchThread = at+50, at+60, 1
		rows = append(rows, m, r)
	}
	return rows
}

// lostPrefill is steps that replay a graph each, after two of which another one is
// launched kernel by kernel without a marker.
func lostPrefill() (rows []eventtest.Row) {
	call := func(class event.Class, t int64) {
		r := eventtest.New(event.API, 0, t, t+1, "call")
		r.Class, r.Thread = class, 1
		rows = append(rows, r)
	}
	for i := range int64(28) {
		m := eventtest.New(event.NVTX, 0, i*1000, i*1000+100, fmt.Sprintf("_forward_step %d: 0 ctx reqs, 1 gen reqs", i))
		m.Class, m.Thread = event.StepMarker, 1
		rows = append(rows, m)
		call(event.GraphLaunch, i*1000+10)
		call(event.Launch, i*1000+20)
		for k := range int64(60) {
			if i%9 == 5 {
				call(event.Launch, i*1000+200+k)
			}
		}
	}
	return rows
}

// replaysOf is steps 200 us apart on the host that replay a graph each, the GPU's work
// of all of which takes so long, and the last ones of which begin with an eager prefill.
func replaysOf(steps, gpu int64, prefills int64) (rows []eventtest.Row) {
	for i := range steps {
		at, on := i*200_000, 100+i*gpu/steps
		m := eventtest.New(event.NVTX, 0, at, at+100_000, fmt.Sprintf("_forward_step %d: %d ctx reqs, 1 gen reqs", i, b2i(i >= steps-prefills)))
		m.Class, m.Thread = event.StepMarker, 1
		c := eventtest.New(event.API, 0, at+10, at+20, "cudaGraphLaunch")
		c.Class, c.Thread = event.GraphLaunch, 1
		rows = append(rows, m, c)
		k := eventtest.New(event.Kernel, 0, 0, 0, "k")
		k.Class, k.Device, k.LaunchStart, k.LaunchEnd, k.LaunchThread, k.Correlation = event.Other, 0, at+10, at+20, 1, 1000+i
		for n := range int64(30) {
			k.Start, k.End = on+n*gpu/steps/40, on+(n+1)*gpu/steps/40
			k.GraphNode = n
			switch {
			case n < 20 && i < steps-prefills:
				continue
			case n < 20:
				k.GraphNode = -1
			}
			rows = append(rows, k)
		}
	}
	slices.SortStableFunc(rows, func(a, b eventtest.Row) int { return int(a.Start - b.Start) })
	return rows
}

// apart is rows of a step each 200 us, with pauses of 200 ms after each fourth.
func apart(rows []eventtest.Row) []eventtest.Row {
	for i := range rows {
		r := &rows[i]
		by := r.Start / 800_000 * 200_000_000
		r.Start, r.End = r.Start+by, r.End+by
		if r.LaunchStart >= 0 {
			r.LaunchStart, r.LaunchEnd = r.LaunchStart+by, r.LaunchEnd+by
		}
	}
	return rows
}

// twice is steps of which each has a marker inside another.
func twice() (rows []eventtest.Row) {
	for i := range int64(20) {
		m := eventtest.New(event.NVTX, 0, i/2*1_000_000+i%2*1000, i/2*1_000_000+500_000-i%2, "_forward_step: 0 ctx reqs, 1 gen reqs")
		m.Class, m.Thread = event.StepMarker, 1
		rows = append(rows, m)
		if i%2 == 1 {
			call := eventtest.New(event.API, 0, m.Start+10, m.Start+20, "cudaLaunchKernel")
			call.Class, call.Thread = event.Launch, 1
			rows = append(rows, call)
		}
	}
	return rows
}

func TestNotTwice(t *testing.T) {
	h := &event.Header{Columns: event.BaseCols, Isolation: &event.Isolation{}}
	if _, err := New(eventtest.Source(h, nil, 1), Options{By: step.NVTX}); err == nil || !strings.Contains(err.Error(), "steps already") {
		t.Errorf("error %v", err)
	}
	h = &event.Header{Columns: event.BaseCols &^ (1 << event.ColRank)}
	if _, err := New(eventtest.Source(h, nil, 1), Options{By: step.NVTX}); err == nil || !strings.Contains(err.Error(), "no column rank") {
		t.Errorf("error %v", err)
	}
}
