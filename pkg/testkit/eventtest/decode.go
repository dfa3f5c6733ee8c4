package eventtest

import (
	"fmt"
	"io"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Decode returns a regular trace of decode steps on one rank, 4 ms each. A step has a
// marker, input preparation, a graph launch that replays 600 kernels (65 of them
// all-reduces), and 60 kernels launched individually: about 850 rows.
func Decode(steps int) (*event.Header, []Row) {
	var rows []Row
	add := func(kind event.Kind, at, length, thread int64, class event.Class, name string) *Row {
		r := New(kind, 0, at, at+length, name)
		r.Class = class
		if thread >= 0 {
			r.Thread = thread
		} else {
			r.Device, r.Stream = 0, 7
		}
		rows = append(rows, r)
		return &rows[len(rows)-1]
	}
	for step := range steps {
		t := int64(step) * 4_000_000
		add(event.NVTX, t, 1_500_000, 1, event.StepMarker, fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 8 gen reqs", step))
		add(event.NVTX, t+10_000, 700_000, 1, event.Prep, "_prepare_inputs")
		for i := range int64(40) {
			add(event.NVTX, t+20_000+i*10_000, 5_000, 1, event.Range, "some range")
		}
		for i := range int64(60) {
			at, id := t+800_000+i*5_000, int64(step)*100+i
			add(event.API, at, 3_000, 1, event.Launch, "cudaLaunchKernel").Correlation = id
			k := add(event.Kernel, at+4_000, 1_000, -1, event.Elementwise, "vectorized_elementwise_kernel")
			k.Correlation, k.LaunchStart, k.LaunchEnd, k.LaunchThread = id, at, at+3_000, 1
		}
		at, id := t+1_200_000, int64(step)*100+99
		add(event.API, at, 90_000, 1, event.GraphLaunch, "cudaGraphLaunch").Correlation = id
		for i := range int64(600) {
			class, name := event.GEMM, "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN"
			if i%9 == 0 && i < 65*9 {
				class, name = event.Allreduce, "allreduce_fusion_kernel_oneshot_lamport"
			}
			k := add(event.Kernel, at+100_000+i*2_000, 1_900, -1, class, name)
			k.Correlation, k.LaunchStart, k.LaunchEnd, k.LaunchThread, k.GraphNode = id, at, at+90_000, 1, i
		}
	}
	Sort(rows)
	return Header(rows), rows
}

// Replay is a source of prepared batches, so that a benchmark measures only their reader.
type Replay struct {
	header  *event.Header
	batches []*event.Batch
	next    int
	Len     int64 // number of rows
}

// Ready reads a source to its end and returns its rows as a Replay.
func Ready(src event.Source) (*Replay, error) {
	r := &Replay{header: src.Header()}
	for {
		b, err := src.Next()
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		c := &event.Batch{}
		c.Reset(b.Columns)
		c.AppendRange(b, 0, b.Len)
		r.batches = append(r.batches, c)
		r.Len += int64(b.Len)
	}
}

// Rewind makes Next start with the first batch again.
func (r *Replay) Rewind() { r.next = 0 }

// Header implements event.Source.
func (r *Replay) Header() *event.Header { return r.header }

// Next implements event.Source. Batches stay valid, and must not be changed.
func (r *Replay) Next() (*event.Batch, error) {
	if r.next == len(r.batches) {
		return nil, io.EOF
	}
	r.next++
	return r.batches[r.next-1], nil
}
