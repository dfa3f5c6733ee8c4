package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Limits for reading a trace of torchEvents events, about 2 GB, on two cores.
const (
	torchEvents   = 7_000_000
	slowestJSON   = 8.0     // s
	slowestGzip   = 10.0    // s
	slowestPython = 1 / 5.0 // share of the time of Python's json.load
)

// torch measures torch2arrow on a trace of one process, a third of whose events are
// Python functions. If Python is installed, it also measures Python's reading of the
// file.
func torch(dir, bin string, events, runs int) (bool, error) {
	trace, err := torchTrace(dir, bin, events)
	if err != nil {
		return false, err
	}
	fmt.Printf("; medians of %d runs on %s\n\n", runs, machine())
	fmt.Printf("| %-24s | wall s |  CPU s | peak MiB | at most |\n|%s|-------:|-------:|---------:|--------:|\n", "command", strings.Repeat("-", 26))
	t := torchTable{binding: events >= torchEvents}
	json, err := median([][]string{tool(bin, "torch2arrow", trace)}, runs)
	if err != nil {
		return false, err
	}
	t.row("torch2arrow FILE.json", json, slowestJSON)
	zipped, err := median([][]string{tool(bin, "torch2arrow", trace+".gz")}, runs)
	if err != nil {
		return false, err
	}
	t.row("torch2arrow FILE.json.gz", zipped, slowestGzip)
	python, err := pipeline([][]string{{"python3", "-c", "import json, sys; json.load(open(sys.argv[1]))", trace}})
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Println("Python's json.load: there is no python3")
		return !t.missed, nil
	}
	if err != nil {
		return false, err
	}
	t.row("Python's json.load", python, 0)
	if share := json.wall.Seconds() / python.wall.Seconds(); share > slowestPython {
		fmt.Printf("torch2arrow takes %.2f of what Python takes: MISSED\n", share)
		t.missed = true
	}
	return !t.missed, nil
}

// torchTable is the printed table, and whether a limit was missed.
type torchTable struct {
	binding bool // the trace is large enough for the limits of time
	missed  bool
}

// row prints the cost of a command, whose limit is most seconds, 0 for none.
func (t *torchTable) row(name string, c cost, most float64) {
	limit := ""
	if most > 0 && t.binding {
		limit = fmt.Sprintf("%.1f", most)
	}
	if most > 0 && (t.binding && c.wall.Seconds() > most || c.peak > ceiling) {
		limit += " MISSED"
		t.missed = true
	}
	fmt.Printf("| %-24s | %6.2f | %6.2f | %8.0f | %7s |\n", name, c.wall.Seconds(), c.cpu.Seconds(), float64(c.peak)/(1<<20), limit)
}

// torchTrace writes a PyTorch profiler trace, plain and compressed (.gz), prints its
// size, and returns the name of the plain one.
func torchTrace(dir, bin string, events int) (string, error) {
	trace := filepath.Join(dir, "trace.json")
	// The simulator counts rows. One in fifty is a range, with 16 functions.
	made := exec.Command(filepath.Join(bin, "gentrace"), "--kineto", "2.7", "--ranks", "1", "--layers", "32",
		"--events", strconv.Itoa(events*68/100), "--functions", "16", "--seed", "1", "-o", trace)
	if out, err := made.CombinedOutput(); err != nil {
		return "", fmt.Errorf("gentrace: %w: %s", err, out)
	}
	if out, err := exec.Command("gzip", "-1", "-k", "-f", trace).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gzip: %w: %s", err, out)
	}
	info, err := os.Stat(trace)
	if err != nil {
		return "", err
	}
	fmt.Printf("%d events, %d MiB of JSON", events, info.Size()>>20)
	return trace, nil
}
