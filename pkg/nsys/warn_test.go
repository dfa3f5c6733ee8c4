package nsys

import (
	"bytes"
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
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
// number of it.
func TestSharing(t *testing.T) {
	for name, test := range map[string]struct {
		gpu, kernels, start int64
		want                int
	}{
		"one each":          {1, 500, 5, 0},
		"shared":            {0, 500, 5, 1},
		"few kernels":       {0, 5, 5, 0},
		"one after another": {0, 500, 10, 0},
	} {
		r := &report{gpus: map[cudaDevice]int64{{1, 0}: 0, {2, 0}: test.gpu}}
		r.info.RankFacts = []event.RankFacts{{Kernels: 1000}, {Kernels: test.kernels}}
		for slot := range int32(2) {
			r.tracks = append(r.tracks, &track{process: process(slot+1) << 24, active: true, slot: slot})
			start := test.start * int64(slot)
			r.trackFacts = append(r.trackFacts, trackFacts{span: span{start, start + 10}})
		}
		if r.warnOfSharing(); len(r.info.Warnings) != test.want {
			t.Errorf("%s: %q", name, r.info.Warnings)
		}
	}
}
