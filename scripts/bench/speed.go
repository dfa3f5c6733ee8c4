package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

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

// measure prints what a measurement took, and returns its wall time and whether
// it reached its floor.
func measure(m measurement, runs int) (time.Duration, bool, error) {
	c, err := median(m.commands, runs)
	if err != nil {
		return 0, false, err
	}
	rate := float64(m.events) / c.wall.Seconds()
	floor, good := "", c.peak <= ceiling
	if m.floor > 0 && m.events >= leastEvents {
		floor = fmt.Sprintf("%.1f", m.floor/1e6)
		good = good && rate >= m.floor
	}
	if !good {
		floor += " MISSED"
	}
	fmt.Printf("| %-28s | %6.2f | %10.2f | %8.0f | %5s |\n", m.name, c.wall.Seconds(), rate/1e6, float64(c.peak)/(1<<20), floor)
	return c.wall, good, nil
}
