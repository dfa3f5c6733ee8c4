package timeline

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Collector observes the rows of a stream and keeps some of its steps.
type Collector struct {
	header *event.Header
	opt    Options
	sites  *idle.Sites
	store  *spill.Store // for the long gaps that package idle keeps
	ranks  []*rank
	cur    *rank // the rank of the last rows
	rows   int64
	labels map[idle.Key]Gap // by key: cause, site and path

	last worst // of each rank's last segment of enough steps
	all  worst // of all steps

	asked []*Step // kept for their numbers
}

// New returns a collector for the stream with header h. It must be closed.
func New(h *event.Header, opt Options) *Collector {
	return &Collector{header: h, opt: opt, sites: idle.NewSites(), store: spill.NewStore(16 << 20), labels: map[idle.Key]Gap{}, last: worst{limit: opt.Worst}, all: worst{limit: opt.Worst}}
}

// Add observes the rows of a batch, which is not retained.
func (c *Collector) Add(b *event.Batch) error {
	return b.EachRank(func(id int32, i, j int) error {
		if c.cur == nil || c.cur.id != id {
			c.cur = c.rank(id)
		}
		c.rows += int64(j - i)
		c.cur.lastRow = c.rows
		if err := c.cur.walk.Add(b, i, j); err != nil {
			return err
		}
		return idle.Kept(c.store)
	})
}

// label returns idle time of a key, without device and times.
func (c *Collector) label(k idle.Key) Gap {
	g, ok := c.labels[k]
	if !ok {
		key, why := c.sites.Undivided(k)
		g = Gap{Cause: c.sites.CauseName(key), Site: c.sites.Name(key), Path: c.sites.PathText(c.sites.Path(key))}
		if why != idle.None {
			g.Why = c.sites.WhyName(why)
		}
		c.labels[k] = g
	}
	return g
}

// rank returns a rank, a new one if it is unknown. It closes ranks whose rows came long
// ago.
func (c *Collector) rank(id int32) *rank {
	for _, r := range c.ranks {
		if r.id != id && c.rows-r.lastRow >= event.MaxBatchRows {
			r.close()
		}
	}
	k := slices.IndexFunc(c.ranks, func(r *rank) bool { return r.id == id })
	if k < 0 {
		k = len(c.ranks)
		c.ranks = append(c.ranks, newRank(c, id))
	}
	return c.ranks[k]
}

// Close ends the stream and returns the steps that were kept. The collector must not be
// used afterwards.
func (c *Collector) Close() *Timeline {
	defer c.store.Close()
	t := &Timeline{}
	bench := true
	for _, r := range c.ranks {
		r.close()
		if r.walk.Unclear {
			return t
		}
		from, to := r.walk.BenchmarkSteps()
		t.Seen += to - from
		// whether steps were kept of the segment of the benchmark window
		bench = bench && (r.walk.Steps.Len() == 0 || r.last.index >= 0 && r.walk.Benchmark() == int(r.last.index))
	}
	chosen := &c.last
	if !bench || len(c.last.steps) == 0 {
		chosen = &c.all
		t.Seen = 0
		for _, r := range c.ranks {
			t.Seen += max(r.walk.Steps.Len(), 1)
		}
	}
	for k, s := range chosen.steps {
		s.Worst = k + 1
	}
	t.Steps = slices.Clone(chosen.steps)
	if len(c.ranks) > 0 {
		for _, s := range c.ranks[0].last.spread.steps {
			if s.Worst == 0 {
				t.Steps = append(t.Steps, s)
			}
		}
	}
	for _, s := range c.asked {
		if !slices.Contains(t.Steps, s) {
			t.Steps = append(t.Steps, s)
		}
	}
	slices.SortFunc(t.Steps, func(a, b *Step) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Start, b.Start)) })
	c.addWaits(t.Steps)
	for _, s := range t.Steps {
		s.finish()
	}
	return t
}

// finish sorts the events and resolves the launching calls. It drops calls before the
// step that launched nothing that ran in it.
func (s *Step) finish() {
	s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.Start >= s.Until }) // after the end of the step
	s.Gaps = slices.DeleteFunc(s.Gaps, func(g Gap) bool { return g.Start >= s.Until })
	for i := range s.Gaps {
		s.Gaps[i].End = min(s.Gaps[i].End, s.Until)
	}
	slices.SortStableFunc(s.Events, func(a, b Event) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	type call struct{ start, correlation int64 }
	used := map[call]int32{}
	for i := range s.Events {
		if e := &s.Events[i]; e.Kind.IsGPU() && e.launched != None {
			used[call{e.launched, e.Correlation}] = -1
		}
	}
	kept := s.Events[:0]
	for _, e := range s.Events {
		key := call{e.Start, e.Correlation}
		if _, launches := used[key]; e.Kind == event.API && launches {
			used[key] = int32(len(kept))
		} else if e.Kind == event.API && e.End <= s.Start {
			continue
		}
		kept = append(kept, e)
	}
	s.Events = kept
	for i := range kept {
		e := &kept[i]
		e.Launch = -1
		if e.Kind.IsGPU() && e.launched != None {
			e.Launch = used[call{e.launched, e.Correlation}]
		}
	}
}
