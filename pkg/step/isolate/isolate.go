// Package isolate finds the steps of a run, the forward iterations of each rank, in a stream
// of events. It puts a step row before the rows of each step, tags those rows with the step's
// number, and ends the stream with one window row per rank.
//
// # What a step is
//
// With the method "nvtx" a step is one forward-step marker range of a rank. Two ranges with
// the same iteration number are one if the later starts within 100 us of the earlier.
//
// With "graph" a step is one replay of a CUDA graph on the rank's device, from the first start
// to the last end of the GPU activity with its launch identity. The time of the call does not
// matter, since the host may run far ahead. If replays come in a fixed cycle, as those of
// piecewise graphs do, a step is one cycle. A forward pass without a replay is a step, too, if
// it has at least 16 kernels: from the first kernel after the work that begins a step to the
// last one before the work that begins the next. Its row has the class launch. If nothing but
// the replays recurs, each replay is taken for a step, with a warning: the pieces of one graph
// look the same, and passes without a replay fall into the period of the replay before them.
//
// With "allreduce" the kernels of class allreduce are taken in the order of their start, on
// the lowest device of the rank that has any. In a rank with markers a new step begins at a
// kernel that was launched during another marker range than the current step's. The marker
// range of a launch is the one around its start, or of several the one that starts last.
// Kernels launched outside all ranges, such as a sampler's or a draft model's, join the
// current step. If that has no range either, a new step begins where a kernel starts more than
// Gap after the latest end of the step so far. A segment may begin with such kernels, as when
// a recording starts inside a draft model. If they make up one step before that of the first
// marker, they belong to no step.
//
// With "nvtx" a warning says if the host runs so far ahead of the GPU that markers are closer
// together than the steps of the GPU. With all methods a warning names both counts if
// something else that occurs once per step shows another number of steps: markers, their
// numbers, what is launched from one marker to the next, the usual number of collectives and
// of kernels (checkCounts). Another one says if the steps of some ranks are a quarter longer
// than those of others (checkUnlike). Undetected is the case in which every other marker is
// missing, markers have no numbers, and graphs are launched: a draft model's graphs look the
// same.
//
// In a run with allreduce kernels, a rank without them is a stage of a pipeline: its steps are
// its marker ranges, or else its replays, or else it has none.
//
// # Steps without markers
//
// In a rank without markers a gap is no evidence: the layers of a large model are a
// millisecond apart in prefill, and the steps of a fast one are closer than that. A step is
// the period of the sequence of allreduce kernels, or of replays. Each of these is described
// by the once-per-step work just before it: the kernel that looks up embeddings, kernels that
// make tokens, the host's waits, copies to and from the GPU. Kernels count where they run, and
// what the host does counts between two launches, so the host may run ahead. Elements with
// none of this before them, as inside layers, are left out. Two elements that share half of it
// are equal, so an eager prefill is a step just as a replay is. Periods are found as layers
// are ([step.Align]): by lag search, with local alignment.
//
// Among the periods that cover nine tenths of the sequence, the one with the most evidence
// wins: each kind of work that occurs once or never in every step is evidence. The kinds also
// say where in the period a step begins: with the first of them, in the order above, except
// that making tokens and copying them back come at the end. The names found at these places,
// and hardly anywhere else, become the rule that identifies the steps of the rank.
//
// If no period covers as much, or another has as much evidence, isolating fails: the steps
// cannot be identified. Warnings say if a tenth of the steps differ in size, or if those of a
// segment outside the window do. Gap, if given, makes gaps alone decide.
//
// Rejected: the length of gaps alone (splits prefill and merges fast decode), a fixed list of
// kernel names (compiled models have others), and periods of the sequence of kernels (layers
// recur more clearly than steps do, and so do context steps at a fixed distance; leaving out
// what repeats by itself, one length after the other, identified the steps of three more of
// 478 runs).
//
// # Segments and periods
//
// A segment ends when all GPUs of the rank have been idle, after the latest end of its steps,
// for one stretch of more than SegmentGap in which the host does not work. It also ends with
// the recording. The host works if, for at least half of the stretch, a launching thread is
//
//   - inside a CUDA call other than a query;
//   - inside an OS call that does not wait, sleep or do I/O;
//   - inside a range that begins no earlier than the step before and ends no later than the
//     step after, except while it fetches requests;
//   - or on a CPU, if none of its calls in the stretch waits.
//
// Such a stretch is a stall and belongs to the step that it delays. Whether a range that is
// open at the end of the stretch outlasts the next step is known when that step has ended;
// until then the rows of both are held back. Of rows that begin before the step before, only
// those longer than half of SegmentGap count.
//
// The period of a step goes from its start to that of the next step of its segment; the last
// one's goes to the latest end of the segment's steps. Periods thus tile the segment, even if
// steps overlap. Rows belong to the step in whose period they start; rows between segments
// belong to none. A step with such an idle stretch between its kernels ends there, too, unless
// the host works in it.
//
// # Why one pass is enough
//
// Rows come in the order of their start. When one arrives, every GPU row that starts earlier
// is known, and so is whether the GPUs have been idle from the latest end of all of them until
// now: segments close as soon as the stretch is too long. Marker ranges start before the
// launches inside them, which start before the kernels. When a step row is due, only its own
// end and size are not known, nor whether rows after the last step's end are still inside the
// segment. So the rows of the open step are held back, as columns, until the next step starts
// or the segment closes. No other memory is needed, besides two numbers per step and the last
// 16,384 marker ranges of a rank.
//
// Without markers, and by graph, the rows of a rank are held back from its first allreduce
// kernel, or its first row, until enough is known, 262,144 rows at most. The rule that was
// learned applies to the end of the rank.
package isolate

import (
	"fmt"
	"io"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Options are the options of isolation.
type Options struct {
	// By is one of [step.Methods]; "" is [step.Auto].
	By string
	// Gap, ns: a kernel that starts longer than this after the latest end of an
	// allreduce step begins the next step, if neither was launched during a marker. 0
	// means the default in ranks with markers; the steps of other ranks are then
	// identified by their structure.
	Gap int64
	// SegmentGap, ns, is the idle time that ends a segment; 0 means the default.
	SegmentGap int64
	// Marker is an expression for forward-step markers, see marker.Compile; "" means the
	// presets.
	Marker string
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Columns are the columns that rows keep, besides those that are added; 0 keeps all.
	Columns event.Set
	// Hold is the number of calls of Next for which a batch stays valid; 0 means one.
	Hold int
	// Log receives remarks, a sentence each; nil drops them.
	Log func(string)
	// Warn receives warnings that belong in every report, a sentence each; nil sends
	// them to Log.
	Warn func(string)
	// Unclear is called if it turns out at the end of the rows that the steps of some
	// ranks (NotFound.Ranks), or of all, cannot be identified. If it returns true the
	// stream ends normally, but the window rows of those ranks have no number of steps,
	// which tells readers not to use their steps. If it returns false, or is nil, Next
	// returns the error.
	Unclear func(*step.NotFound) bool
	// Leave are ranks whose rows pass unchanged, without steps.
	Leave []int32
}

// Isolator adds steps to a stream. It is an event.Source.
type Isolator struct {
	src    event.Source
	header event.Header
	opt    Options
	plan   plan

	ranks []*rank // in the order of their rows
	cur   *rank   // the last of them, whose rows are being read

	ready []*event.Batch // settled batches, oldest first
	lent  []*event.Batch // those that the caller may still read, oldest first
	pool  pool
	done  bool

	parts []*Isolator // one for each part of the source, if it is read in parts
	part  bool        // it is one of these: its parent adds the window rows
}

// New returns a stream with the rows of src and their steps. It returns an *event.Error
// or a *step.NotFound if the method does not fit the stream.
func New(src event.Source, opt Options) (*Isolator, error) {
	h := src.Header()
	if h.LeftOut() {
		return nil, &event.Error{Msg: "isolate --by none left the steps of this stream out", Advice: "isolate takes what nsys2arrow writes"}
	}
	if h.Isolation != nil || h.Columns&event.StepCols != 0 {
		return nil, &event.Error{Msg: "the stream has steps already", Advice: "isolate takes what nsys2arrow writes"}
	}
	if opt.Log == nil {
		opt.Log = func(string) {}
	}
	if opt.Warn == nil {
		opt.Warn = opt.Log
	}
	if opt.SegmentGap <= 0 {
		opt.SegmentGap = step.DefaultSegmentGap
	}
	method, why, err := choose(h, &opt)
	if err != nil {
		return nil, err
	}
	if why != "" {
		opt.Log("using " + why)
	}
	if launches, lost := unrecorded(h); method == step.Allreduce && lost > 0 && stat.MostOf(lost, launches) {
		opt.Warn(fmt.Sprintf("replays of %d of %d graph launches were not recorded: steps that ran as replays have no all-reduce kernels to find them by", lost, launches))
	}
	if err := h.Require(columns(method)); err != nil {
		return nil, err
	}
	p, err := newPlan(method, &opt)
	if err != nil {
		return nil, err
	}
	it := &Isolator{src: src, header: *h, opt: opt, plan: p}
	it.header.Stage = "isolate"
	if it.opt.Columns != 0 {
		it.header.Columns &= it.opt.Columns | event.HostCols
	}
	it.header.Columns |= event.StepCols
	it.header.Isolation = &event.Isolation{
		Method: it.plan.method, Marker: it.opt.Marker, Gap: it.plan.gap, SegmentGap: it.opt.SegmentGap, Busy: "kernels",
	}
	if it.opt.BusyAll {
		it.header.Isolation.Busy = "all"
	}
	it.header.Isolation.Chosen = slices.ContainsFunc(it.header.Reports, func(r event.Report) bool { return r.Chosen })
	it.pool.columns = it.header.Columns
	return it, nil
}

// Header returns the header of the stream with steps.
func (it *Isolator) Header() *event.Header { return &it.header }

// Next returns the next batch, which is valid for Options.Hold calls.
func (it *Isolator) Next() (*event.Batch, error) {
	if n := len(it.lent); n > 0 && n >= it.opt.Hold {
		it.pool.put(it.lent[0])
		it.lent = append(it.lent[:0], it.lent[1:]...)
	}
	for len(it.ready) == 0 {
		if it.done {
			return nil, io.EOF
		}
		b, err := it.src.Next()
		if err == io.EOF {
			if err := it.finish(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := it.add(b); err != nil {
			return nil, err
		}
	}
	b := it.ready[0]
	it.ready = it.ready[1:]
	it.lent = append(it.lent, b)
	return b, nil
}

// add passes the rows of a batch to their ranks, consecutive rows of one rank together.
func (it *Isolator) add(b *event.Batch) error {
	for i := 0; i < b.Len; {
		id, known := b.Rank.Get(i)
		j := b.RankEnd(i)
		if !known {
			id = noRank
		}
		if err := it.enter(id); err != nil {
			return err
		}
		if it.cur.left || id == noRank {
			it.cur.out.add(b, i, j)
			it.cur.out.seal(event.BatchRows)
			it.cur.last = never
		} else if err := it.cur.use(b, i, j); err != nil {
			return err
		}
		it.ready = it.cur.out.release(it.ready, it.cur.settledBefore(), it.cur.settledUntil())
		i = j
	}
	return nil
}

// enter makes a rank the current one, and ends the one before: the rows of a rank must
// be contiguous.
func (it *Isolator) enter(id int32) error {
	if it.cur != nil && it.cur.id == id {
		return nil
	}
	if err := it.endRank(); err != nil {
		return err
	}
	if id != noRank && slices.ContainsFunc(it.ranks, func(r *rank) bool { return r.id == id }) {
		return &event.Error{
			Msg:    fmt.Sprintf("rows of rank %d are not in one piece", id),
			Advice: "sort the stream by rank and start",
		}
	}
	plan, say := it.planOf(id)
	left := slices.Contains(it.opt.Leave, id)
	switch {
	case say == "", left:
	case it.header.ClassRows(event.Allreduce) == 0:
		it.opt.Warn(say) // not what was asked for
	default:
		it.opt.Log(say)
	}
	it.cur = newRank(id, plan, &it.pool, &it.header)
	it.cur.left = left
	it.ranks = append(it.ranks, it.cur)
	return nil
}

// endRank ends the current rank, if any.
func (it *Isolator) endRank() error {
	if it.cur == nil {
		return nil
	}
	err := it.cur.finish()
	it.ready = it.cur.out.close(it.ready)
	return err
}

// finish ends the last rank and, except in a part, adds the window rows.
func (it *Isolator) finish() error {
	it.done = true
	if err := it.endRank(); err != nil {
		return err
	}
	if it.part {
		it.pool.free, it.lent = nil, nil // free the memory: there may be many ranks, most of them done
		return nil
	}
	return it.addWindows()
}
