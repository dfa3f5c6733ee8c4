package nsys

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestDiagnostics sorts messages of the profiler: what says that CUDA events are
// lost, what says that they may be, and what says neither.
func TestDiagnostics(t *testing.T) {
	const lost, maybe, neither = "lost", "maybe", ""
	for text, want := range map[string]string{
		"Not all CUDA events might have been collected.":             maybe,
		"Not all NVTX events might have been collected.":             maybe,
		"Number of incomplete CUPTI events dropped: 17":              lost,
		"Number of incomplete CUPTI events dropped: \t0.":            neither,
		"number of CUPTI events dropped: 10":                         lost,
		"12 CUDA events were lost":                                   lost,
		"No CUDA events collected. Does the process use CUDA?":       maybe,
		"CUDA profiling might have not been started correctly.":      maybe,
		"Number of CUPTI events produced: \t70, CUPTI buffers: 50.":  neither,
		"Installed CUDA driver version (13.2) is not supported by …": maybe,
		"Number of CUDA events collected: \t37.":                     neither,
		"Not all OpenGL events might have been collected.":           neither,
	} {
		got := neither
		for k := range diagnostics {
			if applies(k, bytes.ToLower([]byte(text))) {
				if got = maybe; diagnostics[k].lost {
					got = lost
				}
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Processes that work on one GPU at the same time are said to, by the GPU and not by their
// number of it, also where they are of two reports; parts of a GPU are other GPUs.
func TestSharing(t *testing.T) {
	for name, test := range map[string]struct {
		gpu, kernels, start int64
		uuids               [2]string // of the GPUs, where they are known
		parts               [2]string // of the devices
		one, two            int       // warnings, as one report and as two
		unsaid              bool      // which GPU is which process's device
	}{
		"one each":            {gpu: 1, kernels: 500, start: 5},
		"shared":              {kernels: 500, start: 5, one: 1},
		"few kernels":         {kernels: 5, start: 5},
		"one after another":   {kernels: 500, start: 10},
		"two reports":         {kernels: 500, start: 5, uuids: [2]string{"GPU-1", "GPU-1"}, one: 1, two: 1},
		"two, in turn":        {kernels: 500, start: 10, uuids: [2]string{"GPU-1", "GPU-1"}},
		"two machines":        {kernels: 500, start: 5, uuids: [2]string{"GPU-1", "GPU-2"}, one: 1},
		"two parts of a GPU":  {kernels: 500, start: 5, uuids: [2]string{"GPU-1", "GPU-1"}, parts: [2]string{"MIG-1", "MIG-2"}},
		"one GPU, unsaid":     {kernels: 500, start: 5, one: 1, unsaid: true},
		"two GPUs, unsaid":    {gpu: 1, kernels: 500, start: 5, unsaid: true},
		"both on one of them": {kernels: 500, start: 5, uuids: [2]string{"GPU-1", "GPU-1"}, parts: [2]string{"MIG-1", "MIG-1"}, one: 1, two: 1},
	} {
		for reports := 1; reports <= 2; reports++ {
			r := &Reader{}
			for len(r.reports) < reports {
				r.reports = append(r.reports, &report{census: census{capture: capture{machine: machine{gpus: map[cudaDevice]int64{}, gpuUUIDs: map[int64]string{}, deviceUUIDs: map[cudaDevice]string{}}}}, comparable: true})
			}
			for k := range 2 {
				rep, device := r.reports[k%reports], cudaDevice{int64(k + 1), 0}
				gpu := test.gpu * int64(k)
				if !test.unsaid {
					rep.machine.gpus[device] = gpu
				}
				if test.parts[k] != "" {
					rep.machine.deviceUUIDs[device] = test.parts[k]
				}
				if rep.machine.gpuUUIDs[gpu] == "" {
					rep.machine.gpuUUIDs[gpu] = test.uuids[k]
				}
				rep.tracks = append(rep.tracks, &track{process: process(k+1) << 24, active: true, slot: int32(len(rep.tracks))})
				rep.info.RankFacts = append(rep.info.RankFacts, event.RankFacts{Rank: int32(k), Kernels: 1000 - (1000-test.kernels)*int64(k)})
				start := test.start * int64(k)
				rep.trackFacts = append(rep.trackFacts, trackFacts{Tally: event.Tally{GPU: event.Span{Start: start, End: start + 10}}})
			}
			for _, rep := range r.reports {
				r.header.Reports = append(r.header.Reports, rep.info)
			}
			r.warnOfSharing()
			n := 0
			for _, h := range r.header.Reports {
				n += len(h.Warnings)
				for _, w := range h.Warnings { // where parts are not known it may be two of them
					if strings.Contains(w, "MIG") != (test.parts[0] == "") {
						t.Errorf("%s: %q", name, w)
					}
				}
			}
			if want := []int{test.one, test.two}[reports-1]; n != want {
				t.Errorf("%s, %d reports: %d warnings, want %d", name, reports, n, want)
			}
		}
	}
}
