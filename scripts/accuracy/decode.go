package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// decodeCost is by how many us a step of the target is longer.
const decodeCost = 100

// decodePairs is the number of pairs per seed.
const decodePairs = 20

// decodeTally counts diff's answers for pairs of runs without markers.
type decodeTally struct {
	mu                    sync.Mutex
	right, wrong, none    int // wall time: significant with the right or wrong sign, or not significant
	refused, incomparable int
	err                   error
}

func (t *decodeTally) pairs() int {
	return t.right + t.wrong + t.none + t.refused + t.incomparable
}

// decodeKind is a way of decoding.
type decodeKind struct {
	mode    sim.Mode
	prefill bool // the first step is a prefill
}

var decodeKinds = []decodeKind{{sim.Node, false}, {sim.Node, true}, {sim.Eager, false}, {sim.Eager, true}}

func (k decodeKind) String() string {
	name := map[sim.Mode]string{sim.Node: "from graphs", sim.Eager: "eager"}[k.mode]
	if k.prefill {
		name += ", a prefill first"
	}
	return name
}

// runDecode is the section decode: two tensor-parallel ranks decode without markers, with
// 0.1 to 3 ms of idle time between steps. The target's host is slower by decodeCost per
// step.
func runDecode(w io.Writer, o options) error {
	fmt.Fprintf(w, "Pairs of runs of 60 steps on two ranks, no ranges at all, %d us more host work per step in the target.\n\n", decodeCost)
	fmt.Fprintln(w, "| decoding | pairs | right sign | wrong sign | no evidence | refused | not comparable |")
	fmt.Fprintln(w, "|:--|--:|--:|--:|--:|--:|--:|")
	seeds := make([]int, o.seeds*decodePairs/len(decodeKinds))
	for i := range seeds {
		seeds[i] = i
	}
	for _, kind := range decodeKinds {
		t := &decodeTally{}
		forEach(seeds, func(seed int) { t.pair(kind, seed, o.verbose) })
		if t.err != nil {
			return t.err
		}
		n, name := t.pairs(), kind.String()
		fmt.Fprintf(w, "| %s | %d | %v | %v | %v | %v | %v |\n", name, n, count{t.right, n}, count{t.wrong, n},
			count{t.none, n}, count{t.refused, n}, count{t.incomparable, n})
	}
	return nil
}

// pair simulates and compares one pair.
func (t *decodeTally) pair(mode decodeKind, seed int, verbose io.Writer) {
	r := rand.New(rand.NewPCG(uint64(seed), 0xdec0de))
	c := sim.Default()
	c.Mode, c.Traffic.Decode, c.Steps, c.Layers, c.Fused, c.Markers = mode.mode, !mode.prefill, 60, 4+r.IntN(9), true, sim.NoMarkers
	c.Collective = []string{"trtllm", "nccl", "vllm"}[r.IntN(3)]
	c.KernelScale = 0.5 * math.Pow(6, r.Float64())
	decodeOnly(&c, r)
	slower := c
	c.Seed, slower.Seed = r.Uint64(), r.Uint64()
	for _, op := range c.Host {
		if op.Name == "_handle_responses" {
			slower.SetHost(op.Name, op.Mean+decodeCost)
		}
	}
	result, err := compareRuns(c, slower, sim.Options{Drop: []string{"NVTX_EVENTS"}}, "auto")
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil && result == nil:
		t.err = err
	case err != nil:
		t.refused++
		remark(verbose, "decode %v, seed %d: refused: %v", mode, seed, err)
	case !result.Comparable:
		t.incomparable++
		remark(verbose, "decode %v, seed %d: %s", mode, seed, strings.Join(result.Reasons, "; "))
	default:
		t.count(result, mode, seed, verbose)
	}
}

// count counts the sign of the wall time's difference.
func (t *decodeTally) count(c *compare.Comparison, mode decodeKind, seed int, verbose io.Writer) {
	wall := find(c.Summary, "wall")
	switch {
	case !wall.Significant:
		t.none++
		remark(verbose, "decode %v, seed %d: no evidence: %s", mode, seed, strings.Join(c.Warnings, "; "))
	case *wall.Delta > 0:
		t.right++
	default:
		t.wrong++
		remark(verbose, "decode %v, seed %d: WRONG SIGN %.0f us: %s", mode, seed, *wall.Delta, strings.Join(c.Warnings, "; "))
	}
}

func remark(w io.Writer, format string, args ...any) {
	if w != nil {
		fmt.Fprintf(w, format+"\n", args...)
	}
}

// compareRuns simulates two runs and compares them as diff does. If diff refuses, the
// Comparison is empty.
func compareRuns(before, after sim.Config, opt sim.Options, by string) (*compare.Comparison, error) {
	var sides [2]string
	for i, c := range []sim.Config{before, after} {
		trace, err := sim.Simulate(c)
		if err != nil {
			return nil, err
		}
		dir, files, err := export([]*sim.Trace{trace}, opt)
		if dir != "" {
			defer os.RemoveAll(dir)
		}
		if err != nil {
			return nil, err
		}
		sides[i] = files[0]
	}
	return compareFiles(sides[0], sides[1], by)
}

// compareFiles compares two files as diff does.
func compareFiles(before, after, by string) (*compare.Comparison, error) {
	result := &compare.Comparison{}
	err := inProcess(&command.Diff, []string{"--by", by, before, after}, func(c *command.Plan) error {
		r, err := c.Diff()
		if err == nil {
			result = read(r)
		}
		return err
	})
	return result, err
}
