package sim

import "slices"

// warmup returns the i-th step of the warm-up segment.
func (s *simulator) warmup(i int) stepInfo { return s.info(i, i == 0, false) }

// plan returns the i-th step of the benchmark segment.
func (s *simulator) plan(i int) stepInfo {
	c := &s.c
	chunks := max(1, c.Traffic.Chunks)
	phase := i
	if c.ContextEvery > 0 {
		phase = i % c.ContextEvery
	}
	info := s.info(c.Warmup+i, phase < chunks, c.Events == 0 && i >= c.Steps-c.Tail)
	if n := c.Traffic.FinishStep; n > 0 && info.ctx == 0 {
		info.gen = max(1, info.gen-(phase-chunks)/n)
		info.load = 0.6 + 0.4*float64(info.gen)/float64(c.Batch)
		info.graph = info.gen
		if m := c.Engine.MaxGraph; m > 0 {
			info.eager = info.gen > m || c.Mode == Eager
		}
	}
	return info
}

// info returns a step with the usual load.
func (s *simulator) info(number int, context, tail bool) stepInfo {
	c := &s.c
	info := stepInfo{number: number, gen: c.Batch, eager: c.Mode == Eager, graph: c.Batch, load: 1}
	if tail {
		info.gen = max(1, c.Batch/2)
	}
	if context && !c.Traffic.Decode {
		info.ctx, info.tokens, info.gen = 1, c.Tokens, c.Batch-1
		if c.Traffic.Alone {
			info.gen = 0
		}
		if number == 0 || number == c.Warmup {
			info.ctx, info.gen = c.Batch, 0
		}
	}
	if n := c.Engine.MaxGraph; n > 0 && info.gen > n {
		info.eager = true
	}
	if n := c.Engine.EagerShare; n > 0 && s.chance("eager", -1, number).Float64() < n {
		info.eager = true
	}
	return info
}

// ofRank returns what a step is for one rank. With attention data parallelism each rank
// has its own requests, and a prefill on one rank makes all run eagerly.
func (s *simulator) ofRank(info stepInfo, r *rank) stepInfo {
	if !s.c.Model.AttentionDP || info.ctx == 0 {
		return info
	}
	if info.number == 0 || info.number == s.c.Warmup || info.number%len(s.ranks) == r.index {
		return info
	}
	info.ctx, info.tokens, info.gen, info.eager = 0, 0, s.c.Batch, true
	t := r.true
	t.Ctx, t.Gen = info.ctx, info.gen
	return info
}

// pause passes time without requests before step i, if the traffic says so.
func (s *simulator) pause(i int) {
	t := s.c.Traffic
	if t.IdleEvery == 0 || i == 0 || i%t.IdleEvery != 0 {
		return
	}
	ms := t.IdleMin + (t.IdleMax-t.IdleMin)*s.chance("idle", -1, i).Float64()
	s.idle(int64(ms * 1e6))
}

// stops returns the indexes of the host operations before which the GPUs must have run,
// because of a synchronisation. The last one is wait.
func (s *simulator) stops(wait int) []int {
	var stops []int
	for i := range s.c.Host[:wait] {
		if s.c.Host[i].Parent == "" && s.syncAt(i) != nil {
			stops = append(stops, s.after(i))
		}
	}
	if len(stops) == 0 || stops[len(stops)-1] != wait {
		stops = append(stops, wait)
	}
	return stops
}

// after returns the index of the next operation that is not nested in the i-th.
func (s *simulator) after(i int) int {
	n := slices.IndexFunc(s.c.Host[i+1:], func(op HostOp) bool { return op.Parent == "" })
	return i + 1 + n
}

// syncAt returns the synchronisation planted at the end of an operation, nil if there is
// none.
func (s *simulator) syncAt(i int) *Fault {
	for k := range s.c.Faults {
		if f := &s.c.Faults[k]; f.waits() && f.At == s.c.Host[i].Name {
			return f
		}
	}
	return nil
}

// synchronize runs the planted synchronisation before operation at, on the ranks that it
// strikes.
func (s *simulator) synchronize(at int) {
	i := at - 1
	for s.c.Host[i].Parent != "" {
		i--
	}
	for _, r := range s.ranks {
		if f := s.syncAt(i); f != nil && r.strikes(f) {
			r.synchronize(f)
		}
	}
}
