package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Document adds close-ups of typical steps and the slowest ones, as figures. colors are
// the colours of the causes of idle time.
func (t *Timeline) Document(s *report.Section, colors figure.Palette) {
	for _, c := range t.closeups() {
		c.draw(s, colors, 0)
	}
}

// Side is one of the runs that are compared.
type Side struct {
	Name string // in titles
	*Timeline
}

// Same adds the asked step of a rank from each side that has it (Options.Numbers).
func Same(s *report.Section, rank int32, sides ...Side) {
	drawSides(s, sides, func(t *Timeline) (closeup, bool) {
		k := slices.IndexFunc(t.Steps, func(one *Step) bool { return one.Asked && one.Rank == rank })
		if k < 0 {
			return closeup{}, false
		}
		return closeup{step: t.Steps[k]}, true
	})
}

// Beside adds a step of median length of each side: of the first side's most frequent
// phase, if the side has steps of that phase.
func Beside(s *report.Section, sides ...Side) {
	var first *Step
	drawSides(s, sides, func(t *Timeline) (closeup, bool) {
		steps := t.closeups()
		if len(steps) == 0 {
			return closeup{}, false
		}
		one := steps[max(0, slices.IndexFunc(steps, func(c closeup) bool { return first != nil && c.step.Phase == first.Phase }))]
		first = cmp.Or(first, one.step)
		one.what = ", " + strings.ToLower(one.what[:1]) + one.what[1:]
		return one, true
	})
}

// drawSides adds the step that choose selects on each side, one below the other, on one
// scale.
func drawSides(s *report.Section, sides []Side, choose func(*Timeline) (closeup, bool)) {
	var all []closeup
	var lines []*Timeline
	var longest int64
	for _, side := range sides {
		if one, ok := choose(side.Timeline); ok {
			one.what = side.Name + one.what
			longest = max(longest, one.step.Until-one.step.Start)
			all, lines = append(all, one), append(lines, side.Timeline)
		}
	}
	colors := Palette(lines...)
	for _, one := range all {
		one.draw(s, colors, longest)
	}
}

// draw adds the step, with the axis at least room ns long.
func (c closeup) draw(s *report.Section, colors figure.Palette, room int64) {
	length := report.Micros(us(c.step.Until - c.step.Start))
	title := c.what
	if c.step.Number >= 0 {
		title = fmt.Sprintf("%s: step %d of rank %d, %s", c.what, c.step.Number, c.step.Rank, length)
	}
	plot, left := c.step.plot(colors)
	plot.To = max(plot.To, plot.From+us(room))
	alt := fmt.Sprintf("What host threads and GPUs did in %s; the GPUs are idle %s of it.", length, report.Micros(us(c.step.Idle)))
	if len(left) > 0 {
		alt += " Not drawn: " + strings.Join(left, ", ") + "."
		title += " (not drawn: " + strings.Join(left, ", ") + ")"
	}
	s.Extra(title, alt, plot, c.step.table())
}

// closeup is a step to show, and its title.
type closeup struct {
	what string
	step *Step
}

// closeups returns, for each phase, the sampled step of median length, and then the
// worst two steps, or only the steps that were asked for, if any.
func (t *Timeline) closeups() (all []closeup) {
	phases := map[event.Phase][]*Step{}
	var worst []*Step
	for _, s := range t.Steps {
		switch {
		case s.Number < 0:
			all = append(all, closeup{fmt.Sprintf("The whole trace of rank %d", s.Rank), s})
		case s.Asked:
			all = append(all, closeup{"The step that was asked for", s})
		case s.Worst > 0:
			worst = append(worst, s)
		default:
			phases[s.Phase] = append(phases[s.Phase], s)
		}
	}
	if len(all) > 0 {
		return all
	}
	for p, name := range event.Phases {
		steps := phases[event.Phase(p)]
		if len(steps) == 0 {
			continue
		}
		slices.SortStableFunc(steps, func(a, b *Step) int { return cmp.Compare(a.Until-a.Start, b.Until-b.Start) })
		what := "A step of median length"
		if name != event.Unknown.String() {
			what = "A " + name + " step of median length"
		}
		all = append(all, closeup{what, steps[len(steps)/2]})
	}
	slices.SortStableFunc(all, func(a, b closeup) int { return cmp.Compare(len(phases[b.step.Phase]), len(phases[a.step.Phase])) })
	slices.SortFunc(worst, func(a, b *Step) int { return cmp.Compare(a.Worst, b.Worst) })
	for _, s := range worst {
		what := "The slowest step"
		if s.Worst > 1 {
			what = "The next slowest step"
		}
		all = append(all, closeup{what, s})
	}
	return all
}
