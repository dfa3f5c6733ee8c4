package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// build builds the commands as scripts/install.sh does, and the generator. It returns
// their folder.
func build(dir string) (string, error) {
	bin := filepath.Join(dir, "bin") + string(filepath.Separator)
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-pgo=scripts/hostbound.pgo", "-ldflags=-s -w", "-o", bin, "./cmd/"+binary, "./scripts/gentrace")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return bin, nil
}

// binary is the program with all commands, which scripts/install.sh installs.
const binary = "hostbound"

// tool returns one of our commands with its arguments.
func tool(bin, name string, args ...string) []string {
	return append([]string{filepath.Join(bin, binary), name}, args...)
}

// generate writes a simulated trace.
func generate(bin, path string, events, ranks, seed int) error {
	out, err := exec.Command(filepath.Join(bin, "gentrace"), "--events", strconv.Itoa(events), "--ranks", strconv.Itoa(ranks),
		"--seed", strconv.Itoa(seed), "-o", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("gentrace: %w: %s", err, out)
	}
	return nil
}

// cost is the time and memory that a pipeline took.
type cost struct {
	wall time.Duration
	cpu  time.Duration // of all processes
	peak int64         // peak memory of its largest process, bytes

	xWall, xCPU float64 // as multiples of the first pipeline measured in turn
}

// pipeline runs commands like a shell's pipe, and discards the output of the last one.
func pipeline(commands [][]string) (cost, error) {
	cmds := make([]*exec.Cmd, len(commands))
	var ends []io.Closer
	errOut := make([]strings.Builder, len(commands))
	for i, args := range commands {
		cmds[i] = exec.Command(args[0], args[1:]...)
		cmds[i].Stderr = &errOut[i]
		if i > 0 {
			r, w, err := os.Pipe()
			if err != nil {
				return cost{}, err
			}
			cmds[i-1].Stdout, cmds[i].Stdin = w, r
			ends = append(ends, r, w)
		}
	}
	begin := time.Now()
	for _, cmd := range cmds {
		if err := cmd.Start(); err != nil {
			return cost{}, err
		}
	}
	for _, e := range ends {
		e.Close()
	}
	var c cost
	var errs []error
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, &errOut[i]))
		}
		c.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		c.peak = max(c.peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	c.wall = time.Since(begin)
	return c, errors.Join(errs...)
}

func size(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "?"
	}
	return fmt.Sprintf("an export of %d MiB", info.Size()>>20)
}

// machine names the processor and the number of processors.
func machine() string {
	model := "this machine"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.SplitSeq(string(text), "\n") {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				model = strings.TrimSpace(v)
				break
			}
		}
	}
	out, err := exec.Command("nproc").Output()
	if err != nil {
		return model
	}
	return strings.TrimSpace(string(out)) + " cores of " + model
}

// median runs a pipeline several times after a warm-up, and returns its median times and
// highest peak memory.
func median(commands [][]string, runs int) (cost, error) {
	all, err := inTurn(runs, commands)
	if err != nil {
		return cost{}, err
	}
	return all[0], nil
}

// inTurn is median for several pipelines that are run in turn.
func inTurn(runs int, pipelines ...[][]string) ([]cost, error) {
	all := make([][]cost, len(pipelines))
	medians := make([]cost, len(pipelines))
	for i := range runs + 1 {
		for k, commands := range pipelines {
			c, err := pipeline(commands)
			if err != nil {
				return nil, err
			}
			if medians[k].peak = max(medians[k].peak, c.peak); i == 0 && runs > 0 {
				continue
			}
			first := c
			if k > 0 {
				first = all[0][len(all[0])-1]
			}
			c.xWall, c.xCPU = float64(c.wall)/float64(first.wall), float64(c.cpu)/float64(first.cpu)
			all[k] = append(all[k], c)
		}
	}
	for k, costs := range all {
		m := &medians[k]
		m.wall, m.cpu = middle(costs, func(c cost) time.Duration { return c.wall }), middle(costs, func(c cost) time.Duration { return c.cpu })
		m.xWall, m.xCPU = middle(costs, func(c cost) float64 { return c.xWall }), middle(costs, func(c cost) float64 { return c.xCPU })
	}
	return medians, nil
}

// middle returns the median of a figure.
func middle[T cmp.Ordered](costs []cost, of func(cost) T) T {
	figures := make([]T, len(costs))
	for i, c := range costs {
		figures[i] = of(c)
	}
	slices.Sort(figures)
	return figures[len(figures)/2]
}
