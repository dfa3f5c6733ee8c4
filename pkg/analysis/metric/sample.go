package metric

// Sample is what was measured of a step. Times are in ns, over the GPUs of its rank.
type Sample struct {
	Rank     int32 // number of the rank
	Step     int   // its place among the rank's steps, from 0
	GPUs     int   // of the rank
	Capacity int64 // what was recorded of its period
	Busy     int64 // of that
	Exposed  int64 // the part of input preparation during which the GPU is not busy
	Waits    int64 // the part of Busy that waits in collectives
}

// samples are the steps that count.
func samples(ranks []*rank) (all []Sample) {
	for _, r := range ranks {
		from, to := r.walk.BenchmarkSteps()
		for k, t := range r.steps.between(from, to) {
			var f figures
			f.add(t, r)
			all = append(all, Sample{r.id, k, len(r.gpus), f.capacity, f.busy, f.exposed, f.waits})
		}
	}
	return all
}
