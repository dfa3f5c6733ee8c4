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

// machine is what an export says of the GPUs of the machine, as far as it does.
type machine struct {
	uuids    []string             // of all of them, which tell machines apart
	gpus     map[cudaDevice]int64 // which of the machine's a process uses
	gpuNodes map[int64]int32      // their NUMA nodes
	gpuUUIDs map[int64]string
	// deviceUUIDs are those of processes' devices, which may be parts of a GPU (MIG).
	deviceUUIDs map[cudaDevice]string
}

// readGPUs reads the models of the report's GPUs, which GPU the devices of processes are, and
// what distinguishes these from others, which goes into no stream. Older exports lack some of
// it.
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

// addUUID adds what distinguishes a GPU, "" for nothing.
func (m *machine) addUUID(uuid string) {
	if uuid != "" {
		m.uuids = append(m.uuids, uuid)
	}
}

// gpuOf identifies the GPU, or the part of one, that a process calls a device: by its UUID
// where that is known, else by its number on the machine, which may have one only; "" where
// neither is known.
func (m *machine) gpuOf(d cudaDevice) string {
	if uuid := m.deviceUUIDs[d]; uuid != "" {
		return uuid
	}
	gpu, ok := m.gpus[d]
	if !ok && d.device == 0 && len(m.gpuUUIDs) == 1 { // exports of before schema 3.20 do not say
		for gpu = range m.gpuUUIDs {
			ok = true
		}
	}
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
	work int64      // kernels and whole-graph replays of the rank
	span event.Span // from the first of its kernels and replays to the end of the last, ns on the report's clock
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
			sharers[gpu] = append(sharers[gpu], sharer{rank.Rank, rank.Kernels + rank.Graphs, event.NoSpan})
		}
		sharers[gpu][k].span.Join(r.trackFacts[i].GPU)
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

// share reports whether one of some ranks is at work at the same time as another of all,
// neither with hardly any work beside the other's.
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
