package straggler

import (
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Collective is a kernel that ranks run together.
type Collective struct {
	Step       int32 // of the rank
	Name       int32 // the same for all ranks
	Allreduce  bool  // all ranks end together
	Start, End int64 // ns, on the clock of the rank's report
}

// Collectives are those of one rank in the order of Start, and so of Step. They are in a
// store, about ten bytes each.
type Collectives struct {
	log  *spill.Log
	ends []stepEnd // in the order of steps, of those that have collectives
}

// stepEnd is the latest end of the collectives of a step, ns.
type stepEnd struct {
	step int32
	end  int64
}

// The columns of collectives, by start.
const (
	colLength = spill.Payload + iota
	colStep
	colName // twice the name, and one more for all-reduces
	numColumns
)

// columns are all but those that say the order of equal rows.
var columns = spill.Columns(colLength, colStep, colName)

// NewCollectives returns collectives of which there are none yet.
func NewCollectives(s *spill.Store) *Collectives {
	return &Collectives{log: s.NewLog(numColumns-spill.Payload, 0)}
}

// Add adds the next one.
func (all *Collectives) Add(c Collective) {
	name := int64(c.Name) << 1
	if c.Allreduce {
		name++
	}
	all.log.Add(c.Start, c.End-c.Start, int64(c.Step), name)
	k := len(all.ends) - 1
	if k >= 0 && c.Step < all.ends[k].step { // of another stream
		k = all.from(int(c.Step))
	}
	if k < 0 || all.ends[k].step != c.Step {
		k = all.from(int(c.Step))
		all.ends = slices.Insert(all.ends, k, stepEnd{c.Step, c.End})
	}
	all.ends[k].end = max(all.ends[k].end, c.End)
}

// Seal lets go of memory: no more come.
func (all *Collectives) Seal() { all.log.Seal() }

// Within tells whether any are of steps from one to before another.
func (all *Collectives) Within(from, to int) bool { return len(all.endsWithin(from, to)) > 0 }

// endsWithin returns the ends of these steps.
func (all *Collectives) endsWithin(from, to int) []stepEnd {
	return all.ends[all.from(from):max(all.from(from), all.from(to))]
}

// from returns where the ends of a step and those after it begin.
func (all *Collectives) from(step int) int {
	return sort.Search(len(all.ends), func(i int) bool { return int(all.ends[i].step) >= step })
}

// cursor reads the collectives of a rank step by step.
type cursor struct {
	from, to int32 // the steps that count
	reader   *spill.LogReader
	rows     spill.Rows
	at       int
	step     []Collective // of the step under way
}

func newCursor(r *Rank) *cursor {
	return &cursor{from: int32(r.From), to: int32(r.To), reader: r.Collectives.log.Read(spill.None), rows: make(spill.Rows, numColumns)}
}

// ahead returns the step that comes next, counted from the first one that counts; ok is
// false after the last.
func (c *cursor) ahead() (step int, ok bool) {
	for {
		if c.at == len(c.rows[colStep]) {
			c.rows, c.at = c.reader.Next(columns), 0
			if c.rows == nil {
				c.rows = make(spill.Rows, numColumns)
				return 0, false
			}
		}
		switch step := int32(c.rows[colStep][c.at]); {
		case step >= c.to:
			return 0, false
		case step >= c.from:
			return int(step - c.from), true
		}
		c.at++
	}
}

// read reads the collectives of the step that comes next.
func (c *cursor) read() {
	c.step = c.step[:0]
	for step, ok := c.ahead(); ok; c.at++ {
		if now, more := c.ahead(); !more || now != step {
			return
		}
		start, name := c.rows[spill.Key][c.at], c.rows[colName][c.at]
		c.step = append(c.step, Collective{
			Step: int32(step), Name: int32(name >> 1), Allreduce: name&1 != 0, Start: start, End: start + c.rows[colLength][c.at],
		})
	}
}
