package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Largest time per event in a larger trace, as a multiple of that in the first one.
const (
	slowestVerdict = 1.05
	slowestOther   = 1.15
)

// cScan reads the columns that nsys2arrow reads of the large tables, with SQLite's own
// program. SQLite cannot be faster.
const cScan = `SELECT total(start), total("end"), total(globalPid), total(deviceId), total(streamId), total(correlationId), total(graphNodeId), total(shortName), total(demangledName), total(mangledName) FROM CUPTI_ACTIVITY_KIND_KERNEL;
SELECT total(start), total("end"), total(globalTid), total(correlationId), total(nameId), total(eventClass) FROM CUPTI_ACTIVITY_KIND_RUNTIME;
SELECT total(start), total("end"), total(globalTid), total(eventType), total(textId), total(domainId), total(length(text)), total(length(jsonText)) FROM NVTX_EVENTS;`

// scale measures the filters on traces of several sizes, one after the other.
func scale(dir, bin string, sizes []int, ranks, runs int) (bool, error) {
	fmt.Printf("%d ranks; medians of %d runs on %s; x: wall and CPU time of an event, by those of the first size\n", ranks, runs, machine())
	first, ok := map[string]cost{}, true
	for _, events := range sizes {
		trace, begin := filepath.Join(dir, "trace.sqlite"), time.Now()
		if err := generate(bin, trace, events, ranks, 1); err != nil {
			return false, err
		}
		fmt.Printf("\n%d events, %s, made at %.2f M events/s\n\n", events, size(trace), float64(events)/1e6/time.Since(begin).Seconds())
		fmt.Printf("| %-24s | wall s |  CPU s | peak MiB | x wall | x CPU | |\n|%s|-------:|-------:|---------:|-------:|------:|---|\n", "command", strings.Repeat("-", 26))
		for _, m := range scaleMeasurements(bin, dir, trace) {
			if m.commands == nil {
				continue
			}
			c, err := median(m.commands, runs)
			if err != nil {
				return false, err
			}
			if events == sizes[0] {
				first[m.name] = c
			}
			ok = printScale(m, c, first[m.name], float64(events)/float64(sizes[0])) && ok
		}
		if err := os.Remove(trace); err != nil {
			return false, err
		}
	}
	return ok, nil
}

// scaleMeasurements returns what is measured for each size. times limits the time per
// event, as a multiple of that of the first size; 0 for no limit.
func scaleMeasurements(bin, dir, trace string) []measurement {
	checkpoint := filepath.Join(dir, "checkpoint")
	all := []measurement{
		{name: verdictFile, commands: [][]string{tool(bin, "verdict", trace)}, times: slowestVerdict},
		{name: "gaps FILE", commands: [][]string{tool(bin, "gaps", trace)}, times: slowestOther},
		{name: "diff FILE FILE", commands: [][]string{tool(bin, "diff", trace, trace)}, times: slowestOther},
		{name: "nsys2arrow FILE", commands: [][]string{tool(bin, "nsys2arrow", trace)}, times: slowestOther},
		{name: "nsys2arrow --checkpoint", commands: [][]string{{"sh", "-c", `rm -rf "$2" && "$0" nsys2arrow "$1" --checkpoint "$2" >/dev/null`, filepath.Join(bin, binary), trace, checkpoint}}, times: slowestOther},
		{name: "the pipe of all five", commands: [][]string{tool(bin, "nsys2arrow", trace), tool(bin, "isolate"), tool(bin, "phase"), tool(bin, "metrics"), tool(bin, "verdict")}, times: slowestOther},
		{name: cScanName, commands: scanOf(trace)},
	}
	return all
}

// scanOf returns the command that runs cScan on a trace, nil if sqlite3 is not installed.
func scanOf(trace string) [][]string {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		return nil
	}
	return [][]string{{program, "-readonly", trace, cScan}}
}

// printScale prints the time of one size, and reports whether it is within the limits.
func printScale(m measurement, c, first cost, events float64) bool {
	wall, cpu := c.wall.Seconds()/first.wall.Seconds()/events, c.cpu.Seconds()/first.cpu.Seconds()/events
	ok := m.times == 0 || wall <= m.times && c.peak <= ceiling
	missed := ""
	if !ok {
		missed = "MISSED"
	}
	fmt.Printf("| %-24s | %6.2f | %6.2f | %8.0f | %6.2f | %5.2f | %s |\n", m.name, c.wall.Seconds(), c.cpu.Seconds(), float64(c.peak)/(1<<20), wall, cpu, missed)
	return ok
}
