package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// verdictFile is the measurement that others are compared with.
const verdictFile = "verdict FILE"

// measurement is a pipeline to measure: the output of each command is the input of the
// next.
type measurement struct {
	name     string
	commands [][]string
	floor    float64 // least events/s, 0 for no limit
	events   int
	times    float64      // limit of wall time, as a multiple of than or of another size; 0 for no limit
	than     *measurement // the measurement before, run in turn with this one; nil if none
}

// cScanName is the measurement that runs in turn with verdict.
const cScanName = "SQLite's C scan"

// files are the inputs of the measurements.
type files struct {
	bin                  string
	trace, other, hosted string    // exports of two runs, and of the first with rows about host threads
	streams              [3]string // streams of the trace after each filter
	raw, phased          string    // checkpoints
}

// tool returns one of our commands with its arguments.
func (f *files) tool(name string, args ...string) []string {
	return tool(f.bin, name, args...)
}

// prepare writes the files.
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

// measurements returns what to measure.
func (f *files) measurements(events int) []measurement {
	one := func(name string, args ...string) [][]string { return [][]string{f.tool(name, args...)} }
	scan := measurement{name: cScanName, commands: scanOf(f.trace), events: events}
	gaps := measurement{name: "gaps FILE", commands: one("gaps", f.trace), floor: floorFile, events: events}
	return []measurement{
		{name: "nsys2arrow FILE", commands: one("nsys2arrow", f.trace), events: events},
		{name: "isolate STREAM", commands: one("isolate", f.streams[0]), floor: floorStage, events: events},
		{name: "phase STREAM", commands: one("phase", f.streams[1]), floor: floorStage, events: events},
		{name: "metrics STREAM", commands: one("metrics", f.streams[2]), floor: floorStage, events: events},
		{name: "gaps STREAM", commands: one("gaps", f.streams[2]), floor: floorGaps, events: events},
		{name: "the pipe of all five", commands: [][]string{f.tool("nsys2arrow", f.trace), f.tool("isolate"), f.tool("phase"), f.tool("metrics"), f.tool("verdict")}, floor: floorPipe, events: events},
		{name: verdictFile, commands: one("verdict", f.trace), floor: floorVerdict, events: events, times: slowestScan, than: &scan},
		{name: "diff FILE FILE", commands: one("diff", f.trace, f.other), floor: floorDiff, events: 2 * events},
		{name: "verdict CHECKPOINT", commands: one("verdict", f.raw), floor: floorRead, events: events},
		{name: "verdict CHECKPOINT of phase", commands: one("verdict", f.phased), floor: floorRead, events: events},
		{name: "gaps FILE with host rows", commands: one("gaps", f.hosted), events: events, times: slowestHost, than: &gaps},
	}
}

func bench(dir, bin string, events, runs int, host hostRows) (bool, error) {
	f, err := prepare(dir, bin, events, host)
	if err != nil {
		return false, err
	}
	fmt.Printf("%d events, %s; with host rows %d calls, %d switches, %d samples; medians of %d runs on %s\n\n",
		events, size(f.trace), host.calls, host.switches, host.samples, runs, machine())
	fmt.Printf("| %-28s | wall s |  CPU s | M events/s | peak MiB | floor | x wall | x CPU |  |\n|%s|-------:|-------:|-----------:|---------:|------:|-------:|------:|--|\n", "command", strings.Repeat("-", 30))
	ok := true
	for _, m := range f.measurements(events) {
		good, err := measure(m, runs)
		if err != nil {
			return false, err
		}
		ok = ok && good
	}
	fmt.Println("\nx: times that of the line above, the median of pairs measured in turn")
	return ok, nil
}

// measure prints a measurement. If that runs in turn with another one, it prints the
// other first. It reports whether both kept their limits.
func measure(m measurement, runs int) (good bool, err error) {
	if m.than == nil || m.than.commands == nil {
		c, err := median(m.commands, runs)
		return err == nil && printSpeed(m, c, "", ""), err
	}
	c, err := inTurn(runs, m.than.commands, m.commands)
	if err != nil {
		return false, err
	}
	good = printSpeed(*m.than, c[0], "", "")
	return printSpeed(m, c[1], fmt.Sprintf("%.2f", c[1].xWall), fmt.Sprintf("%.2f", c[1].xCPU)) && good, nil
}

// printSpeed prints a measurement, with multiples of the one that it ran in turn with,
// and reports whether it kept its limits.
func printSpeed(m measurement, c cost, xWall, xCPU string) bool {
	rate, floor, missed := float64(m.events)/c.wall.Seconds(), "", c.peak > ceiling
	if m.events >= leastEvents {
		missed = missed || rate < m.floor || xWall != "" && c.xWall > m.times
		if m.floor > 0 {
			floor = fmt.Sprintf("%.1f", m.floor/1e6)
		}
	}
	note := ""
	if missed {
		note = "MISSED"
	}
	fmt.Printf("| %-28s | %6.2f | %6.2f | %10.2f | %8.0f | %5s | %6s | %5s | %s |\n", m.name, c.wall.Seconds(), c.cpu.Seconds(), rate/1e6, float64(c.peak)/(1<<20), floor, xWall, xCPU, note)
	return !missed
}
