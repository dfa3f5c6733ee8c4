package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
)

// tally counts results over some pairs.
type tally struct {
	cell   cell
	effect float64 // 0: equal runs

	pairs, alarmed, ruleAlarmed int // all pairs; equal ones with a false alarm of diff, and of the 50 % rule
	equalPairs                  int // pairs of equal runs
	concluded                   int // equal pairs with a conclusion
	changed, found, ruleFound   int // operations that differ: all, and those found by diff and by the rule
	spurious, unchanged         int // in pairs that differ, operations that do not: false alarms, and all
	intervals, held             int // intervals of operations and the wall time: all, and those that hold the truth
	wrong                       int // wrong conclusions
}

func (t *tally) add(u tally) {
	t.pairs += u.pairs
	t.alarmed += u.alarmed
	t.ruleAlarmed += u.ruleAlarmed
	t.concluded += u.concluded
	t.changed += u.changed
	t.found += u.found
	t.ruleFound += u.ruleFound
	t.spurious += u.spurious
	t.unchanged += u.unchanged
	t.intervals += u.intervals
	t.held += u.held
	t.wrong += u.wrong
}

// pair counts one comparison of runs whose truth is known.
func (t *tally) pair(c *compare.Comparison, cost, factor []float64, effect float64) {
	t.pairs++
	alarm, ruleAlarm := false, false
	total := 0.0
	for i := range cost {
		truth := cost[i] * (factor[i] - 1)
		total += truth
		row := find(c.Operations, opName(i))
		t.interval(row, truth)
		rule := row.DeltaPercent != nil && math.Abs(*row.DeltaPercent) > 50
		switch {
		case truth != 0:
			t.changed++
			if row.Significant && *row.Delta*truth > 0 {
				t.found++
			}
			if rule && *row.Delta*truth > 0 {
				t.ruleFound++
			}
		case effect != 0:
			t.unchanged++
			if row.Significant {
				t.spurious++
			}
		default:
			ruleAlarm = ruleAlarm || rule
		}
	}
	t.interval(find(c.Summary, "wall"), total)
	if effect != 0 {
		return
	}
	for _, rows := range [][]compare.Row{c.Summary, c.Operations, c.Kernels, c.Classes, c.API} {
		for i := range rows {
			alarm = alarm || rows[i].Significant
		}
	}
	for i := range c.Counts {
		alarm = alarm || c.Counts[i].Significant
	}
	t.alarmed += one(alarm)
	t.ruleAlarmed += one(ruleAlarm)
	t.concluded += one(c.Conclusion != compare.None)
}

// interval counts whether a row's interval holds the truth.
func (t *tally) interval(r *compare.Row, truth float64) {
	t.intervals++
	t.held += one(r.CI != nil && r.CI[0] <= truth && truth <= r.CI[1])
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func find(rows []compare.Row, name string) *compare.Row {
	for i := range rows {
		if rows[i].Name == name {
			return &rows[i]
		}
	}
	return &compare.Row{}
}

// board collects the scoreboard.
type board struct {
	mu    sync.Mutex
	cells map[string]*tally // equal runs, and all intervals
	by    map[string]*tally // by property, such as number of steps
}

func newBoard() *board { return &board{cells: map[string]*tally{}, by: map[string]*tally{}} }

// add adds the tally of a cell.
func (b *board) add(t tally) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.cells[t.cell.String()]
	if c == nil {
		c = &tally{cell: t.cell}
		b.cells[t.cell.String()] = c
	}
	c.add(t)
	if t.effect == 0 {
		c.equalPairs += t.pairs
	}
	b.sum("all", t)
	b.sum(fmt.Sprintf("%d steps", t.cell.steps), t)
	b.sum(fmt.Sprintf("noise %.0f %%", 100*t.cell.noise), t)
	b.sum(fmt.Sprintf("correlation %.1f", t.cell.correlation), t)
	b.sum(fmt.Sprintf("GC %v", t.cell.collects), t)
	if t.effect != 0 {
		b.sum(fmt.Sprintf("effect %v", t.effect), t)
		b.sum(fmt.Sprintf("effect %v noise %v", t.effect, t.cell.noise), t)
		b.sum(fmt.Sprintf("effect %v steps %v", t.effect, t.cell.steps), t)
	}
}

func (b *board) sum(key string, t tally) {
	s := b.by[key]
	if s == nil {
		s = &tally{}
		b.by[key] = s
	}
	if t.effect != 0 {
		t.pairs = 0
	}
	s.add(t)
}

func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// print writes the scoreboard.
func (b *board) print(w io.Writer, whole tally) {
	fmt.Fprintf(w, "| pairs | equal pairs | false alarms | the 50 %% rule's | false conclusions | coverage of 95 %% intervals |\n|:--|--:|--:|--:|--:|--:|\n")
	for _, key := range []string{"all", "20 steps", "50 steps", "100 steps", "400 steps", "noise 2 %", "noise 10 %", "noise 30 %",
		"correlation 0.0", "correlation 0.3", "correlation 0.6", "GC false", "GC true"} {
		t := b.by[key]
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s |\n", key, t.pairs, share(t.alarmed, t.pairs), share(t.ruleAlarmed, t.pairs),
			share(t.concluded, t.pairs), share(t.held, t.intervals))
	}
	b.printWorst(w)
	fmt.Fprintf(w, "\n| change of an operation | found | noise 2 %% | noise 10 %% | noise 30 %% | 20 steps | 400 steps | the 50 %% rule finds | unchanged operations flagged |\n|:--|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, e := range effects {
		found := func(suffix string) string {
			t := b.by[fmt.Sprintf("effect %v%s", e, suffix)]
			return share(t.found, t.changed)
		}
		t := b.by[fmt.Sprintf("effect %v", e)]
		fmt.Fprintf(w, "| %.0f %% | %s | %s | %s | %s | %s | %s | %s | %s |\n", 100*e, found(""), found(" noise 0.02"), found(" noise 0.1"),
			found(" noise 0.3"), found(" steps 20"), found(" steps 400"), share(t.ruleFound, t.changed), share(t.spurious, t.unchanged))
	}
	if whole.intervals > 0 {
		fmt.Fprintf(w, "\nThrough simulated exports, from file to answer: %d pairs of equal runs, %s with a false alarm; %s of %d changed operations found; %s of %d intervals hold the truth; %s of unchanged operations flagged.\n",
			whole.pairs, share(whole.alarmed, whole.pairs), share(whole.found, whole.changed), whole.changed,
			share(whole.held, whole.intervals), whole.intervals, share(whole.spurious, whole.unchanged))
	}
}

// printWorst names the cells with the worst coverage and false alarms.
func (b *board) printWorst(w io.Writer) {
	var low, high, alarm *tally
	for _, key := range slices.Sorted(maps.Keys(b.cells)) {
		t := b.cells[key]
		if low == nil || rate(t.held, t.intervals) < rate(low.held, low.intervals) {
			low = t
		}
		if high == nil || rate(t.held, t.intervals) > rate(high.held, high.intervals) {
			high = t
		}
		if alarm == nil || t.alarmed > alarm.alarmed {
			alarm = t
		}
	}
	fmt.Fprintf(w, "\nThe worst of %d cells: coverage %s (%v) and %s (%v); false alarms in %s of equal pairs (%v).\n", len(b.cells),
		share(low.held, low.intervals), low.cell, share(high.held, high.intervals), high.cell, share(alarm.alarmed, alarm.equalPairs), alarm.cell)
}

func rate(n, of int) float64 { return float64(n) / float64(of) }
