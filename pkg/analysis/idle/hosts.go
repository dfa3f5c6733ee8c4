package idle

// cpuRun is a run of a thread on a CPU, in ns. It is not known if it is unknown whether the
// thread was on any.
type cpuRun struct {
	start, end int64
	known      bool
}

// hosts are the threads of the rank's process.
type hosts struct {
	divided *Sites // nil without Options.Why
	calls   bool   // OS calls were recorded
	threads []*hostThread
	byID    map[int64]*hostThread
	last    *hostThread // thread of the last host row
	before  *hostThread // the previous other thread
}

// hostThread is a thread of the rank's process.
type hostThread struct {
	Thread
	id     int64
	number int32
	forgot bool // some of its states were dropped

	// Most threads are quiet: they have no rows but runs, and no states. Of their runs the last
	// one is kept, which may be open when another row comes.
	quiet bool
	run   cpuRun

	samples stackList // in order of start, as called
	called  stackList // stacks of calls
}

// hostThread returns the thread with the given id, for a row that starts at t and is not of
// kind run.
func (s *hosts) hostThread(id, t int64) *hostThread {
	h := s.threadOf(id, t, false)
	h.wake()
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
		if s.divided != nil {
			h.Host, h.Sites = NewHostState(t, s.calls), s.divided
		}
		s.byID[id] = h
		s.threads = append(s.threads, h)
	}
	s.last, s.before = h, s.last
	return h
}

// observe observes a run of the thread.
func (h *hostThread) observe(run cpuRun) {
	h.Advance(run.start)
	h.Host.Run(run.end, run.known)
}

// wake begins to follow the states of a thread that is not quiet any more.
func (h *hostThread) wake() {
	if h.quiet {
		h.quiet = false
		h.observe(h.run)
	}
}

// numStates returns how many states of the rank's threads are kept.
func (s *hosts) numStates() (n int) {
	for _, h := range s.threads {
		n += h.Len()
	}
	return n
}
