package isolate

import (
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// noRank is the id for rows without a rank, which pass unchanged.
const noRank = math.MinInt32

const (
	never = math.MaxInt64
	none  = math.MinInt64
)

// rank is the state of one rank after the rows so far.
type rank struct {
	id   int32
	want [event.MaxKinds]uint32 // by kind: a bit for each class to stop at
	left bool                   // its rows pass unchanged

	in   *event.Batch // the batch being read
	from int          // its first row that is not in the output
	out  output

	markers markers
	outside outside // by nvtx
	onset   onset   // by graph
	clock
	structure
	pauses
	isolated
}

// clock is the position in the rows of a rank, and the unrecorded time ahead. Times are
// in ns.
type clock struct {
	last     int64 // start of the last row
	frontier int64 // latest end of the GPU activity so far
	limit    int64 // a row that starts later than this closes the open segment

	since      int64      // rows that start earlier are there only because they extend into the chosen time
	until      int64      // when the chosen time ends
	unrecorded [][2]int64 // unrecorded or filtered spans that begin after the last row, in order
	border     int64      // where the first of these begins, never if there is none
}

// structure identifies steps without markers.
type structure struct {
	plan      *plan
	device    int32    // whose collectives or replays count, -1 if not known yet
	learner   *learner // nil while there is nothing to learn
	rule      *rule    // nil until learned
	marked    bool     // the rank has markers
	started   int64    // start of the first marker that counts, never if it has not come
	startup   bool     // what is launched before started belongs to the step in which the profiler started
	replaying bool     // the rows that were held are being processed
	context   context
	work      int32 // kernels of the open step, without elementwise ones; by structure
	begins    bool  // a token before the next collective begins a step
}

// isolated is the steps so far.
type isolated struct {
	open     bool // a segment, and a step in it, is open
	step     openStep
	recent   []openStep // earlier steps that a range or a replay may still extend
	segments []segment
	steps    int     // number of steps that have ended
	more     int     // set at the end: how many more forward passes are launched than there are markers
	kernels  []int32 // of each step, by structure
	strays   int32   // all-reduce kernels launched outside markers
}

// openStep is a step whose row has not been released.
type openStep struct {
	at         pos
	id         int64 // of its marker, or for graph of its launch; else none
	start, end int64
	size       int32
	eager      bool  // graph: no replay ran in it
	context    bool  // nvtx: it has context requests
	since      int64 // when the host began it, as far as known
}

// segment is a sequence of steps without a long idle stretch between them.
type segment struct {
	sizes      []int32 // by step
	start, end int64
	// drained is when the GPU has finished what preceded the long idle stretch; set for
	// nvtx if nothing else is launched by then, else 0.
	drained int64
}

// newRank returns a rank before its first row. It uses what the header knows of the
// rank: the device of its all-reduce kernels, and what was not recorded.
func newRank(id int32, plan *plan, pool *pool, h *event.Header) *rank {
	r := &rank{
		id: id, want: plan.want, out: output{pool: pool}, outside: outside{end: never},
		clock:     clock{last: none, frontier: none, limit: never, since: none, until: never, unrecorded: h.Span(id).Unrecorded},
		structure: structure{plan: plan, device: -1, started: never, context: context{words: newVocabulary()}}, pauses: pauses{from: never, host: host{launcher: none}},
		isolated: isolated{step: openStep{at: pos{row: -1}}},
	}
	f := h.RankFacts(id)
	r.startup = f != nil && f.Markers > 0 && !plan.custom && h.Source() == "torch"
	report := h.Report(id)
	if report != nil && report.ChosenTime != nil {
		r.since, r.until = report.ChosenTime[0], report.ChosenTime[1]
		r.unrecorded = append(slices.Clip(r.unrecorded), [2]int64{r.until, never})
	}
	r.passBorders(none)
	if report != nil && plan.method == step.Allreduce && len(report.AllreduceDevices) == len(report.Ranks) {
		r.device = report.AllreduceDevices[slices.Index(report.Ranks, id)]
	}
	return r
}

// passBorders drops the unrecorded spans that begin at or before t.
func (r *clock) passBorders(t int64) {
	for len(r.unrecorded) > 0 && r.unrecorded[0][0] <= t {
		r.unrecorded = r.unrecorded[1:]
	}
	r.border = never
	if len(r.unrecorded) > 0 {
		r.border = r.unrecorded[0][0]
	}
}

// use processes rows i to j, or holds them back to learn from.
func (r *rank) use(b *event.Batch, i, j int) (err error) {
	first := i
	r.in, r.from = b, i
	for i < j {
		if r.learner != nil || r.plan.method == step.Graph && r.learns() { // from the rows before the first pass on
			return r.learn(b, i, j)
		}
		k, stop := r.scan(b, i, j)
		for ; i < k && r.structured(); i++ { // compiled code launches elementwise ones by the thousand
			r.work += int32(b2n(b.Kind.Values[i] == event.Kernel && b.Class.Values[i] != event.Elementwise))
		}
		switch stop {
		case unsorted:
			return &event.Error{
				Msg:    fmt.Sprintf("rows of rank %d are not in the order of their start", r.id),
				Advice: "sort the stream by rank and start",
			}
		case late:
			t := b.Start.Values[k]
			r.put(k)
			switch {
			case !r.open:
			case t >= r.border:
				r.closeSegment(t)
			case r.pausing():
				r.endPause(t)
			default:
				r.pauses.from, r.rows, r.limit = r.limit-r.plan.segmentGap, 0, never
			}
			r.passBorders(t)
			i = k // look at this row again
			continue
		case wanted:
			if r.learns() && r.isUnit(b, k) {
				return r.learn(b, k, j)
			}
			r.observe(b, k)
		}
		i = k + 1
	}
	r.put(j)
	if t := b.Start.Values[j-1]; r.pausing() {
		if r.rows += j - first; r.rows >= maxHeld { // too many to hold any longer
			if r.rows = 0; !r.hostIn(t).works(never) {
				r.closeSegment(t)
			}
		}
	}
	if !r.open {
		r.out.seal(event.BatchRows)
	}
	return err
}

// put appends the rows before row k to the output, as far as they are not in it.
func (r *rank) put(k int) {
	r.out.add(r.in, r.from, k)
	r.from = k
}

// structured reports whether steps are identified by the structure of collectives.
func (s *structure) structured() bool { return s.rule != nil && s.plan.method == step.Allreduce }

// stop is why scan returned.
type stop int

const (
	end      stop = iota
	wanted        // a row that may begin or belong to a step
	late          // a row after the segment, after a border of unrecorded time, or the first GPU row after a pause
	unsorted      // a row that starts before its predecessor
)

// scan returns the first of rows i to j that matters, and why. It updates the latest end
// of GPU activity.
func (r *rank) scan(b *event.Batch, i, j int) (int, stop) {
	kinds, classes := b.Kind.Values[:j], b.Class.Values[:j]
	starts, ends := b.Start.Values[:j], b.End.Values[:j]
	p := r.plan
	want, busy := &r.want, p.busy
	calls := p.method == step.NVTX
	last, frontier, limit, border := r.last, r.frontier, r.limit, r.border
	pausing, launcher, long := r.pausing(), r.host.launcher, p.segmentGap/2
	stop := end
	for ; i < j; i++ {
		t := starts[i]
		if t > limit || t < last || t >= border {
			stop = late
			if t < last {
				stop = unsorted
			}
			break
		}
		last = t
		kind := uint32(kinds[i]) & (event.MaxKinds - 1)
		if busy>>kind&1 != 0 {
			if e := ends[i]; e > frontier && e > t {
				if pausing {
					stop = late
					break
				}
				frontier = e
				if limit != never {
					limit = max(limit, e+p.segmentGap)
				}
			}
		}
		if kind == uint32(event.API) && launchClasses>>uint32(classes[i])&1 != 0 {
			thread := b.Thread.Values[i]
			if thread != launcher && !slices.Contains(r.host.launching, thread) {
				r.host.launching = append(r.host.launching, thread)
			}
			launcher = thread
			if calls {
				r.outside.call(classes[i], t)
			}
		}
		if ends[i]-t > long {
			r.host.keep(b, i, frontier)
		}
		if want[kind]>>uint32(classes[i])&1 != 0 {
			stop = wanted
			break
		}
	}
	r.last, r.frontier, r.limit, r.host.launcher = last, frontier, limit, launcher
	return i, stop
}

// begin ends the open step and begins s at row k. The rows before it, and the row of s,
// are in the output then.
func (r *rank) begin(k int, s openStep, name string) {
	r.put(k)
	if r.open {
		r.endStep(s.start, s.start)
	} else {
		r.open = true
		r.segments = append(r.segments, segment{start: s.start, end: s.end})
	}
	r.setStep(s, name)
}

// setStep makes s the open step and inserts its row into the output.
func (r *rank) setStep(s openStep, name string) {
	s.at = r.out.insert(r.step.at, s.start, name)
	s.since = min(s.since, s.start)
	row, i := r.out.at(s.at), s.at.row
	row.Kind.Set(i, event.Step)
	row.Start.Set(i, s.start)
	row.Rank.Set(i, r.id)
	row.Segment.Set(i, int64(len(r.segments)-1))
	r.step = s
	r.limit = max(r.frontier, s.end) + r.plan.segmentGap
	r.extend(s.end)
}

// patch updates the row of a step by what may have changed since it began.
func (r *rank) patch(s *openStep) {
	row := r.out.at(s.at)
	row.End.Set(s.at.row, s.end)
	row.Size.Set(s.at.row, int64(s.size))
}

// endStep ends the open step, whose period extends to end. The next step, or what
// follows the segment, begins at next.
func (r *rank) endStep(end, next int64) {
	r.patch(&r.step)
	r.doubted(next)
	r.out.tag(r.step.at, end, int64(r.steps))
	r.steps++
	seg := &r.segments[len(r.segments)-1]
	seg.sizes = append(seg.sizes, r.step.size)
	if r.structured() {
		r.kernels, r.work = append(r.kernels, r.work), 0
	}
	old := 0
	switch r.plan.method {
	case step.NVTX:
		r.recent = append(r.recent, r.step)
		for old < len(r.recent) && end-r.recent[old].start > step.MergeMarkers {
			old++
		}
	case step.Graph:
		if b := r.out.at(r.step.at); r.step.eager && b.Columns.Has(event.ColClass) {
			b.Class.Set(r.step.at.row, event.Launch)
		}
		r.recent = append(r.recent, r.step)
		old = max(0, len(r.recent)-maxReplays)
	}
	r.recent = append(r.recent[:0], r.recent[old:]...)
}

// closeSegment ends the open step and its segment. All rows that may be in its period
// must be in the output. What follows starts at t.
func (r *rank) closeSegment(t int64) {
	if r.open { // otherwise what there was is no step
		r.endStep(r.segments[len(r.segments)-1].end, t)
	}
	if r.plan.method == step.NVTX && r.outside.drains() && !r.step.context {
		r.segments[len(r.segments)-1].drained = r.frontier
	}
	r.open, r.limit, r.pauses.from, r.doubt = false, never, never, nil
	r.outside.close()
	r.onset.name = ""
	r.step.id = none
	r.context.launches = r.context.launches[:0]
	r.recent = r.recent[:0]
}

// settledBefore returns the number of the first batch that may still change.
func (r *rank) settledBefore() int {
	switch {
	case !r.open:
		return math.MaxInt
	case r.doubt != nil && r.doubt.before != nil:
		return r.doubt.before.at.batch
	case len(r.recent) > 0:
		return r.recent[0].at.batch
	}
	return r.step.at.batch
}

// settledUntil returns the start of the first row that a step may still begin with, as
// far as it is known.
func (r *rank) settledUntil() int64 {
	if r.onset.name != "" {
		return min(r.last, r.onset.step.start)
	}
	return r.last
}

// finish ends the rank's rows. An error comes from rows that were held back.
func (r *rank) finish() (err error) {
	if l := r.learner; l != nil {
		l.rule = l.run.rule(r.context.words.all)
		err = r.learned()
	}
	if r.open {
		r.closeSegment(never)
	}
	r.markers.ranges = nil
	r.more, r.outside.markers = r.outside.more(), nil
	return err
}
