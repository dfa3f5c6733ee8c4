package compare_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// decoding is a run of a hundred steps on one GPU: input is prepared, for own us and
// so much waiting for the interpreter lock, and then one kernel launched.
func decoding(t *testing.T, seed uint64, own, wait int64) *compare.Run {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var rows []eventtest.Row
	host := func(kind event.Kind, from, to int64, name string) *eventtest.Row {
		r := eventtest.New(kind, 0, from, to, name)
		r.Thread = 1
		if kind == event.NVTX {
			r.Class = marker.ClassNVTX(name)
		}
		rows = append(rows, r)
		return &rows[len(rows)-1]
	}
	const us = 1000
	at := int64(1000 * us)
	for k := range int64(100) {
		prepare := own*us + rng.Int64N(20*us)
		waits := wait*us + rng.Int64N(wait*us/10+1)
		launch := at + 20*us + prepare + waits
		host(event.NVTX, at, launch+10*us, fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 8 gen reqs", k+1))
		host(event.NVTX, at+10*us, launch-5*us, "_prepare_tp_inputs")
		host(event.NVTX, at+50*us, at+50*us+waits, "Waiting for GIL")
		call := host(event.API, launch, launch+5*us, "cudaLaunchKernel")
		call.Class, call.Correlation = event.Launch, k+1
		kernel := eventtest.New(event.Kernel, 0, launch+8*us, launch+308*us, "gemm")
		kernel.Device, kernel.Stream, kernel.Class, kernel.Correlation = 0, 7, event.GEMM, k+1
		kernel.LaunchStart, kernel.LaunchEnd, kernel.LaunchThread = launch, launch+5*us, 1
		rows = append(rows, kernel)
		at = launch + 400*us
	}
	eventtest.Sort(rows)
	steps, err := isolate.New(eventtest.Source(eventtest.Header(rows), rows, 64), isolate.Options{By: step.NVTX})
	if err != nil {
		t.Fatal(err)
	}
	phases, err := step.NewTagger(steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := compare.Profile(phases, compare.ProfileOptions{Name: fmt.Sprint("run ", seed)})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Waiting for the interpreter lock within an operation is not the
// operation's own work; more work of its own is.
func TestWaitingIsNotOwnWork(t *testing.T) {
	for _, c := range []struct {
		own, wait  int64
		cause      string
		target     string
		regressing int
	}{
		{600, 420, "gil", "waiting for the interpreter lock (GIL)", 0},
		{1000, 20, "host:_prepare_tp_inputs", "PyTorchModelEngine._prepare_tp_inputs", 1},
	} {
		got, err := compare.Compare(decoding(t, 1, 600, 20), decoding(t, 2, c.own, c.wait), compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := got.Handoff
		if len(h.TopIdleCauses) != 1 || h.TopIdleCauses[0].Cause != c.cause || *h.TopIdleCauses[0].Delta < 380 || *h.TopIdleCauses[0].Delta > 440 {
			t.Errorf("own %d, wait %d: causes %+v", c.own, c.wait, h.TopIdleCauses)
		}
		if spelled(h.FirstTarget) != c.target || len(h.TopRegressingOps) != c.regressing {
			t.Errorf("own %d, wait %d: first target %s, regressing %+v", c.own, c.wait, spelled(h.FirstTarget), h.TopRegressingOps)
		}
		if got.Conclusion != compare.HostInterStep {
			t.Errorf("conclusion %s; %q", got.Conclusion, got.Explanation)
		}
	}
}
