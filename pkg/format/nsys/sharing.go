package nsys

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cudaDevice is a GPU as one process numbers it.
type cudaDevice struct{ pid, device int64 }

// machine is what an export says of the GPUs of the machine, as far as it does.
type machine struct {
	uuids    []string             // of all of them, which tell machines apart
	gpus     map[cudaDevice]int64 // which of the machine's a process uses
	gpuNodes map[int64]int32      // their NUMA nodes
	gpuUUIDs map[int64]string
	// deviceUUIDs are those of processes' devices, which may be parts of a GPU (MIG).
	deviceUUIDs map[cudaDevice]string
}

// readDevices reads which GPU of the machine the devices of processes are.
func (m *machine) readDevices(s scanner, columns map[string][]string) error {
	return scanAll(s, columns, deviceTable, ints("pid", "cudaId", "gpuId"), func(b *block) error {
		pids, devices, gpus := b.column("pid"), b.column("cudaId"), b.column("gpuId")
		for i := range b.n {
			if pids.Null[i] || devices.Null[i] || gpus.Null[i] {
				continue
			}
			if m.gpus == nil {
				m.gpus = map[cudaDevice]int64{}
			}
			m.gpus[cudaDevice{pids.Int[i], devices.Int[i]}] = gpus.Int[i]
		}
		return nil
	})
}

// readUUIDs reads which GPU is which on any machine.
func (m *machine) readUUIDs(s scanner, columns map[string][]string) error {
	m.gpuUUIDs, m.deviceUUIDs = map[int64]string{}, map[cudaDevice]string{}
	err := scanAll(s, columns, gpuTable, append(ints("id"), textColumns("uuid")...), func(b *block) error {
		ids, uuids := b.column("id"), b.column("uuid")
		for i := range b.n {
			if !ids.Null[i] {
				m.gpuUUIDs[ids.Int[i]] = string(uuids.Text(i))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return scanAll(s, columns, deviceTable, append(ints("pid", "cudaId"), textColumns("uuid")...), func(b *block) error {
		pids, devices, uuids := b.column("pid"), b.column("cudaId"), b.column("uuid")
		for i := range b.n {
			if uuid := string(uuids.Text(i)); uuid != "" && !pids.Null[i] && !devices.Null[i] {
				m.deviceUUIDs[cudaDevice{pids.Int[i], devices.Int[i]}] = uuid
			}
		}
		return nil
	})
}

// gpuOf identifies the GPU, or the part of one, that a process calls a device: by its UUID
// where that is known, else by its number on the machine; "" where neither is.
func (m *machine) gpuOf(d cudaDevice) string {
	if uuid := m.deviceUUIDs[d]; uuid != "" {
		return uuid
	}
	gpu, ok := m.gpus[d]
	if !ok {
		return ""
	}
	return cmp.Or(m.gpuUUIDs[gpu], localGPU+strconv.FormatInt(gpu, 10))
}

// localGPU begins what identifies a GPU in its report alone.
const localGPU = "#"

// fewKernels: a process with fewer than one in so many of another's kernels is not worth
// a word.
const fewKernels = 100

// sharer is what a process did on a GPU.
type sharer struct {
	rank int32
	work int64 // kernels and whole-graph replays of the rank
	span span  // from the first of its kernels and replays to the end of the last, ns on the report's clock
}

// sharers returns by GPU the ranks that work on it.
func (r *report) sharers() map[string][]sharer {
	sharers := map[string][]sharer{}
	for i, t := range r.tracks {
		if !t.active || t.slot == noSlot {
			continue
		}
		gpu := r.machine.gpuOf(cudaDevice{t.process.pid(), t.device})
		if gpu == "" {
			continue
		}
		rank := &r.info.RankFacts[t.slot]
		k := slices.IndexFunc(sharers[gpu], func(s sharer) bool { return s.rank == rank.Rank })
		if k < 0 {
			k = len(sharers[gpu])
			sharers[gpu] = append(sharers[gpu], sharer{rank.Rank, rank.Kernels + rank.Graphs, nothing})
		}
		sharers[gpu][k].span.add(r.trackFacts[i].span.start, r.trackFacts[i].span.end)
	}
	return sharers
}

// warnOfSharing says where processes share a GPU at the same time: what is idle time of one
// may be the work of another. They may be of one report, or of several whose clocks can be
// compared.
func (r *Reader) warnOfSharing() {
	all := map[string][]sharer{} // of the reports so far, on the clock of the stream
	for i, rep := range r.reports {
		shared := int64(0)
		for gpu, of := range rep.sharers() {
			if rep.comparable && !strings.HasPrefix(gpu, localGPU) {
				for k := range of {
					of[k].span = span{of[k].span.start + rep.info.Offset, of[k].span.end + rep.info.Offset}
				}
				all[gpu] = append(all[gpu], of...)
				if share(of, all[gpu]) {
					shared++
				}
			} else if share(of, of) {
				shared++
			}
		}
		if shared > 0 {
			unless := ""
			if len(rep.machine.deviceUUIDs) == 0 { // before schema 3.24
				unless = " (unless it is divided into instances, MIG, which this version of the export does not show)"
			}
			h := &r.header.Reports[i]
			h.Warnings = append(h.Warnings, fmt.Sprintf("several processes share %s: a GPU that is idle for one may work for another%s", plural(shared, "GPU"), unless))
		}
	}
}

// share reports whether one of some ranks is at work at the same time as another of all,
// neither with hardly any work beside the other's.
func share(some, all []sharer) bool {
	for _, a := range some {
		for _, b := range all {
			if a.rank != b.rank && min(a.work, b.work)*fewKernels >= max(a.work, b.work) && a.span.start < b.span.end && b.span.start < a.span.end {
				return true
			}
		}
	}
	return false
}
