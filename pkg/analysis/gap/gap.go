package gap

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Windows of the report.
const (
	WindowBenchmark = "benchmark" // the benchmark segments of the ranks
	WindowTrace     = "trace"     // from the first GPU activity to the last
)

// DefaultTop is how many of the longest gaps are listed.
const DefaultTop = 10

// Options selects what to report.
type Options struct {
	// Window is WindowBenchmark or WindowTrace; "" is WindowBenchmark. Streams without
	// steps always get WindowTrace.
	Window string
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Top is how many of the longest gaps are listed: DefaultTop if 0, none if negative.
	Top int
	// FirstOnly skips half of the work if only the finding to begin with is needed. Gains
	// then have no intervals, and there is no best pair and no Waits.
	FirstOnly bool
	// PerStep adds the idle causes of each step to the report.
	PerStep bool
	// Stacks adds the idle time as stacks to the report, for flame graphs.
	Stacks bool
	// Series adds the steps over time and by rank to the report, for figures.
	Series bool
	// Memory limits how much of the data that grows with the run stays in memory, in bytes.
	// The rest goes to a temporary file. 0 is spill.DefaultMemory.
	Memory int64
	// Source returns the source function of an NVTX range, "" if unknown. It may be nil.
	Source func(string) string
	// Advice returns what to do about idle time of a cause, as package idle names it, as text
	// that continues after a colon, or "". It may be nil.
	Advice func(string) string
}

// Compute reads the stream to its end and reports on it.
func Compute(src event.Source, opt Options) (*Report, error) {
	c := NewWatch(src.Header(), opt)
	c.read(src)
	return c.Close()
}

// read observes a stream to its end.
func (c *Watch) read(src event.Source) {
	if c.err == nil {
		c.err = event.Each(src, c.add)
	}
}

// Watch makes a report from rows that the caller reads: pass each batch to Add, then call
// Close.
type Watch struct {
	header *event.Header
	opt    Options
	err    error

	wholeTrace bool // the window is WindowTrace
	stepped    bool // the stream has steps
	phased     bool // and their steps have phases
	matching

	texts
	method  string // how steps were isolated, "" without
	markers *marker.Set

	canFollow bool // ranks may wait for the one that fetches requests

	threads *threadWatch  // how threads use CPUs over the whole run
	trace   *replay.Trace // the same rows, to replay for gains
	replay  func(treatments []replay.Scenario, means bool) (*replay.Report, error)

	ranks []*rank
	rows  int64
	cur   *rank
	store *spill.Store // holds what grows with the run
}

// matching is about the collectives in which ranks wait for one another.
type matching struct {
	collective bool              // collectives are observed: there may be some
	match      *collective.Match // nil until the report is made, or without collectives
	waits      *waitSums         // in collectives; nil with Options.FirstOnly
}

// texts resolves the names of sites to text.
type texts struct {
	sites   *idle.Sites
	ranges  *names // of NVTX ranges, digits folded
	kernels *names // of kernels and calls
	source  func(string) string
}

// NewWatch returns a Watch for the rows of a stream with this header. Call Close even if
// reading the stream fails. Close reports missing columns and invalid options as errors.
//
// Without steps the window is the whole trace, and ranks are not compared: only steps tell
// which of their collectives belong together.
func NewWatch(h *event.Header, opt Options) *Watch {
	c := newWatch(h, opt, spill.NewStore(cmp.Or(opt.Memory, spill.DefaultMemory)))
	c.trace.Sample()
	return c
}

// newWatch returns a Watch that uses the given store and replays all rows, not a sample.
func newWatch(h *event.Header, opt Options, store *spill.Store) *Watch {
	c := &Watch{header: h, opt: opt, store: store}
	c.opt.Top = max(cmp.Or(opt.Top, DefaultTop), 0)
	if opt.Advice == nil {
		c.opt.Advice = func(string) string { return "" }
	}
	c.trace = replay.New(h, c.store)
	c.replay = c.trace.Each
	c.threads = newThreadWatch(h, c.store)
	sites := idle.NewSites()
	c.texts = texts{sites, &names{Names: sites.Ranges}, &names{Names: sites.Names}, opt.Source}
	if opt.Source == nil {
		c.source = func(string) string { return "" }
	}
	need := event.BaseCols &^ (1<<event.ColDomain | 1<<event.ColBytes)
	if c.stepped = h.Isolation != nil && h.Isolation.Method != step.None; c.stepped {
		need |= event.StepCols
		c.method = h.Isolation.Method
		if expr := h.Isolation.Marker; expr != "" {
			c.markers, c.err = marker.Compile(expr)
		}
	}
	if c.err == nil {
		c.err = h.Require(need)
	}
	if c.err == nil && !slices.Contains([]string{"", WindowBenchmark, WindowTrace}, opt.Window) {
		c.err = &event.Error{Msg: "unknown window " + opt.Window, Advice: "--window takes benchmark or trace"}
	}
	c.wholeTrace = opt.Window == WindowTrace || !c.stepped
	// Waits for the rank that fetches requests are recognised only within one report: the clocks of
	// several reports do not agree to the microsecond.
	c.canFollow = len(h.Reports) == 1 && h.NumRanks() > 1 && h.Rows(event.OS) > 0 && h.ClassRows(event.Allreduce) > 0
	c.collective = c.stepped && (h.NumRanks() > 1 || h.ClassRows(event.Allreduce) > 0 && !opt.FirstOnly)
	c.phased = c.stepped && h.Columns&event.PhaseCols == event.PhaseCols
	return c
}

// Add observes a batch. It always returns nil; Close returns the first error.
func (c *Watch) Add(b *event.Batch) error {
	if c.err == nil {
		c.err = c.add(b)
	}
	return nil
}

// Close returns the report of all rows, and releases the store.
func (c *Watch) Close() (*Report, error) {
	defer c.store.Close()
	return c.finish()
}

// finish is Close without releasing the store.
func (c *Watch) finish() (*Report, error) {
	if c.err != nil {
		return nil, c.err
	}
	for _, r := range c.ranks {
		r.seal()
	}
	c.threads.runs.Seal()
	err := c.trace.Finish(func(id int32) *step.RankSteps {
		k := slices.IndexFunc(c.ranks, func(r *rank) bool { return r.id == id })
		if k < 0 || !c.stepped {
			return nil
		}
		return &c.ranks[k].walk.RankSteps
	})
	if err != nil {
		return nil, err
	}
	rep, err := c.report()
	if err != nil {
		return nil, err
	}
	return rep, idle.Kept(c.store)
}

// add hands the rows of a batch to their ranks, a run of one rank at a time.
func (c *Watch) add(b *event.Batch) error {
	c.threads.Add(b)
	if err := c.trace.Add(b); err != nil {
		return err
	}
	return b.EachRank(func(id int32, i, j int) error {
		if err := c.rank(id).walk.Add(b, i, j); err != nil {
			return err
		}
		c.rows += int64(j - i)
		c.cur.lastRow = c.rows
		return idle.Kept(c.store)
	})
}

// rank returns the rank with the given number. Ranks without a row among the last
// event.MaxBatchRows are sealed.
func (c *Watch) rank(id int32) *rank {
	if c.cur != nil && c.cur.id == id {
		return c.cur
	}
	c.cur = nil
	for _, r := range c.ranks {
		if r.id == id {
			c.cur = r
		} else if c.rows-r.lastRow >= event.MaxBatchRows {
			r.seal()
		}
	}
	if c.cur == nil {
		c.cur = newRank(c, id)
		c.ranks = append(c.ranks, c.cur)
	}
	return c.cur
}
