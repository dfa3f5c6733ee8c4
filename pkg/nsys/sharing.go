package nsys

import (
	"cmp"
	"slices"
)

// cudaDevice is a GPU as one process numbers it.
type cudaDevice struct{ pid, device int64 }

// readDevices reads which GPU of the machine the devices of processes are.
func (r *report) readDevices(s scanner, columns map[string][]string) error {
	return scanAll(s, columns, deviceTable, ints("pid", "cudaId", "gpuId"), func(b *block) error {
		pids, devices, gpus := b.column("pid"), b.column("cudaId"), b.column("gpuId")
		for i := range b.n {
			if pids.Null[i] || devices.Null[i] || gpus.Null[i] {
				continue
			}
			if r.gpus == nil {
				r.gpus = map[cudaDevice]int64{}
			}
			r.gpus[cudaDevice{pids.Int[i], devices.Int[i]}] = gpus.Int[i]
		}
		return nil
	})
}

// fewKernels: a process with fewer than one in so many of another's kernels is not worth
// a word.
const fewKernels = 100

// sharer is what a process did on a GPU.
type sharer struct {
	slot int32 // of its rank
	span span  // from the first of its kernels and replays to the end of the last, ns
}

// warnOfSharing says where processes share a GPU at the same time: what is idle time of one
// may be the work of another.
func (r *report) warnOfSharing() {
	sharers := map[int64][]sharer{}
	for i, t := range r.tracks {
		gpu, ok := r.gpus[cudaDevice{t.process.pid(), t.device}]
		if !ok || !t.active || t.slot == noSlot {
			continue
		}
		k := slices.IndexFunc(sharers[gpu], func(s sharer) bool { return s.slot == t.slot })
		if k < 0 {
			k = len(sharers[gpu])
			sharers[gpu] = append(sharers[gpu], sharer{t.slot, nothing})
		}
		sharers[gpu][k].span.add(r.trackFacts[i].span.start, r.trackFacts[i].span.end)
	}
	n := 0
	for _, of := range sharers {
		if r.share(of) {
			n++
		}
	}
	if n > 0 {
		r.warn("several processes work on %s: time in which it is idle for one may be the work of another", plural(int64(n), "GPU"))
	}
}

// share tells whether two of them, neither with hardly any work beside the other's, are at
// work at the same time.
func (r *report) share(of []sharer) bool {
	work := func(s sharer) int64 { return r.info.RankFacts[s.slot].Kernels + r.info.RankFacts[s.slot].Graphs }
	slices.SortFunc(of, func(a, b sharer) int { return cmp.Compare(work(b), work(a)) })
	for i, a := range of {
		for _, b := range of[i+1:] {
			if work(b)*fewKernels < work(a) {
				break
			}
			if a.span.start < b.span.end && b.span.start < a.span.end {
				return true
			}
		}
	}
	return false
}
