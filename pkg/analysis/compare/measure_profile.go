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

// ProfileOptions are the options of Profile.
type ProfileOptions struct {
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Name is the name of the run in reports; "" means the names of its files.
	Name string
	// Why also divides idle time by why host threads were stalled.
	Why bool
	// Memory is how many bytes of samples are kept in memory; the rest goes to a
	// temporary file. 0 means spill.DefaultMemory.
	Memory int64
}

// profiler makes a profile from batches.
type profiler struct {
	header  *event.Header
	run     *Run         // without ranks until the end
	busy    uint32       // a bit for each kind that is GPU activity
	ranks   []*rank      // in the order of their first row
	sites   *idle.Sites  // shared by all ranks
	markers *marker.Set  // by which steps were found, nil for the presets
	rows    []*idleNames // by section of idle time
	waits   *idleNames   // for the section of waits
}

// Profile reads the stream to its end and returns its profile. The caller must close it.
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

// newProfiler returns a profiler for the stream with header h, which must have steps and
// phases. An error is an *event.Error.
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

// fileNames names a run after its files.
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

// add adds the rows of a batch, which is not retained.
func (p *profiler) add(b *event.Batch) error {
	return b.EachRank(func(id int32, i, j int) error {
		if err := p.rank(id).walk.Add(b, i, j); err != nil {
			return err
		}
		return p.run.kept()
	})
}

// rank returns the rank with an id, a new one if it is unknown. Rows of a rank are
// usually contiguous, so it is nearly always the last one.
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

// end completes the profile and returns it.
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
