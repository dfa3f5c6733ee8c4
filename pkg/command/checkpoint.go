package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hostbound/hostbound/pkg/checkpoint"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/step"
)

const selectCategory = "choosing rows"

var selectFlagNames = []string{"rank", "from", "to", "kind"}

// SelectFlags are the flags that choose rows of the input. A checkpoint reads
// little more than what they choose.
func SelectFlags() []Flag {
	return []Flag{
		&StringFlag{Name: "rank", Usage: "take only `RANKS`, such as 0 or 0,2,5", Category: selectCategory},
		&StringFlag{Name: "from", Usage: "take only rows from `WHERE` on: the number of a step, or a time with its unit such as 1.5s", Category: selectCategory},
		&StringFlag{Name: "to", Usage: "take only rows before `WHERE`, likewise", Category: selectCategory},
		&StringFlag{Name: "kind", Usage: "take only rows of `KINDS`, such as kernel,api", Category: selectCategory},
		&BoolFlag{Name: "separate", Usage: "take several exports though they do not overlap in time, or hold processes that look the same", Category: selectCategory},
	}
}

// selection is what the flags choose.
func (c *Context) selection() (s checkpoint.Selection, err error) {
	for _, text := range list(c.String("rank")) {
		rank, err := strconv.ParseInt(text, 10, 32)
		if err != nil || rank < 0 {
			return s, &UsageError{"--rank " + text + " is no rank", "ranks are numbered from 0: --rank 0,2"}
		}
		s.Ranks = append(s.Ranks, int32(rank))
	}
	for _, text := range list(c.String("kind")) {
		kind := event.KindCode(text)
		if kind < 0 {
			return s, &UsageError{"--kind " + text + " is no kind of row", "kinds are " + strings.Join(event.Kinds, ", ")}
		}
		s.Kinds = append(s.Kinds, kind)
	}
	for _, name := range []string{"from", "to"} {
		if text := c.String(name); text != "" {
			if err := setRange(&s, name, text); err != nil {
				return s, err
			}
		}
	}
	return s, c.checkRange(&s)
}

// checkRange checks that the range makes sense, and with the window asked for.
func (c *Context) checkRange(s *checkpoint.Selection) error {
	r := s.Time
	if r == nil {
		r = s.Steps
	}
	switch {
	case s.Time != nil && s.Steps != nil:
		return &UsageError{"--from and --to mix steps and times", "give two step numbers, or two times with their units"}
	case r != nil && r.From >= r.To:
		return &UsageError{"--from " + c.String("from") + " --to " + c.String("to") + ": nothing lies between", "give the earlier one to --from"}
	case s.Steps != nil && c.String("window") == metric.WindowTrace:
		return &UsageError{"--window trace is no choice of steps", "give --from and --to as times with their units, or leave --window out"}
	}
	return nil
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// setRange sets one end of the range of steps or times.
func setRange(s *checkpoint.Selection, name, text string) error {
	end, isStep := int64(0), true
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		end = n
	} else if d, err := time.ParseDuration(text); err == nil {
		end, isStep = int64(d), false
	} else {
		return &UsageError{"--" + name + " " + text + " is neither the number of a step nor a time", "a time has a unit: 1500ms, 1.5s, 2m"}
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

// openCheckpoint opens a checkpoint and reads of it what is chosen, and the
// columns that are needed at its stage.
func (c *Context) openCheckpoint(path string) (*input, error) {
	s, err := c.selection()
	if err != nil {
		return nil, err
	}
	r, err := checkpoint.Open(path, checkpoint.ReadOptions{Selection: checkpoint.Selection{Ranks: s.Ranks}})
	if err != nil {
		return nil, err
	}
	c.cleanup = append(c.cleanup, func() { r.Close() })
	need := checkpoint.ReadOptions{Selection: s, Columns: c.columns}
	if stageOf(r) == Raw {
		need.Steps = nil // they wait for chooseSteps
		if c.columns != 0 {
			need.Columns |= step.Columns(r.Header(), c.steps())
		}
	}
	if err := r.Choose(need); err != nil {
		return nil, err
	}
	return &input{events: r, warner: warner(r)}, haveRanks(r.Header(), s.Ranks)
}

// choose reads of events what is chosen. Numbers of steps have to wait for
// chooseSteps where there are no steps yet.
func (c *Context) choose(in *input) (*input, error) {
	if in.events == nil {
		return in, nil
	}
	s, err := c.selection()
	if err != nil {
		return nil, err
	}
	if stageOf(in.events) == Raw {
		s.Steps = nil
	}
	if err := haveRanks(in.events.Header(), s.Ranks); err != nil {
		return nil, err
	}
	in.events, err = s.Filter(in.events)
	return in, err
}

// haveRanks checks that the chosen ranks are there.
func haveRanks(h *event.Header, chosen []int32) error {
	for _, rank := range chosen {
		if h.Report(rank) == nil {
			return &UsageError{fmt.Sprintf("--rank %d: the input has no such rank", rank), "'verdict FILE' without --rank lists the ranks"}
		}
	}
	return nil
}

// chooseSteps reads of events that were just given their steps those that are
// chosen.
func (c *Context) chooseSteps(src event.Source) (event.Source, error) {
	s, err := c.selection()
	if err != nil {
		return nil, err
	}
	return (&checkpoint.Selection{Steps: s.Steps}).Filter(src)
}

// refuseSteps refuses a choice of steps where there are none.
func (c *Context) refuseSteps(src event.Source) error {
	s, err := c.selection()
	if err == nil && s.Steps != nil && stageOf(src) == Raw {
		err = &UsageError{"--from and --to choose steps, and there are none", "give times with their units, or choose after isolate"}
	}
	return err
}

func (c *Context) writeCheckpoint(path string, src event.Source) error {
	out, err := checkpoint.Create(path, src.Header(), checkpoint.Options{})
	if err != nil {
		return err
	}
	if err := event.Each(src, out.Write); err != nil {
		out.Abort()
		return err
	}
	out.Warn(c.lateWarnings(src.Header()))
	return out.Commit()
}
