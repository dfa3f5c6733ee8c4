package isolate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// engine makes traces without markers of a rank whose steps are known: eager
// kernels in a queue, launched by one thread that may run ahead. It shares nothing
// with package sim but that both know of inference engines.
type engine struct {
	rng  *rand.Rand
	rows []eventtest.Row
	host int64 // the thread's clock
	gpu  int64 // when the GPU is free
	corr int64

	layers    int
	plain     bool // names say nothing, as those of a compiled model
	noHost    bool // neither calls nor copies were recorded
	ahead     bool // the host waits for the step before
	layerSync int  // in every so many layers the host waits
	syncEvery int  // the host waits once in so many steps
	sampler   int  // collectives of the sampler
	draft     int  // forward passes of a draft model in a step
	hybrid    int  // one layer of so many has attention
	context   int  // one step of so many is a context step
	rename    bool // context steps look embeddings up by another kernel
	jit       int  // one step of so many compiles
	gap       int64
	odd       float64 // share of steps in which a collective more runs
	graphs    int     // 1: generation steps are replayed, 2: each layer is, but for its attention
	first     bool    // the draft model runs before the step's own pass
	late      bool    // the host waits for the step before between forward pass and sampling
	chunks    bool    // context steps, but for one of three, make no tokens
	node      int64   // of the replay under way, 0
	call      int64   // its launch

	begins []int64 // the true starts of steps: of their first collectives
	fresh  bool
}

func (e *engine) name(role string, s int) string {
	if e.plain {
		return fmt.Sprintf("kernel_%x", s*7919+len(role)*31)
	}
	return role
}

// kernel launches a kernel that takes us microseconds on average.
func (e *engine) kernel(name string, class event.Class, us float64) {
	call := e.call
	if e.node == 0 {
		e.corr++
		call = e.host
		e.host += 3000 + e.rng.Int64N(2000)
	}
	start := max(e.gpu+800, call+3000)
	e.gpu = start + int64(us*1000*(0.9+0.2*e.rng.Float64()))
	k := eventtest.New(event.Kernel, 0, start, e.gpu, name)
	k.Device, k.Stream, k.Class, k.Correlation = 0, 7, class, e.corr
	k.LaunchStart, k.LaunchEnd, k.LaunchThread = call, call+2500, 1
	if e.node > 0 {
		e.node++
		k.GraphNode = e.node
	}
	e.rows = append(e.rows, k)
	if class == event.Allreduce && e.fresh {
		e.begins, e.fresh = append(e.begins, start), false
	}
}

// replay has the kernels to the next call of eager replayed by one launch.
func (e *engine) replay(node int64) {
	e.corr++
	e.node, e.call = node, e.host
	e.host += 20_000
}

func (e *engine) eager() { e.node = 0 }

func (e *engine) copy(name string) {
	if e.noHost {
		return
	}
	e.kernel(name, -1, 1)
	e.rows[len(e.rows)-1].Kind = event.Memcpy
}

// wait has the host wait until the GPU has done what it had to do at that time.
func (e *engine) wait(until int64) {
	if !e.noHost {
		r := eventtest.New(event.API, 0, e.host, max(e.host+1000, until), "cudaEventSynchronize")
		r.Thread, r.Class = 1, event.APISync
		e.rows = append(e.rows, r)
	}
	e.host = max(e.host+1000, until)
}

// forward is a forward pass of so many layers.
func (e *engine) forward(layers int, scale float64, ctx bool) {
	embed := "embedding_kernel"
	if ctx && e.rename {
		embed = "indexSelectLargeIndex"
	}
	pieces := e.graphs == 2
	if e.graphs > 0 && (pieces || !ctx) {
		e.replay(1000 * int64(layers))
	}
	defer e.eager()
	e.kernel(e.name(embed, 1), event.Copy, 2)
	e.kernel("all_reduce", event.Allreduce, 6*scale)
	for i := range layers {
		mixer, class := "flash_fwd", event.Attention
		if ctx {
			mixer = "flash_fwd_prefill"
		}
		if e.hybrid > 0 && i%e.hybrid != 0 {
			mixer, class = "selective_scan", event.Other
		}
		e.kernel(e.name("gemm_qkv", 2), event.GEMM, 5*scale)
		if pieces {
			e.eager()
		}
		e.kernel(e.name(mixer, 3), class, 5*scale)
		if pieces {
			e.replay(1000*int64(layers) + 20*int64(i+1))
		}
		if e.layerSync > 0 && i%e.layerSync == 0 && e.graphs == 0 {
			e.copy("memcpy DtoH")
			e.wait(e.gpu)
		}
		e.kernel("all_reduce", event.Allreduce, 6*scale)
		e.kernel(e.name("gemm_up", 4), event.GEMM, 8*scale)
		e.kernel("all_reduce", event.Allreduce, 6*scale)
	}
	e.kernel(e.name("gemm_lm_head", 5), event.GEMM, 20)
}

// step is one iteration.
func (e *engine) step(n int) {
	e.fresh = true
	before := e.gpu
	ctx := e.context > 0 && n%e.context == 0
	e.host += e.gap/2 + e.rng.Int64N(e.gap)
	e.copy("memcpy HtoD")
	if e.jit > 0 && n%e.jit == e.jit-1 {
		for range 300 {
			e.kernel("vectorized_elementwise_kernel", event.Elementwise, 2)
		}
	}
	scale := 1.0
	if ctx {
		scale = 2 + 200*e.rng.Float64()
	}
	if e.first && !ctx {
		e.drafts()
	}
	e.forward(e.layers, scale, ctx)
	if e.late && e.ahead {
		e.wait(before)
	}
	if e.rng.Float64() < e.odd {
		e.kernel("all_reduce", event.Allreduce, 6)
	}
	if ctx && e.chunks && n%3 > 0 {
		return
	}
	for range e.sampler {
		e.kernel(e.name("softmax_topk", 6), event.Sampling, 4)
		e.kernel("all_reduce", event.Allreduce, 6)
	}
	e.kernel(e.name("argmax_kernel", 7), event.Sampling, 4)
	if !ctx && !e.first {
		e.drafts()
	}
	e.copy("memcpy DtoH")
	if e.late && e.ahead {
		return
	}
	if until := e.gpu; e.syncEvery < 2 || n%e.syncEvery == 0 {
		if e.ahead {
			until = before
		}
		e.wait(until)
	}
}

// drafts runs the draft model.
func (e *engine) drafts() {
	for range e.draft {
		e.forward(1, 1, false)
		e.kernel(e.name("argmax_kernel", 7), event.Sampling, 4)
	}
}

// run makes so many steps, after a warm-up.
func (e *engine) run(warmup, steps int) {
	for i := range warmup {
		e.step(i + 1)
	}
	if warmup > 0 {
		e.host = max(e.host, e.gpu) + 300_000_000
	}
	for i := range steps {
		e.step(i)
	}
	eventtest.Sort(e.rows)
}

// randomEngine is one with a random mixture of what engines do.
func randomEngine(seed uint64) *engine {
	rng := rand.New(rand.NewPCG(seed, 99))
	some := func(n int, values ...int) int { // one of the values, or in most runs 0
		if rng.IntN(n) > 0 {
			return 0
		}
		return values[rng.IntN(len(values))]
	}
	e := &engine{rng: rng, host: 1_000_000, layers: 2 + rng.IntN(12), gap: 50_000 << rng.IntN(7)}
	e.plain, e.noHost, e.ahead, e.rename = rng.IntN(4) == 0, rng.IntN(6) == 0, rng.IntN(2) == 0, rng.IntN(3) == 0
	e.layerSync, e.syncEvery, e.sampler = some(5, 1, 2, 4), some(6, 4, 8), some(3, 1, 2)
	e.draft, e.hybrid, e.context, e.jit = some(4, 1, 2, 3), some(4, 2, 4), some(2, 3, 8, 20), some(4, 5, 17)
	if rng.IntN(5) == 0 {
		e.odd = rng.Float64()
	}
	e.graphs, e.first, e.late, e.chunks = some(2, 1, 1, 2), rng.IntN(3) == 0, rng.IntN(4) == 0, rng.IntN(4) == 0
	return e
}

// found is what isolating made of a run.
func found(t *testing.T, rows []eventtest.Row, opt Options) (starts []int64, warnings []string, err error) {
	t.Helper()
	opt.Warn = func(s string) { warnings = append(warnings, s) }
	it, err := New(eventtest.Source(eventtest.Header(rows), rows, 1000), opt)
	if err != nil {
		return nil, nil, err
	}
	got, err := eventtest.Collect(it)
	var names, want []string
	for _, r := range got {
		switch r.Kind {
		case event.Step:
			starts = append(starts, r.Start)
		case event.Window:
		default:
			names = append(names, r.Name)
		}
	}
	for i := range rows {
		want = append(want, rows[i].Name)
	}
	if err == nil && !slices.Equal(names, want) {
		t.Errorf("names of other rows changed")
	}
	return starts, warnings, err
}

// wrong is the number of starts that are in one list only.
func wrong(a, b []int64) (n int) {
	for _, s := range a {
		n += b2i(!slices.Contains(b, s))
	}
	for _, s := range b {
		n += b2i(!slices.Contains(a, s))
	}
	return n
}

// Steps without markers are right, or the user is told.
func TestStructure(t *testing.T) {
	seeds := uint64(400)
	if os.Getenv("HOSTBOUND_ALL") == "" {
		seeds = 80
	}
	right, refused, warned := 0, 0, 0
	merged := [...]uint64{1362, 2289} // one step of some twenty, once without a warning
	for i := range seeds + uint64(len(merged)) {
		seed := i
		if i >= seeds {
			seed = merged[i-seeds]
		}
		e := randomEngine(seed)
		e.run(int(seed%3)*2, 20+int(seed%40))
		starts, warnings, err := found(t, e.rows, Options{By: step.Allreduce})
		bad := wrong(starts, e.begins)
		switch {
		case err != nil:
			refused++
			if !strings.Contains(err.Error(), "cannot be identified") {
				t.Errorf("seed %d: %v", seed, err)
			}
		case len(warnings) > 0:
			warned++
		case 50*bad > len(e.begins):
			e.rows = nil
			t.Errorf("seed %d: %d steps for %d, %d wrong, and no warning: %+v", seed, len(starts), len(e.begins), bad, *e)
		default:
			right++
		}
	}
	t.Logf("of %d runs %d right, %d warned, %d refused", seeds, right, warned, refused)
	if 10*right < 6*int(seeds) {
		t.Errorf("of %d runs only %d are right", seeds, right)
	}
}

// Embeddings are looked up once in a forward pass; rotary ones are applied in each layer.
func TestIsEmbedding(t *testing.T) {
	for name, want := range map[string]bool{
		"embedding_lookup_kernel": true, "indexSelectSmallIndex": true, "vectorized_gather_kernel": true,
		"triton_poi_fused_embedding_ge_lt_masked_fill_0": true,
		"rotary_embedding_kernel":                        false, "batched_rotary_embedding_kernel": false,
		"fused_rope_with_position_embedding": false, "rms_norm_kernel": false,
	} {
		if got := isEmbedding(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Context steps whose collectives are others than all-reduces, as those of sequence
// parallelism, are no steps without markers, and a warning says so.
func TestOtherCollectives(t *testing.T) {
	for _, every := range []int{8, 1000} {
		e := &engine{rng: rand.New(rand.NewPCG(1, 2)), host: 1_000_000, layers: 12, gap: 200_000}
		n := 0
		for i := range 48 {
			from := len(e.rows)
			e.step(i)
			if i%every != every-1 {
				continue
			}
			n++
			for k := range e.rows[from:] {
				if r := &e.rows[from+k]; r.Class == event.Allreduce {
					r.Class, r.Name = event.Comm, "reduce_scatter"
				}
			}
		}
		eventtest.Sort(e.rows)
		starts, warnings, err := found(t, e.rows, Options{By: step.Allreduce})
		if err != nil || len(starts) != 48-n || (len(warnings) > 0) != (n > 0) {
			t.Errorf("%d other steps: found %d, warnings %q, error %v", n, len(starts), warnings, err)
		}
	}
}

// A rank whose steps cannot be identified is left out where others have markers, and the
// error says which one it is where that is not asked for.
func TestApart(t *testing.T) {
	rows := func(marked bool) []eventtest.Row {
		var all []eventtest.Row
		for rank := range int32(2) {
			// Nothing recurs between the collectives.
			e := &engine{rng: rand.New(rand.NewPCG(1, 2)), layers: 3, gap: 10_000, plain: true, noHost: true, sampler: 1, odd: 0.5}
			for i := range 30 {
				e.host = max(e.host, e.gpu)
				if rank == 0 && marked {
					mark := eventtest.New(event.NVTX, 0, e.host, 0, fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 8 gen reqs", i))
					e.step(i)
					mark.End, mark.Class, mark.Thread = e.host, event.StepMarker, 1
					e.rows = append(e.rows, mark)
					continue
				}
				for k := range 7 {
					e.kernel(fmt.Sprint("kernel_", i*7+k), event.GEMM, 5)
					e.kernel("all_reduce", event.Allreduce, 6)
				}
			}
			for i := range e.rows {
				e.rows[i].Rank = rank
			}
			eventtest.Sort(e.rows)
			all = append(all, e.rows...)
		}
		return all
	}
	none := new(step.NotFound)
	if _, _, err := found(t, rows(true), Options{By: step.Allreduce}); !errors.As(err, &none) || !slices.Equal(none.Ranks, []int32{1}) {
		t.Fatalf("%v, of ranks %v", err, none.Ranks)
	}
	if _, _, err := found(t, rows(false), Options{By: step.Allreduce, Unclear: func(n *step.NotFound) bool { return n.Ranks != nil }}); !errors.As(err, &none) || none.Ranks != nil {
		t.Errorf("without markers %v, of ranks %v", err, none.Ranks)
	}
	for _, opt := range []Options{{By: step.Allreduce}, {By: step.Allreduce, Leave: []int32{1}}} {
		said := false
		opt.Unclear = func(n *step.NotFound) bool {
			said = slices.Equal(n.Ranks, []int32{1})
			return said
		}
		in := rows(true)
		it, err := New(eventtest.Source(eventtest.Header(in), in, 100), opt)
		if err != nil {
			t.Fatal(err)
		}
		got, err := eventtest.Collect(it)
		if err != nil {
			t.Fatal(err)
		}
		steps, windows, others := [2]int{}, [2]int{}, 0
		for _, r := range got {
			switch {
			case r.Kind == event.Step:
				steps[r.Rank]++
			case r.Kind == event.Window && (r.Step >= 0) == (r.Rank == 0):
				windows[r.Rank]++
			case r.Rank == 1 && r.Kind != event.Window:
				others++
			}
		}
		if steps[0] != 30 || windows[0] != 1 || others != 30*14 {
			t.Errorf("%d and %d steps, %d and %d windows, %d rows of rank 1", steps[0], steps[1], windows[0], windows[1], others)
		}
		if said == (opt.Leave != nil) || windows[1] != b2i(said) || !said && steps[1] > 0 {
			t.Errorf("%d steps of rank 1, %d windows, said %v", steps[1], windows[1], said)
		}
	}
}
