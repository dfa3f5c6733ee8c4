package gap

import (
	"cmp"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/layer"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// stretch is eager kernels between two replays that were launched in one range.
type stretch struct {
	path  int32
	names string
}

// split finds operations between replays that launch kernels which could be captured
// together with some that cannot.
// It is looked for in the steps that were kept for the layer, the steady ones first, and
// reported where it comes once in each of them at least.
func (f *finder) split() {
	counts := map[stretch]int{}
	steps := 0
	for _, what := range keepers {
		for _, kernels := range f.c.keptSteps(f.views, what.kept) {
			steps++
			f.stretches(kernels, func(s stretch) { counts[s]++ })
		}
		if len(counts) > 0 {
			break
		}
	}
	best, most := stretch{}, 0
	for s, n := range counts {
		if n > most || n == most && cmp.Or(cmp.Compare(s.names, best.names), cmp.Compare(s.path, best.path)) < 0 {
			best, most = s, n
		}
	}
	if most == 0 || most < steps { // less than once per step
		return
	}
	path, worth, lost := f.c.sites.PathText(best.path), 0.0, f.lostIn(noPhase, idle.Launch)
	f.sites(event.Classes[event.Launch], func(s *Site) {
		if s.Path == path && !s.launchesGraphs() {
			worth += s.Us - us(lost[place{s.Site, s.Path}])
		}
	})
	if f.worth(worth) {
		f.add(GraphSplit, worth, Finding{Path: path, Source: f.c.Source(best.path)}, "%s one operation between two graph replays launches kernels that cannot be captured and kernels that can: %s%s; the GPU is idle %s in these calls",
			f.often(float64(most)/float64(steps)), best.names, in(path), f.per(worth))
	}
}

// stretches calls found with the stretches of eager kernels between replays that mix
// kernels of both sorts.
func (f *finder) stretches(kernels []layer.Sampled, found func(stretch)) {
	seen := false // a replay
	for i := 0; i < len(kernels); i++ {
		if kernels[i].Replayed {
			seen = true
			continue
		}
		from := i
		for i < len(kernels) && !kernels[i].Replayed {
			i++
		}
		if seen && i < len(kernels) {
			f.mixed(kernels[from:i], found)
		}
	}
}

// mixed calls found with kernels of one operation of which some can be captured and some
// cannot.
func (f *finder) mixed(part []layer.Sampled, found func(stretch)) {
	can, cannot := 0, 0
	var names []string
	for k := range part {
		if part[k].Path != part[0].Path {
			return // more than one operation
		}
		names = append(names, report.Short(f.c.kernels.text(part[k].Name)))
		if Capturable(part[k].Class) {
			can++
		} else {
			cannot++
		}
	}
	if can > 0 && cannot > 0 {
		found(stretch{part[0].Path, strings.Join(names[:min(4, len(names))], ", ")})
	}
}
