package nsys

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// cudaDevice is a GPU as one process numbers it.
type cudaDevice struct{ pid, device int64 }

// machine is what an export says about the GPUs of the machine, which may be
// incomplete.
type machine struct {
	uuids    []string             // of all GPUs; they distinguish machines
	gpus     map[cudaDevice]int64 // the number on the machine of a process's GPU
	gpuNodes map[int64]int32      // NUMA nodes by GPU number
	gpuUUIDs map[int64]string
	// deviceUUIDs are those of processes' devices, which may be parts of a GPU (MIG).
	deviceUUIDs map[cudaDevice]string
}

// readGPUs reads the models of the GPUs, which GPU each process's device is, and UUIDs,
// which go into no stream. Older exports lack some of this.
func (c *capture) readGPUs(s scanner, columns map[string][]string) error {
	m := &c.machine
	m.gpuNodes, m.gpuUUIDs = map[int64]int32{}, map[int64]string{}
	m.gpus, m.deviceUUIDs = map[cudaDevice]int64{}, map[cudaDevice]string{}
	err := scanAny(s, columns, gpuTable, append(ints("id", "numaNodeId"), textColumns("name", "uuid")...), func(b *block) error {
		ids, nodes, names, uuids := b.column("id"), b.column("numaNodeId"), b.column("name"), b.column("uuid")
		for i := range b.n {
			name, uuid, node := string(names.Text(i)), string(uuids.Text(i)), orNone(nodes, int32(i))
			if name != "" && !slices.Contains(c.info.GPUs, name) {
				c.info.GPUs = append(c.info.GPUs, name)
			}
			if m.addUUID(uuid); ids.Null[i] {
				continue
			}
			if m.gpuUUIDs[ids.Int[i]] = uuid; node >= 0 && node < maxPlace {
				m.gpuNodes[ids.Int[i]] = int32(node)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return scanAny(s, columns, deviceTable, append(ints("pid", "cudaId", "gpuId"), textColumns("uuid")...), func(b *block) error {
		pids, devices, gpus, uuids := b.column("pid"), b.column("cudaId"), b.column("gpuId"), b.column("uuid")
		for i := range b.n {
			uuid := string(uuids.Text(i))
			if m.addUUID(uuid); pids.Null[i] || devices.Null[i] {
				continue
			}
			device := cudaDevice{pids.Int[i], devices.Int[i]}
			if uuid != "" {
				m.deviceUUIDs[device] = uuid
			}
			if !gpus.Null[i] {
				m.gpus[device] = gpus.Int[i]
			}
		}
		return nil
	})
}

// addUUID adds the UUID of a GPU, if it is not "".
func (m *machine) addUUID(uuid string) {
	if uuid != "" {
		m.uuids = append(m.uuids, uuid)
	}
}

// gpuOf identifies the GPU, or part of a GPU, that is a process's device: by its UUID
// if known, else by its number on the machine, which may have only one. It is "" if
// neither is known.
func (m *machine) gpuOf(d cudaDevice) string {
	if uuid := m.deviceUUIDs[d]; uuid != "" {
		return uuid
	}
	gpu, ok := m.gpus[d]
	if !ok && d.device == 0 && len(m.gpuUUIDs) == 1 { // exports before schema 3.20 do not say
		for gpu = range m.gpuUUIDs {
			ok = true
		}
	}
	if !ok {
		return ""
	}
	return cmp.Or(m.gpuUUIDs[gpu], localGPU+strconv.FormatInt(gpu, 10))
}

// localGPU is the prefix of a GPU's identity that is valid within its report only.
const localGPU = "#"

// fewKernels: sharing a GPU is not reported if one process has less than 1/fewKernels
// of the other's kernels.
const fewKernels = 100

// sharer is a rank's work on a GPU.
type sharer struct {
	rank int32
	work int64      // number of kernels and whole-graph replays
	span event.Span // from the first kernel or replay to the end of the last, ns on the report's clock
}

// sharers returns the ranks that work on each GPU.
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
			sharers[gpu] = append(sharers[gpu], sharer{rank.Rank, rank.Kernels + rank.Graphs, event.NoSpan})
		}
		sharers[gpu][k].span.Join(r.trackFacts[i].GPU)
	}
	return sharers
}

// warnOfSharing warns if processes share a GPU at the same time: idle time of one may
// be work of another. They may be in one report, or in several whose clocks can be
// compared.
func (r *Reader) warnOfSharing() {
	all := map[string][]sharer{} // of earlier reports, on the clock of the stream
	for i, rep := range r.reports {
		shared := int64(0)
		for gpu, of := range rep.sharers() {
			if rep.comparable && !strings.HasPrefix(gpu, localGPU) {
				for k := range of {
					of[k].span = event.Span{Start: of[k].span.Start + rep.info.Offset, End: of[k].span.End + rep.info.Offset}
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

// share reports whether a rank in some works at the same time as another rank in all,
// and both have more than a negligible share of the kernels.
func share(some, all []sharer) bool {
	for _, a := range some {
		for _, b := range all {
			if a.rank != b.rank && min(a.work, b.work)*fewKernels >= max(a.work, b.work) && a.span.Start < b.span.End && b.span.Start < a.span.End {
				return true
			}
		}
	}
	return false
}
