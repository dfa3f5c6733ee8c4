package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// planted is a regression of host work, and where its idle time lies.
type planted struct {
	name   string
	change func(c *sim.Config)
	want   string
	eager  bool // only for patterns with eager steps
}

// plants are the regressions: work after the step, work before its first launch, and
// launches that take longer.
var plants = []planted{
	{"after the step", func(c *sim.Config) {
		last := c.Host[len(c.Host)-1]
		c.SetHost(last.Name, last.Mean+400)
	}, compare.HostInterStep, false},
	{"ahead of the launches", func(c *sim.Config) {
		for _, op := range c.Host {
			if op.Role == sim.Prepare {
				c.SetHost(op.Name, op.Mean+400)
			}
		}
	}, compare.HostInterStep, false},
	{"launches", func(c *sim.Config) { c.LaunchCost += 12 }, compare.HostInStep, true},
}

// methodTally counts how the methods agree on the same pair.
type methodTally struct {
	several count // pairs with two or more answers, of all pairs
	agree   count // pairs whose answers are equal, of those
	clash   count // pairs with answers that name different places, of those
	right   count // answers that name the planted place, of all answers
	against count // answers that name the other place
}

// runMethods is the section methods.
func runMethods(w io.Writer, o options) error {
	list := chosen(o)
	by, err := countMethods(list, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Pairs of runs of %d kinds (of the eager ones where launches take longer), %d each, with markers; the target does more on the host in one place. Asked by nvtx, allreduce and graph.\n\n", len(list), max(1, o.seeds/5))
	fmt.Fprintln(w, "| more work | pairs | with two answers or more | of these the same | of these contrary | answers that name its place | the other place |")
	fmt.Fprintln(w, "|:--|--:|--:|--:|--:|--:|--:|")
	for i := range plants {
		t := by[plants[i].name]
		fmt.Fprintf(w, "| %s | %d | %d | %v | %v | %v | %v |\n", plants[i].name, t.several.of, t.several.n, t.agree, t.clash, t.right, t.against)
	}
	return nil
}

// countMethods compares all pairs, and returns the counts by plant.
func countMethods(list []*pattern, o options) (map[string]*methodTally, error) {
	type job struct {
		p     *pattern
		plant *planted
		seed  int
	}
	by := map[string]*methodTally{}
	var jobs []job
	for i := range plants {
		by[plants[i].name] = &methodTally{}
		for _, p := range list {
			if plants[i].eager && p.trial(0, true, true).Mode != sim.Eager {
				continue
			}
			for seed := range max(1, o.seeds/5) {
				jobs = append(jobs, job{p, &plants[i], seed})
			}
		}
	}
	var mu sync.Mutex
	var failed error
	forEach(jobs, func(j job) {
		answers, err := conclusions(j.p, j.plant, j.seed)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = err
			return
		}
		by[j.plant.name].add(answers, j.plant.want)
		remark(o.verbose, "methods %s, %s, seed %d: %v", j.p.name, j.plant.name, j.seed, answers)
	})
	return by, failed
}

// add counts the answers for one pair.
func (t *methodTally) add(answers map[string]string, want string) {
	t.several.add(len(answers) > 1)
	same, clash := true, false
	for _, a := range answers {
		for _, b := range answers {
			same = same && a == b
			clash = clash || a == compare.HostInStep && b == compare.HostInterStep
		}
		t.right.add(a == want)
		t.against.add(a != want && strings.HasPrefix(a, "host"))
	}
	if len(answers) > 1 {
		t.agree.add(same)
		t.clash.add(clash)
	}
}

// conclusions returns diff's conclusions on a pair of runs, by each method that applies.
func conclusions(p *pattern, plant *planted, seed int) (map[string]string, error) {
	c := p.trial(seed, true, true)
	c.KernelScale = min(c.KernelScale, 1) // the host must matter
	after := c
	plant.change(&after)
	after.Seed++
	var sides [2]string
	for i, cfg := range []sim.Config{c, after} {
		traces, err := sim.Simulate(cfg)
		if err != nil {
			return nil, err
		}
		dir, files, err := export([]*sim.Trace{traces}, sim.Options{})
		if dir != "" {
			defer os.RemoveAll(dir)
		}
		if err != nil {
			return nil, err
		}
		sides[i] = files[0]
	}
	answers := map[string]string{}
	for _, by := range []string{step.NVTX, step.Allreduce, step.Graph} {
		if result, err := compareFiles(sides[0], sides[1], by); err == nil && result.Comparable {
			answers[by] = result.Conclusion
		}
	}
	return answers, nil
}
