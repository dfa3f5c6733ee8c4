package gap

import (
	"fmt"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/layer"
	"github.com/hostbound/hostbound/pkg/report"
)

// Limits of what is found of small operations.
const (
	tinyKernel  = 10.0  // us
	maxSmallGap = 100.0 // us
)

// chains finds chains of view operations before launches, worth the time for which the GPU
// is idle in them.
func (f *finder) chains() {
	var sums map[int32]tally
	for _, g := range f.groups {
		merged(&sums, g.chains)
	}
	var all tally
	best := int32(-2)
	for path, c := range sums {
		all = tally{count: all.count + c.count, parts: all.parts + c.parts, ns: all.ns + c.ns}
		if best == -2 || c.ns > sums[best].ns || c.ns == sums[best].ns && path < best {
			best = path
		}
	}
	worth := 0.0
	for _, c := range f.rep.Idle.Causes {
		if name, ok := strings.CutPrefix(c.Cause, "host:"); ok && isView(name) {
			worth += c.Us
		}
	}
	if all.count == 0 || !f.worth(worth) {
		return
	}
	path := f.c.sites.PathText(best)
	f.add(CustomOp, worth, Finding{Path: path, Source: f.c.Source(best)}, "%s chains of tensor views before a launch %s, %s operations and %s each%s: the GPU is idle %s in them",
		report.Digits(float64(all.count)/f.steps), f.each(), report.Digits(float64(all.parts)/float64(all.count)), report.Micros(us(all.ns)/float64(all.count)), in(path), f.per(worth))
}

// smallKernels finds rows of small kernels in the layer, which one kernel could
// replace; the gap before the first of them would stay.
func (f *finder) smallKernels() {
	p := f.rep.Pattern
	if p == nil {
		return
	}
	// The layer was read from a few steps, which may idle more than the mean.
	typical := 1.0
	if all := p.GapPerStep * f.steps; all > 1.1*f.rep.Idle.TotalUs {
		typical = f.rep.Idle.TotalUs / all
	}
	small := func(k *layer.Member) bool {
		return k.Us < tinyKernel && (k.Class == "elementwise" || k.Class == "copy" || k.Class == "reduce")
	}
	for i := 0; i < len(p.Kernels); i++ {
		from, saved := i, 0.0
		for ; i < len(p.Kernels) && small(&p.Kernels[i]); i++ {
			// A long gap is not what small kernels cost.
			if g := p.Kernels[i].GapUs; i > from && g < maxSmallGap {
				saved += g
			}
		}
		there := saved * float64(p.Repetitions) * f.steps
		worth := there * typical
		if i-from < minChain || !f.worth(worth) {
			continue
		}
		mean := ""
		if typical < 1 {
			mean = fmt.Sprintf(" in the steps that the layer was read from, which idle more than others: %s over all steps", f.per(worth))
		}
		f.add(CustomOp, worth, Finding{}, "kernels %d-%d of the layer are %d small ones in a row (%s first): %s of gaps × %d repetitions = %s%s",
			from, i-1, i-from, report.Short(p.Kernels[from].Name), report.Micros(saved), p.Repetitions, f.per(there), mean)
	}
}
