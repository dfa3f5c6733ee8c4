package idle

// hosts are the threads of the rank's process.
type hosts struct {
	divide    func(State, Why) State // nil where nobody asks why they do not go on
	calls     bool                   // of the system's libraries were recorded
	threads   []*hostThread
	byID      map[int64]*hostThread
	last      *hostThread // of the last host row
	before    *hostThread // the last other one
	launching []int64     // at the end: the ids of those that launched
}

// hostThread is a thread of the rank's process.
type hostThread struct {
	Thread
	id       int64
	number   int32
	launches bool
	forgot   bool // some of what it did was let go of

	// While it is quiet nothing is known of it but its runs, early: what it did is found out
	// when somebody asks. Most threads only ever run.
	quiet     bool
	early     []cpuRun
	earlyRoom int // how many of them there may be before some are let go of

	samples stackList // in the order of their start, as called
	called  stackList // stacks of calls
}

// hostThread returns the thread with the given number, of which a row starts at t that is
// not of kind run.
func (s *hosts) hostThread(id, t int64) *hostThread {
	h := s.threadOf(id, t, false)
	if h.quiet {
		h.wake()
	}
	return h
}

// threadOf returns the thread with the given number, of which a row starts at t; a new one
// may be quiet.
func (s *hosts) threadOf(id, t int64, quiet bool) *hostThread {
	if s.last != nil && s.last.id == id {
		return s.last
	}
	if h := s.before; h != nil && h.id == id { // Fast path: rows of two threads come by turns.
		s.last, s.before = h, s.last
		return h
	}
	h := s.byID[id]
	if h == nil {
		h = &hostThread{Thread: *NewThread(t), id: id, number: int32(len(s.threads)), quiet: quiet}
		if s.divide != nil {
			h.Host, h.Divide = NewHostState(t, s.calls), s.divide
		}
		s.byID[id] = h
		s.threads = append(s.threads, h)
	}
	s.last, s.before = h, s.last
	return h
}

// Launching are the ids of the threads that have launched GPU work, at the end.
func (s *hosts) Launching() []int64 { return s.launching }

// numStates is how many states of the rank's threads are kept.
func (s *hosts) numStates() (n int) {
	for _, h := range s.threads {
		n += h.Len()
	}
	return n
}
