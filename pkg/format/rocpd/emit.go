package rocpd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// describe fills in the report of a file once its processes have ranks.
func (f *file) describe() {
	info, all, first := &f.info, event.NoTally, maxTime
	for _, p := range f.processes {
		first = min(first, p.first)
		all.Join(&p.Tally)
	}
	if first < maxTime {
		f.origin = first - first%1000
	}
	info.Extent = all.Extent(f.origin)
	for _, p := range f.processes {
		if p.rank >= 0 {
			p.describe(info)
		}
	}
	info.Workload = event.WorkloadOf(f.r.names.trains, f.r.names.diffuses, all.Classes[event.StepMarker] > 0)
	f.warn(all.Kinds[event.Kernel], all.Kinds[event.Kernel]+all.Kinds[event.Memcpy]+all.Kinds[event.Memset])
}

// describe adds the facts of a rank to its report.
func (p *process) describe(info *event.Report) {
	facts := p.Facts(p.rank, p.file.origin)
	facts.GPUs, facts.Replays = int64(len(p.devices)), p.replays
	if p.replays > 0 {
		info.Capture = "node"
	}
	reduces := int32(-1)
	for _, device := range slices.Backward(slices.Sorted(maps.Keys(p.devices))) {
		if p.devices[device] {
			reduces = int32(device)
		}
	}
	info.Ranks, info.RankFacts = append(info.Ranks, p.rank), append(info.RankFacts, facts)
	info.AllreduceDevices = append(info.AllreduceDevices, reduces)
	for name, size := range p.sizes {
		info.AddGroup(name, size)
	}
}

// warn adds warnings that a user should know before trusting figures of the file. They
// are our sentences with numbers in them, never text from the file.
func (f *file) warn(kernels, gpu int64) {
	say := func(format string, args ...any) {
		f.info.Warnings = append(f.info.Warnings, fmt.Sprintf(format, args...))
	}
	if f.unusable > 0 {
		say("left out %d rows that have no usable times or no process", f.unusable)
	}
	if f.apart {
		say("it holds recordings of several machines: their clocks cannot be compared")
	}
	if f.early > 0 {
		say(event.EarlyText)
	}
	if f.r.names.almost {
		say(marker.AlmostText)
	}
	switch {
	case kernels == 0:
		say("no GPU work was recorded: profile with rocprofv3 --kernel-trace while the GPU is in use")
	case f.untraced == gpu:
		say("no GPU row has a launching call: causes of idle time are unknown; record with rocprofv3 --hip-trace, too")
	case f.untraced > 0:
		say("%d of %d GPU rows have no launching call", f.untraced, gpu)
	}
	if f.other > 0 {
		f.info.Notes = append(f.info.Notes, fmt.Sprintf("%d regions are neither HIP calls nor roctx ranges and were left out", f.other))
	}
	say("only HIP calls and roctx ranges of host threads are read: host stalls are explained by these alone")
}

// emit writes row k of rows to row i of the batch.
func (p *process) emit(b *event.Batch, i int, rows spill.Rows, k int) error {
	names, name, shift := p.file.r.names, int32(rows[nameAt][k]), p.file.r.Head.Reports[p.file.number].Offset-p.file.origin
	b.Kind.Values[i] = names.kinds[name]
	b.Start.Values[i], b.End.Values[i] = rows[spill.Key][k]+shift, rows[spill.Then][k]+shift
	if p.rank >= 0 {
		b.Rank.Set(i, p.rank)
	}
	b.Name.AppendCode(&names.dict, name)
	if class := names.classes[name]; class >= 0 {
		b.Class.Set(i, class)
	}
	where := &b.Thread
	if names.kinds[name].IsGPU() {
		b.Device.Set(i, int32(rows[spill.Payload+2][k]))
		where = &b.Stream
	} else if names.kinds[name] == event.NVTX {
		b.Domain.Set(i, 0)
	}
	for c, column := range [...]*event.Ints[int64]{&b.Correlation, where, nil, &b.Bytes, &b.GraphNode, &b.LaunchStart, &b.LaunchEnd, &b.LaunchThread} {
		if v := rows[spill.Payload+c][k]; column != nil && v != spill.None {
			if column == &b.LaunchStart || column == &b.LaunchEnd {
				v += shift
			}
			column.Set(i, v)
		}
	}
	return nil
}
