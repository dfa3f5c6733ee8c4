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

// warnOfSharing says where processes share a GPU: what is idle time of one may be the
// work of another.
func (r *report) warnOfSharing() {
	ranks := map[int64][]int32{}
	for _, t := range r.tracks {
		gpu, ok := r.gpus[cudaDevice{t.process.pid(), t.device}]
		if ok && t.active && t.slot != noSlot && !slices.Contains(ranks[gpu], t.slot) {
			ranks[gpu] = append(ranks[gpu], t.slot)
		}
	}
	n := 0
	for _, slots := range ranks {
		work := func(slot int32) int64 { return r.info.RankFacts[slot].Kernels + r.info.RankFacts[slot].Graphs }
		slices.SortFunc(slots, func(a, b int32) int { return cmp.Compare(work(b), work(a)) })
		if len(slots) > 1 && work(slots[1])*fewKernels >= work(slots[0]) {
			n++
		}
	}
	if n > 0 {
		r.warn("several processes work on %s: time in which it is idle for one may be the work of another", plural(int64(n), "GPU"))
	}
}
