package gap

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Running is what launching threads ran on a CPU while GPUs were idle, according to samples.
type Running struct {
	Us        float64  `json:"us"`         // idle time while they were on a CPU, over all GPUs
	SampledUs float64  `json:"sampled_us"` // the part in strata with samples: Families divide this
	Samples   int64    `json:"samples"`    // CPU samples in it
	Families  []Family `json:"families"`   // the largest first; only those with enough samples
	// FamiliesUnknown is why Families is empty, "" if it is not.
	FamiliesUnknown string `json:"families_unknown,omitempty"`
}

// Family is the part of the time on a CPU in functions of one family, according to samples.
type Family struct {
	Family string  `json:"family"` // as package cudaname names it
	Share  float64 `json:"share"`  // 0 to 1
	Low    float64 `json:"low"`    // the lower end of its 95 % interval
	High   float64 `json:"high"`   // the upper end
	Us     float64 `json:"us"`     // idle time in the family, over all GPUs
}

// minSamples is how many independent samples a share needs.
const minSamples = 30

// pool holds strata that are reported together.
type pool struct {
	ns, sampled int64
	drawn       []stat.Drawn
	counts      []stat.Counts // of each stratum with samples
	lengths     []float64     // expected samples of each part of a gap that has samples, for stat.NewSampler
}

// add adds a stratum. Its time in stacks of calls is known without samples; weight is the
// remaining time per sample. Samples of one part of a gap are not independent, so each is
// added with its part, whose length is given in expected samples.
func (p *pool) add(f *found) {
	p.ns += f.ns
	rest := f.ns - f.exactNs()
	if len(f.samples) == 0 || rest <= 0 {
		return
	}
	p.sampled += rest
	gpus := int64(0)
	for _, s := range f.samples {
		gpus += s.GPUs
	}
	weight, rate := float64(rest)/float64(gpus), f.drawn.Rate()
	for i, s := range f.samples {
		if i == 0 || s.From != f.samples[i-1].From {
			p.lengths = append(p.lengths, rate*float64(s.To-s.From))
		}
		p.drawn = append(p.drawn, stat.Drawn{Weight: weight * float64(s.GPUs), Part: int32(len(p.lengths) - 1), Kind: int32(s.Family), Offset: float32(rate * float64(s.At-s.From))})
	}
	p.counts = append(p.counts, f.drawn)
}

// maxBursts is the largest ratio of the variance of the number of samples in a part to that
// expected by chance. Above it, the sampler was off for some of the time, and intervals would
// hold only for the rest.
const maxBursts = 2

// families returns the shares of families, the largest first, or why there are none. A share
// needs minSamples independent samples. A family that was never seen has no share, not 0.
func (p *pool) families() (list []Family, unknown string) {
	list = []Family{}
	if len(p.drawn) < minSamples {
		return list, "too few samples"
	}
	by := stat.NewSampler(p.counts, p.lengths, p.drawn)
	if by.Random > maxBursts {
		return list, "samples come in bursts, and what ran between bursts is unknown"
	}
	kinds := int32(0)
	seen := map[int32]bool{}
	for _, d := range p.drawn {
		kinds, seen[d.Kind] = max(kinds, d.Kind+1), true
	}
	for k, s := range stat.Shares(p.drawn, int(kinds), by) {
		if seen[int32(k)] && math.Round(s.N) >= minSamples {
			list = append(list, Family{event.Class(k).String(), s.Share, s.Low, s.High, us(p.sampled) * s.Share})
		}
	}
	slices.SortFunc(list, func(a, b Family) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Family, b.Family))
	})
	switch {
	case len(list) > 0:
	case by.InStep > 1:
		unknown = "samples fall on the same moments of each idle time, and what ran between them is unknown"
	default:
		unknown = "too few independent samples"
	}
	return list, unknown
}

// running fills in what launching threads ran, in all and by cause and why, from CPU samples.
// Only time on a CPU has samples, so that is the denominator, not all of the idle time.
// Strata are visited in a fixed order, because sums of floating point numbers depend on it.
func (e *evidence) running(rep *Report) {
	type part struct{ cause, why string }
	all, parts := &pool{}, map[part]*pool{}
	for _, of := range slices.SortedFunc(maps.Keys(e.strata), func(a, b stratum) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.phase, b.phase), cmp.Compare(a.key, b.key))
	}) {
		key, why := e.sites.Undivided(of.key)
		if why == idle.None || !why.OnCPU() {
			continue
		}
		at := part{e.sites.CauseName(key), e.sites.WhyName(why)}
		if parts[at] == nil {
			parts[at] = &pool{}
		}
		parts[at].add(e.strata[of])
		all.add(e.strata[of])
	}
	if len(all.drawn) == 0 {
		return
	}
	families, unknown := all.families()
	rep.Idle.Running = &Running{us(all.ns), us(all.sampled), int64(len(all.drawn)), families, unknown}
	for i := range rep.Idle.Causes {
		cause := &rep.Idle.Causes[i]
		for k := range cause.Why {
			if p := parts[part{cause.Cause, cause.Why[k].Why}]; p != nil {
				cause.Why[k].Samples = int64(len(p.drawn))
				cause.Why[k].Families, _ = p.families()
			}
		}
	}
}

// table shows the families, or why there are none.
func (r *Running) table(s *report.Section, steps int64) {
	switch {
	case r == nil:
		return
	case len(r.Families) == 0:
		s.Say("What launching threads ran on the CPU cannot be told from %s of the CPU: %s.", report.Counted(r.Samples, "sample"), r.FamiliesUnknown)
		return
	}
	t := s.Table("What launching threads ran on the CPU while the GPUs were idle",
		report.Columns("functions of: names, share: ratio adds, 95 % interval: names, per step: duration adds 1")...)
	t.Top = maxRows
	for _, f := range r.Families {
		interval := fmt.Sprintf("%s to %s", report.Percent(f.Low), report.Percent(f.High))
		t.Row(report.Str(f.Family), report.Num(f.Share), report.Str(interval), report.Opt(perStep(f.Us, steps)))
	}
	s.Say("From %d CPU samples. The total CPU time is exact; the split is estimated, from user space only.", r.Samples)
}

// of returns the part of w in a family, in us, 0 if unknown.
func (w *Why) of(family string) float64 {
	for _, f := range w.Families {
		if f.Family == family {
			return f.Us
		}
	}
	return 0
}

// of returns the part of the cause in a family, in us, 0 if unknown.
func (c *Cause) of(family string) (us float64) {
	for k := range c.Why {
		us += c.Why[k].of(family)
	}
	return us
}
