package compare

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/marker"
	steps "github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// ProfileOptions says what a profile records.
type ProfileOptions struct {
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Name is what the run is called in reports; "" takes the names of its files.
	Name string
	// Why divides idle time by why host threads did not go on, too.
	Why bool
	// Memory is how much of the samples is kept in memory, in bytes; the rest goes to a
	// temporary file. 0 is spill.DefaultMemory.
	Memory int64
}

// profiler makes a profile of the batches that it is shown.
type profiler struct {
	header  *event.Header
	run     *Run         // without ranks until the end
	busy    uint32       // the bits of the kinds that are GPU activity
	ranks   []*rank      // in the order of their first row
	sites   *idle.Sites  // of all ranks, which share names
	markers *marker.Set  // that steps were found by, nil for the presets
	rows    []*idleNames // of the sections of idle time
	waits   *idleNames   // of the section of waits
}

// Profile reads the stream to its end and returns its profile.
func Profile(src event.Source, opt ProfileOptions) (*Run, error) {
	p, err := newProfiler(src.Header(), opt)
	if err != nil {
		return nil, err
	}
	if err := event.Each(src, p.add); err != nil {
		return nil, err
	}
	return p.end()
}

// newProfiler returns a profiler for the batches that follow a header. The stream has
// steps and phases; an error is an *event.Error.
func newProfiler(h *event.Header, opt ProfileOptions) (*profiler, error) {
	if h.Isolation == nil {
		return nil, &event.Error{Msg: "the stream has no steps", Advice: "put isolate and phase before it"}
	}
	if h.Isolation.Method == steps.None {
		return nil, &event.Error{Msg: "no steps could be found in " + fileNames(h), Advice: "isolate says why; verdict and gaps answer for the whole trace"}
	}
	need := event.BaseCols &^ (1<<event.ColStream | 1<<event.ColDomain | 1<<event.ColBytes)
	if err := h.Require(need | event.StepCols); err != nil {
		return nil, err
	}
	if err := h.Require(event.PhaseCols); err != nil {
		return nil, &event.Error{Msg: "the stream has no phases", Advice: "put phase after isolate"}
	}
	p := &profiler{header: h, busy: 1<<event.Kernel | 1<<event.Graph, sites: idle.NewSites()}
	if expression := h.Isolation.Marker; expression != "" {
		var err error
		if p.markers, err = marker.Compile(expression); err != nil {
			return nil, &event.Error{Msg: "the marker that steps were found by: " + err.Error(), Advice: "isolate again"}
		}
	}
	if opt.BusyAll {
		p.busy |= 1<<event.Memcpy | 1<<event.Memset
	}
	r := newRun(opt.Memory)
	p.run = r
	r.Name, r.Method, r.marker, r.why, r.workload = cmp.Or(opt.Name, fileNames(h)), h.Isolation.Method, h.Isolation.Marker, opt.Why, h.Workload()
	r.Ranges, r.calls, r.Warnings = h.Rows(event.NVTX) > 0, h.Rows(event.API) > 0, h.Warnings()
	for i := range h.Reports {
		r.missing = unite(r.missing, idle.Unrecorded(h, h.Reports[i].Ranks))
	}
	divide := func(section int, name func(*idle.Sites, idle.Key) string) *idleNames {
		return &idleNames{sites: p.sites, section: section, names: r.names[section], name: name}
	}
	p.waits = divide(waitTimes, (*idle.Sites).CauseName)
	p.rows = append(p.rows, divide(idleTimes, bySite))
	if r.why {
		p.rows = append(p.rows, divide(whyTimes, byWhy))
	}
	return p, nil
}

// fileNames names a run by its files.
func fileNames(h *event.Header) string {
	var files []string
	for i := range h.Reports {
		files = append(files, h.Reports[i].File)
	}
	if len(files) > maxSaid {
		return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
	}
	return strings.Join(files, ", ")
}

// add observes the rows of a batch, of which nothing is kept.
func (p *profiler) add(b *event.Batch) error {
	return b.EachRank(func(id int32, i, j int) error {
		if err := p.rank(id).walk.Add(b, i, j); err != nil {
			return err
		}
		return p.run.kept()
	})
}

// rank returns the rank with a number, which may be a new one. Rows of a rank stand
// together as a rule, so it is the last one nearly always.
func (p *profiler) rank(id int32) *rank {
	for k := len(p.ranks) - 1; k >= 0; k-- {
		if p.ranks[k].id == id {
			return p.ranks[k]
		}
	}
	r := p.newRank(id)
	p.ranks = append(p.ranks, r)
	return r
}

// end ends the profile and returns it.
func (p *profiler) end() (*Run, error) {
	for _, r := range p.ranks {
		r.finish()
	}
	p.divideWaits()
	for _, r := range p.ranks {
		r.seal()
		p.run.ranks = append(p.run.ranks, r.profile)
	}
	p.run.names[operations], p.run.names[kernels], p.run.names[calls] = p.sites.Ranges, p.sites.Names, p.sites.Names
	p.run.settle()
	return p.run, p.run.kept()
}
