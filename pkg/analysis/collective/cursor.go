package collective

import "github.com/hostbound/hostbound/pkg/trace/spill"

// entry is a logged collective of a lane, on the clock of the first report.
type entry struct {
	Collective
	lane       int
	index      int64
	at         int64 // start on the lane's own clock
	own, owned int64
}

// cursor reads the collectives of a lane in order; entry is the last one read.
type cursor struct {
	entry    entry
	lane     int
	stepless bool
	clock    Clock
	reader   *spill.LogReader
	rows     spill.Rows
	at       int
	index    int64
}

var allColumns = spill.Columns(colLength, colStep, colName, colOwn, colOwned)

func newCursor(lane int, l *Lane, clock Clock) *cursor {
	return &cursor{lane: lane, stepless: l.Stepless, clock: clock, reader: l.Log.rows.Read()}
}

// next reads the next collective. It returns false after the last one.
func (c *cursor) next() bool {
	for c.rows == nil || c.at == len(c.rows[spill.Key]) {
		if c.rows, c.at = c.reader.Next(allColumns), 0; c.rows == nil {
			return false
		}
	}
	e, i, start, name := &c.entry, c.at, c.rows[spill.Key][c.at], c.rows[colName][c.at]
	e.lane, e.index = c.lane, c.index
	e.Step, e.Name = int32(c.rows[colStep][i]), int32(name>>1)
	e.Allreduce, e.at = name&1 != 0, start
	if c.stepless {
		e.Step = -1
	}
	length := c.rows[colLength][i]
	e.Start = c.clock.Correct(start)
	e.End = e.Start + length
	e.own = c.rows[colOwn][i]
	e.owned = e.own + c.rows[colOwned][i]
	c.at++
	c.index++
	return true
}

// startsBefore is the order in which the collectives of all lanes are read.
func startsBefore(x, y *cursor) bool {
	a, b := &x.entry, &y.entry
	return a.Start < b.Start || a.Start == b.Start && a.lane < b.lane
}

// partCursor reads, in order, the idle time before the collectives of a lane.
type partCursor struct {
	reader *spill.LogReader
	rows   spill.Rows
	at     int
	done   bool
}

// upTo calls f with the parts up to a number (the key of Log.parts) that have not been read yet.
func (c *partCursor) upTo(number int64, f func(Part)) {
	for !c.done {
		if c.rows == nil || c.at == len(c.rows[spill.Key]) {
			c.rows, c.at = c.reader.Next(spill.Columns(colKey, colNs)), 0
			if c.done = c.rows == nil; c.done {
				return
			}
		}
		for ; c.at < len(c.rows[spill.Key]); c.at++ {
			if c.rows[spill.Key][c.at] > number {
				return
			}
			f(Part{Key(c.rows[colKey][c.at]), c.rows[colNs][c.at]})
		}
	}
}
