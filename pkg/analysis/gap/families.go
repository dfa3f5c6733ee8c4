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

// Running is what launching threads did on a CPU while GPUs were idle, by samples.
type Running struct {
	Us        float64  `json:"us"`         // idle time in which they were on a CPU, over all GPUs
	SampledUs float64  `json:"sampled_us"` // of it in strata with samples: Families divide this
	Samples   int64    `json:"samples"`    // of the CPU, in it
	Families  []Family `json:"families"`   // the largest first; those of which enough is known
	// FamiliesUnknown is why Families is empty, "" where it is not.
	FamiliesUnknown string `json:"families_unknown,omitempty"`
}

// Family is the part of time on a CPU that functions of one family took, by samples.
type Family struct {
	Family string  `json:"family"` // as package cudaname names it
	Share  float64 `json:"share"`  // 0 to 1
	Low    float64 `json:"low"`    // the lower end of its 95 % interval
	High   float64 `json:"high"`   // the upper end of that
	Us     float64 `json:"us"`     // the share of the time, over all GPUs
}

// minSamples is how many independent samples a share takes.
const minSamples = 30

// pool is strata that are reported together.
type pool struct {
	ns, sampled int64
	drawn       []stat.Drawn
	counts      []stat.Counts // of each stratum with samples
	lengths     []float64     // of the parts of gaps that have samples, as stat.Sampler wants them
}

// add adds a stratum. What is in stacks of calls is known without samples.
// weight is the time that one sample stands for: that of the stratum by its samples. Samples
// of one part of a gap are not independent, so the parts go along, with their lengths in
// samples that were to be expected.
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

// maxBursts is by how many times the number of samples in a stretch may vary more than
// chance has it. Above that a sampler was off for times of which nobody knows what ran in
// them: intervals would hold for the rest alone.
const maxBursts = 2

// families returns the shares of families of which enough is known, or why none is.
// N is how many independent samples a share rests on: under minSamples nothing is said. What
// never was seen has no share at all, not 0.
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

// running fills in what launching threads ran, in all and by cause and why, out of samples of
// the CPU. Only time on a CPU has samples: it is the denominator, not all of the idle time.
// Strata are taken in a fixed order: sums of floating point numbers depend on theirs.
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

// table lists the families.
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

// of is the part of it that a family took, by samples, in us.
func (w *Why) of(family string) float64 {
	for _, f := range w.Families {
		if f.Family == family {
			return f.Us
		}
	}
	return 0
}

// of is the part of the cause that a family took, by samples, in us.
func (c *Cause) of(family string) (us float64) {
	for k := range c.Why {
		us += c.Why[k].of(family)
	}
	return us
}
