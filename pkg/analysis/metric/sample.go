package metric

// Sample holds the measurements of a step. Times are in ns, over the GPUs of its rank.
type Sample struct {
	Rank     int32 // number of the rank
	Step     int   // its number in its rank, from 0
	GPUs     int   // number of the rank's GPUs
	Capacity int64 // the recorded part of its period
	Busy     int64 // busy part of Capacity
	Exposed  int64 // input preparation while the GPU is not busy
	Waits    int64 // part of Busy that waits in collectives
}

// samples returns the samples of the steps that count.
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
