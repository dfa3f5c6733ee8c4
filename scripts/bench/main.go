// Bench measures the filters as whole processes on a generated trace: events a
// second and peak memory, the median of several runs.
package main

import (
	"errors"
	"flag"
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

// Floors, for a machine with two cores.
const (
	floorPipe    = 1.5e6 // events/s
	floorVerdict = 2.5e6
	floorStage   = 3e6
	floorGaps    = 2e6
	slowestDiff  = 2.2       // times what verdict FILE takes, for two exports
	slowestRead  = 1 / 3.0   // likewise, for a checkpoint
	ceiling      = 512 << 20 // bytes, of any process

	// leastEvents is how many events there must be for the floors to mean
	// anything: below, starting a process is much of what is measured.
	leastEvents = 1_000_000
)

func main() {
	runs := flag.Int("runs", 3, "measured `runs` of each")
	check := flag.Bool("check", false, "fail where a floor is not reached")
	keep := flag.String("dir", "", "keep the trace and streams in `dir`")
	flag.Parse()
	events := 5_000_000
	if flag.NArg() > 0 {
		n, err := strconv.Atoi(flag.Arg(0))
		if err != nil || n < 1000 {
			fail(fmt.Errorf("EVENTS must be a number of at least 1000, not %s", flag.Arg(0)))
		}
		events = n
	}
	dir := *keep
	if dir == "" {
		tmp, err := os.MkdirTemp("", "hostbound-bench-")
		if err != nil {
			fail(err)
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	ok, err := bench(dir, events, *runs)
	if err != nil {
		os.RemoveAll(dir)
		fail(err)
	}
	if *check && !ok {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench: error:", err)
	os.Exit(2)
}

// verdictFile is what others are compared with.
const verdictFile = "verdict FILE"

// measurement is a pipeline to measure: commands whose outputs feed the next
// one's input.
type measurement struct {
	name     string
	commands [][]string
	floor    float64 // events/s
	events   int
	times    float64 // how often it may take what verdictFile took, instead of a floor
}

func bench(dir string, events, runs int) (bool, error) {
	bin, err := build(dir)
	if err != nil {
		return false, err
	}
	tool := func(name string, args ...string) []string { return append([]string{filepath.Join(bin, name)}, args...) }
	trace, other := filepath.Join(dir, "trace.sqlite"), filepath.Join(dir, "other.sqlite")
	for seed, path := range map[string]string{"1": trace, "2": other} {
		if err := exec.Command(filepath.Join(bin, "gentrace"), "--events", strconv.Itoa(events), "--seed", seed, "-o", path).Run(); err != nil {
			return false, fmt.Errorf("gentrace: %w", err)
		}
	}
	stream := func(n int) string { return filepath.Join(dir, fmt.Sprintf("stage%d.arrows", n)) }
	previous := trace
	for n, name := range []string{"nsys2arrow", "isolate", "phase"} {
		if _, err := pipeline([][]string{tool(name, previous, "-o", stream(n))}); err != nil {
			return false, err
		}
		previous = stream(n)
	}
	checkpoints := []string{filepath.Join(dir, "raw"), filepath.Join(dir, "phased")}
	for i, name := range []string{"nsys2arrow", "phase"} {
		if _, err := pipeline([][]string{tool(name, trace, "--checkpoint", checkpoints[i])}); err != nil {
			return false, err
		}
	}
	fmt.Printf("%d events, %s; medians of %d runs on %s\n\n", events, size(trace), runs, machine())
	fmt.Printf("| %-28s | wall s | M events/s | peak MiB | floor |\n|%s|-------:|-----------:|---------:|------:|\n", "command", strings.Repeat("-", 30))
	ok, whole := true, time.Duration(0)
	for _, m := range []measurement{
		{"nsys2arrow FILE", [][]string{tool("nsys2arrow", trace)}, 0, events, 0},
		{"isolate STREAM", [][]string{tool("isolate", stream(0))}, floorStage, events, 0},
		{"phase STREAM", [][]string{tool("phase", stream(1))}, floorStage, events, 0},
		{"metrics STREAM", [][]string{tool("metrics", stream(2))}, floorStage, events, 0},
		{"gaps STREAM", [][]string{tool("gaps", stream(2))}, floorGaps, events, 0},
		{"the pipe of all five", [][]string{tool("nsys2arrow", trace), tool("isolate"), tool("phase"), tool("metrics"), tool("verdict")}, floorPipe, events, 0},
		{verdictFile, [][]string{tool("verdict", trace)}, floorVerdict, events, 0},
		{"diff FILE FILE", [][]string{tool("diff", trace, other)}, 0, 2 * events, slowestDiff},
		{"verdict CHECKPOINT", [][]string{tool("verdict", checkpoints[0])}, 0, events, slowestRead},
		{"verdict CHECKPOINT of phase", [][]string{tool("verdict", checkpoints[1])}, 0, events, slowestRead},
	} {
		if m.times > 0 {
			m.floor = float64(m.events) / (m.times * whole.Seconds())
		}
		wall, good, err := measure(m, runs)
		if err != nil {
			return false, err
		}
		if m.name == verdictFile {
			whole = wall
		}
		ok = ok && good
	}
	return ok, nil
}

func build(dir string) (string, error) {
	bin := filepath.Join(dir, "bin") + string(filepath.Separator)
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", bin, "./cmd/...", "./scripts/gentrace").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return bin, nil
}

// cost is what a pipeline took.
type cost struct {
	wall time.Duration
	peak int64 // bytes, of its largest process
}

func measure(m measurement, runs int) (time.Duration, bool, error) {
	var walls []time.Duration
	var peak int64
	for i := range runs + 1 {
		c, err := pipeline(m.commands)
		if err != nil {
			return 0, false, err
		}
		if i > 0 { // the first is to warm up
			walls = append(walls, c.wall)
		}
		peak = max(peak, c.peak)
	}
	slices.Sort(walls)
	wall := walls[len(walls)/2]
	rate := float64(m.events) / wall.Seconds()
	floor, good := "", peak <= ceiling
	if m.floor > 0 && m.events >= leastEvents {
		floor = fmt.Sprintf("%.1f", m.floor/1e6)
		good = good && rate >= m.floor
	}
	if !good {
		floor += " MISSED"
	}
	fmt.Printf("| %-28s | %6.2f | %10.2f | %8.0f | %5s |\n", m.name, wall.Seconds(), rate/1e6, float64(peak)/(1<<20), floor)
	return wall, good, nil
}

// pipeline runs commands as a shell's pipe does, the last one's output thrown
// away.
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

// machine names the processor and the number of them that there are.
func machine() string {
	model := "this machine"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(text), "\n") {
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
