package source

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Stage is how far rows have been processed.
type Stage int

// The stages.
const (
	Raw      Stage = iota // as in reports; also if isolate left steps out
	Isolated              // with steps
	Phased                // with phases
)

// StageOf returns the stage of rows with this header.
func StageOf(h *event.Header) Stage {
	switch {
	case h.Columns&event.PhaseCols == event.PhaseCols:
		return Phased
	case h.Isolation != nil && !h.LeftOut():
		return Isolated
	}
	return Raw
}

// choice returns the selection to apply to rows with this header.
func (o *Options) choice(h *event.Header) (checkpoint.Selection, error) {
	s := o.Selection
	if StageOf(h) == Raw {
		s.Steps = nil
	}
	for _, rank := range s.Ranks {
		if h.Report(rank) == nil {
			return s, refused(hasRanks(h.RankNumbers()), "--rank %d: the input has no such rank", rank)
		}
	}
	return s, nil
}

// hasRanks says which ranks there are.
func hasRanks(all []int32) string {
	switch n := len(all); n {
	case 0:
		return "it has none"
	case 1:
		return fmt.Sprintf("it has rank %d", all[0])
	default:
		return fmt.Sprintf("it has %d ranks, from %d to %d", n, all[0], all[n-1])
	}
}

// choose leaves out the rows that are not chosen, unless the format already did.
func (in *Input) choose(opt *Options) error {
	if in.Events == nil || in.chosen {
		return nil
	}
	s, err := opt.choice(in.Events.Header())
	if err != nil {
		return err
	}
	in.Events, err = s.Filter(in.Events)
	return err
}
