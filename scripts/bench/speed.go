package main

import (
	"fmt"
	"path/filepath"
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
	times    float64 // how often it may take what another one took, 0 for any; with a floor, both count
	of       string  // that one
}

// What others are compared with, too.
const (
	gapsFile  = "gaps FILE" // with rows about host threads
	cScanName = "SQLite's C scan"
)

// files are what is measured on.
type files struct {
	bin                  string
	trace, other, hosted string    // exports: of two runs, and the first with rows about host threads
	streams              [3]string // of the trace, after each filter
	raw, phased          string    // checkpoints
}

// tool is a command of ours.
func (f *files) tool(name string, args ...string) []string {
	return tool(f.bin, name, args...)
}

// prepare makes the files.
func prepare(dir, bin string, events int, host hostRows) (*files, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	f := &files{
		bin: bin, trace: in("trace.sqlite"), other: in("other.sqlite"), hosted: in("hosted.sqlite"),
		streams: [3]string{in("stage0.arrows"), in("stage1.arrows"), in("stage2.arrows")}, raw: in("raw"), phased: in("phased"),
	}
	for path, seed := range map[string]int{f.trace: 1, f.other: 2, f.hosted: 1} {
		if err := generate(bin, path, events, 2, seed); err != nil {
			return nil, err
		}
	}
	if err := host.add(f.hosted); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		f.tool("nsys2arrow", f.trace, "-o", f.streams[0]), f.tool("isolate", f.streams[0], "-o", f.streams[1]), f.tool("phase", f.streams[1], "-o", f.streams[2]),
		f.tool("nsys2arrow", f.trace, "--checkpoint", f.raw), f.tool("phase", f.trace, "--checkpoint", f.phased),
	} {
		if _, err := pipeline([][]string{args}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// measurements are what is measured.
func (f *files) measurements(events int) []measurement {
	one := func(name string, args ...string) [][]string { return [][]string{f.tool(name, args...)} }
	return []measurement{
		{name: "nsys2arrow FILE", commands: one("nsys2arrow", f.trace), events: events},
		{name: "isolate STREAM", commands: one("isolate", f.streams[0]), floor: floorStage, events: events},
		{name: "phase STREAM", commands: one("phase", f.streams[1]), floor: floorStage, events: events},
		{name: "metrics STREAM", commands: one("metrics", f.streams[2]), floor: floorStage, events: events},
		{name: "gaps STREAM", commands: one("gaps", f.streams[2]), floor: floorGaps, events: events},
		{name: "the pipe of all five", commands: [][]string{f.tool("nsys2arrow", f.trace), f.tool("isolate"), f.tool("phase"), f.tool("metrics"), f.tool("verdict")}, floor: floorPipe, events: events},
		{name: cScanName, commands: scanOf(f.trace), events: events},
		{name: verdictFile, commands: one("verdict", f.trace), floor: floorVerdict, events: events, times: slowestScan, of: cScanName},
		{name: "diff FILE FILE", commands: one("diff", f.trace, f.other), floor: floorDiff, events: 2 * events},
		{name: "verdict CHECKPOINT", commands: one("verdict", f.raw), floor: floorRead, events: events},
		{name: "verdict CHECKPOINT of phase", commands: one("verdict", f.phased), floor: floorRead, events: events},
		{name: gapsFile, commands: one("gaps", f.trace), floor: floorFile, events: events},
		{name: "gaps FILE with host rows", commands: one("gaps", f.hosted), events: events, times: slowestHost, of: gapsFile},
	}
}

func bench(dir, bin string, events, runs int, host hostRows) (bool, error) {
	f, err := prepare(dir, bin, events, host)
	if err != nil {
		return false, err
	}
	fmt.Printf("%d events, %s; with host rows %d calls, %d switches, %d samples; medians of %d runs on %s\n\n",
		events, size(f.trace), host.calls, host.switches, host.samples, runs, machine())
	fmt.Printf("| %-28s | wall s |  CPU s | M events/s | peak MiB | floor |\n|%s|-------:|-------:|-----------:|---------:|------:|\n", "command", strings.Repeat("-", 30))
	walls, ok := map[string]time.Duration{}, true
	for _, m := range f.measurements(events) {
		if m.commands == nil {
			continue
		}
		if wall := walls[m.of]; m.times > 0 && wall > 0 {
			m.floor = max(m.floor, float64(m.events)/(m.times*wall.Seconds()))
		}
		wall, good, err := measure(m, runs)
		if err != nil {
			return false, err
		}
		walls[m.name] = wall
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
	fmt.Printf("| %-28s | %6.2f | %6.2f | %10.2f | %8.0f | %5s |\n", m.name, c.wall.Seconds(), c.cpu.Seconds(), rate/1e6, float64(c.peak)/(1<<20), floor)
	return c.wall, good, nil
}
