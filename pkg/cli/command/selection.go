package command

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// choosingRows is the heading of the flags that choose rows.
const choosingRows = "Choosing rows"

// selectFlags choose rows of the input. Of a checkpoint, little more than the chosen
// rows is read.
var selectFlags = append(slices.Clone(choiceFlags), cli.Flag{
	Name: "separate", Usage: "accept exports that do not overlap in time, or hold processes that look the same", Default: false, Group: choosingRows,
}, memoryFlag)

// choiceFlags leave rows out.
var choiceFlags = []cli.Flag{
	{Name: "rank", List: true, Usage: "keep only `RANKS`, such as 0 or 0,2,5", Group: choosingRows},
	{Name: "from", Usage: "keep only rows from `WHERE` on, and what goes on then: a step number, or a time such as 1500ms or 1.5 (seconds)", Group: choosingRows},
	{Name: "to", Usage: "keep only rows before `WHERE`, a step number or a time", Group: choosingRows},
	{Name: "kind", List: true, Values: event.Kinds[:], Usage: "keep only rows of `KINDS`, such as kernel,api; isolate and phase still read the others, but analyses need nearly all kinds", Group: choosingRows},
}

// selection returns what the flags choose. It does not depend on the input: missing
// ranks and steps are found when that is read.
func (p *Plan) selection() (s checkpoint.Selection, err error) {
	for _, text := range list(p.String("rank")) {
		rank, err := strconv.ParseInt(text, 10, 32)
		if err != nil || rank < 0 {
			return s, cli.Misuse("--rank "+text+" is not a rank", "ranks are numbered from 0: --rank 0,2")
		}
		s.Ranks = append(s.Ranks, int32(rank))
	}
	for _, text := range list(p.String("kind")) {
		kind := event.KindCode(text)
		if kind < 0 {
			return s, cli.Misuse("--kind "+text+" is not a kind of row", "kinds are "+strings.Join(event.Kinds, ", "))
		}
		s.Kinds = append(s.Kinds, kind)
	}
	for _, name := range []string{"from", "to"} {
		if text := p.String(name); text != "" {
			if err := setRange(&s, name, text); err != nil {
				return s, err
			}
		}
	}
	if p.analyses() && s.Kinds != nil {
		kept := (&checkpoint.Selection{Kinds: s.Kinds}).Kept(nil)
		if err := p.checkKinds(kept, "--kind "+p.String("kind"), "leave --kind out: it is for listing rows, as in nsys2arrow --kind kernel --format csv"); err != nil {
			return s, err
		}
	}
	return s, p.checkRange(&s)
}

// analyses reports whether the command analyses all rows rather than pass them on.
func (p *Plan) analyses() bool { return !p.Has("checkpoint") }

// checkKinds refuses rows from which kinds were left out that an analysis needs: it
// would conclude that there were none. kept are the other kinds.
func (p *Plan) checkKinds(kept []string, what, advice string) error {
	var missing []string
	for code, name := range event.Kinds {
		if !slices.Contains(hostKinds, event.Kind(code)) && !slices.Contains(kept, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return cli.Misuse(what+" leaves out rows that "+p.Name+" needs: "+strings.Join(missing, ", "), advice)
}

// checkRange checks that the range is valid, and that it fits the requested window.
func (p *Plan) checkRange(s *checkpoint.Selection) error {
	r := cmp.Or(s.Time, s.Steps)
	switch {
	case s.Time != nil && s.Steps != nil:
		return cli.Misuse("--from and --to mix steps and times", "give two step numbers, or two times with their units")
	case r != nil && r.From >= r.To:
		return cli.Misuse("--from "+p.String("from")+" --to "+p.String("to")+": the range is empty", "give the earlier one to --from")
	case s.Steps != nil && p.String("window") == metric.WindowTrace:
		return p.chosenWindow("")
	}
	return nil
}

// chosenWindow refuses the window of all GPU activity for rows chosen by step: what of it
// is left is unknown. where says which filter chose them.
func (p *Plan) chosenWindow(where string) error {
	return cli.Misuse("--window trace does not choose steps"+where, "give --from and --to as times with their units, or leave --window out")
}

// list splits a value at its commas; "" gives nil.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// setRange sets one end of the range of steps or times. An end that is not given stays
// at the limit of int64. checkRange finds a mix of steps and times.
func setRange(s *checkpoint.Selection, name, text string) error {
	end, isStep := int64(0), true
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if end = n; end < 0 {
			return cli.Misuse("--"+name+" "+text+" is not a step", "steps are numbered from 0; a time has a unit: -1ms")
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		end, isStep = int64(d), false
	} else if s, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(s) < math.MaxInt64/1e9 {
		end, isStep = int64(math.Round(s*1e9)), false
	} else {
		return cli.Misuse("--"+name+" "+text+" is neither the number of a step nor a time", "a time is 1.5 (seconds), 1500ms or 2m")
	}
	r := &s.Time
	if isStep {
		r = &s.Steps
	}
	if *r == nil {
		*r = &checkpoint.Range{From: math.MinInt64, To: math.MaxInt64}
	}
	if name == "from" {
		(*r).From = end
	} else {
		(*r).To = end
	}
	return nil
}

// isRange reports whether a selection has a range of steps or times.
func isRange(s *checkpoint.Selection) bool { return s.Time != nil || s.Steps != nil }

// notEmpty are the chosen rows, with an error at their end if there are none: an empty
// answer would pass for one about the trace.
type notEmpty struct {
	event.Source
	some bool // there were rows
}

// Next implements event.Source.
func (s *notEmpty) Next() (*event.Batch, error) {
	b, err := s.Source.Next()
	if err == io.EOF && !s.some {
		return nil, cli.Misuse("the trace has nothing between --from and --to",
			"'verdict FILE' without them says where the benchmark window is, 'nsys2arrow FILE --format csv' when each event happened")
	}
	s.some = s.some || err == nil && b.Len > 0
	return b, err
}
