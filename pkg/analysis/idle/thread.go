package idle

// callAt is an API call that starts at a time.
type callAt struct {
	start int64
	cause Cause
	key   Key
}

// Thread is the state of a host thread over time. Its spans must come in order of start, of
// equal starts the longer first. Times are in ns.
type Thread struct {
	now    int64 // its state is known before this time
	calls  stack[callAt]
	ranges stack[int32] // by path
	wait   int64        // latest end of its waits for the interpreter lock
	hold   int64        // latest end of its holds of the lock
	gc     int64        // latest end of its garbage collections

	// Host, if not nil, divides each state by why the thread was stalled in it, as Sites numbers
	// the parts.
	Host  *HostState
	Sites *Sites

	runs  []Run // runs[first:] are kept
	first int
}

// NewThread returns a thread of which nothing is known before time at.
func NewThread(at int64) *Thread {
	return &Thread{now: at, wait: at, hold: at, gc: at}
}

// Call observes an API call; key is its cause with its site.
func (t *Thread) Call(start, end int64, cause Cause, key Key) {
	if end <= start {
		return
	}
	t.Advance(start)
	if c := t.calls.innermost(start); c == nil || c.of.start != start || c.end != end || c.of.cause >= cause {
		t.calls.push(end, callAt{start, cause, key})
	}
}

// Range observes an NVTX range; path is its number in [Sites].
func (t *Thread) Range(start, end int64, path int32) {
	if end <= start {
		return
	}
	t.Advance(start)
	t.ranges.push(end, path)
}

// Wait observes a wait for the interpreter lock.
func (t *Thread) Wait(start, end int64) {
	t.Advance(start)
	t.wait = max(t.wait, end)
}

// Hold observes a span in which the thread holds the interpreter lock.
func (t *Thread) Hold(start, end int64) {
	t.Advance(start)
	t.hold = max(t.hold, end)
}

// Collect observes a garbage collection.
func (t *Thread) Collect(start, end int64) {
	t.Advance(start)
	t.gc = max(t.gc, end)
}

// Path returns the path of the innermost range that is open at the time of the last Advance,
// -1 for none.
func (t *Thread) Path() int32 {
	if r := t.ranges.innermost(t.now); r != nil {
		return r.of
	}
	return -1
}

// Advance computes the states up to time to. No span that starts earlier may follow.
func (t *Thread) Advance(to int64) {
	for t.now < to {
		cause, key, until := t.state(to)
		if t.Host != nil {
			var why Why
			why, until = t.Host.At(t.now, until, cause)
			key = t.Sites.divide(key, why)
		}
		if n := len(t.runs); n == t.first || t.runs[n-1].Key != key {
			t.runs = append(t.runs, Run{t.now, key})
		}
		t.now = until
	}
}

// state returns the state of the thread now, and until when it lasts, at most limit.
func (t *Thread) state(limit int64) (Cause, Key, int64) {
	if c := t.calls.innermost(t.now); c != nil {
		return c.of.cause, c.of.key, min(c.end, limit)
	}
	if t.wait > t.now {
		if t.hold <= t.now {
			return GIL, Key(GIL), min(t.wait, limit)
		}
		limit = min(limit, t.hold)
	}
	if t.gc > t.now {
		return GC, Key(GC), min(t.gc, limit)
	}
	if r := t.ranges.innermost(t.now); r != nil {
		return Host, named + Key(r.of), min(r.end, limit)
	}
	return Untraced, Key(Untraced), limit
}

// Runs returns the runs from the one at time from on, or from the first that is kept. The last
// one lasts to the time of the last Advance. The slice is valid until the next call of Advance
// or Forget.
func (t *Thread) Runs(from int64) []Run {
	// Search from the end: from is usually recent.
	i := len(t.runs)
	for i > t.first && t.runs[i-1].At > from {
		i--
	}
	return t.runs[max(i-1, t.first):]
}

// Len returns the number of runs that are kept.
func (t *Thread) Len() int { return len(t.runs) - t.first }

// Forget drops the runs that end by a time.
func (t *Thread) Forget(before int64) {
	if before >= t.now {
		t.runs, t.first = t.runs[:0], 0
		return
	}
	for t.first+1 < len(t.runs) && t.runs[t.first+1].At <= before {
		t.first++
	}
	// Move the rest to the front once that is cheaper than what was dropped.
	if t.first > 1024 && 2*t.first > len(t.runs) {
		n := copy(t.runs, t.runs[t.first:])
		t.runs, t.first = t.runs[:n], 0
	}
}
