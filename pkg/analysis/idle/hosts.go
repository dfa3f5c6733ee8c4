package idle

// hosts are the threads of the rank's process.
type hosts struct {
	divide    func(State, Why) State // nil without Options.Why
	calls     bool                   // OS calls were recorded
	threads   []*hostThread
	byID      map[int64]*hostThread
	last      *hostThread // thread of the last host row
	before    *hostThread // the previous other thread
	launching []int64     // after Close: ids of the threads that launched
}

// hostThread is a thread of the rank's process.
type hostThread struct {
	Thread
	id       int64
	number   int32
	launches bool
	forgot   bool // some of its states were dropped

	// A quiet thread has no rows but runs, kept in early until its states are needed. Most
	// threads never need them.
	quiet     bool
	early     []cpuRun
	earlyRoom int // how many runs early may hold before some are dropped

	samples stackList // in order of start, as called
	called  stackList // stacks of calls
}

// hostThread returns the thread with the given id, for a row that starts at t and is not of
// kind run.
func (s *hosts) hostThread(id, t int64) *hostThread {
	h := s.threadOf(id, t, false)
	if h.quiet {
		h.wake()
	}
	return h
}

// threadOf returns the thread with the given id, for a row that starts at t. quiet says
// whether a new thread is quiet.
func (s *hosts) threadOf(id, t int64, quiet bool) *hostThread {
	if s.last != nil && s.last.id == id {
		return s.last
	}
	if h := s.before; h != nil && h.id == id { // Fast path: rows of two threads often alternate.
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

// Launching returns the ids of the threads that launched GPU work, nil before Close.
func (s *hosts) Launching() []int64 { return s.launching }

// numStates returns how many states of the rank's threads are kept.
func (s *hosts) numStates() (n int) {
	for _, h := range s.threads {
		n += h.Len()
	}
	return n
}
