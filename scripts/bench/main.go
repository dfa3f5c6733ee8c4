// Bench measures the filters as whole processes on generated traces: events per second
// and peak memory, the median of several runs. --scale compares the time per event for
// several sizes, --cores for several numbers of processors. --torch measures the reading
// of a PyTorch profiler trace. --profile writes the profile with which the installed
// binary is optimised:
//
//	go run ./scripts/bench --profile scripts/hostbound.pgo
//
// Without Go, it runs what was built elsewhere:
//
//	CGO_ENABLED=0 go build -pgo=scripts/hostbound.pgo -o bin/ ./cmd/hostbound ./scripts/gentrace ./scripts/bench
//	bin/bench --bin bin --cores 1,2,4,8,16
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Limits for a machine with two cores.
const (
	floorPipe    = 1.5e6 // events/s
	floorVerdict = 8e6
	floorStage   = 3e6
	floorGaps    = 2e6
	floorFile    = 4e6       // gaps on an export
	floorDiff    = 5e6       // on two exports, events of both
	floorRead    = 10e6      // on a checkpoint
	slowestScan  = 0.5       // time of verdict FILE, as a multiple of SQLite's C scan
	slowestHost  = 1.4       // time of gaps FILE with rows about host threads, as a multiple of that without
	ceiling      = 512 << 20 // bytes of memory of any process

	// leastEvents is the number of events from which the floors apply. With fewer,
	// starting a process is much of what is measured.
	leastEvents = 1_000_000
)

func main() {
	runs := flag.Int("runs", 3, "measured `runs` of each")
	check := flag.Bool("check", false, "fail where a floor is not reached")
	traces := flag.Bool("torch", false, "measure reading a trace of PyTorch's profiler")
	scaled := flag.Bool("scale", false, "compare several sizes")
	ranks := flag.Int("ranks", 2, "`ranks` of the traces of --scale and --cores")
	profiled := flag.String("profile", "", "measure nothing, and write a profile for the compiler to `file`")
	counts := flag.String("cores", "", "compare these `numbers` of processors, such as 1,2,4")
	built := flag.String("bin", "", "run the commands in `dir`, and build none")
	keep := flag.String("dir", "", "keep the trace and streams in `dir`")
	host := hostRows{}
	flag.IntVar(&host.calls, "calls", 1_000_000, "`rows` of calls of the system's libraries, for gaps with host rows")
	flag.IntVar(&host.switches, "switches", 1_000_000, "`rows` of threads that came to a CPU or left it, likewise")
	flag.IntVar(&host.samples, "samples", 200_000, "`rows` of samples of stacks, likewise")
	flag.Parse()
	sizes, err := sizesOf(flag.Args(), *scaled)
	if *traces && flag.NArg() == 0 {
		sizes = []int{torchEvents}
	}
	if err != nil {
		fail(err)
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
	ok, bin := false, *built
	if bin == "" {
		bin, err = build(dir)
	}
	switch {
	case err != nil:
	case *profiled != "":
		err = profile(dir, bin, *profiled, sizes[0], host)
		ok = true
	case *traces:
		ok, err = torch(dir, bin, sizes[0], *runs)
	case *scaled:
		ok, err = scale(dir, bin, sizes, *ranks, *runs)
	case *counts != "":
		var numbers []int
		if numbers, err = numbersOf(strings.Split(*counts, ","), 1, "--cores"); err == nil {
			ok, err = cores(dir, bin, numbers, sizes[0], *ranks, *runs)
		}
	default:
		ok, err = bench(dir, bin, sizes[0], *runs, host)
	}
	if err != nil {
		os.RemoveAll(dir)
		fail(err)
	}
	if *check && !ok {
		os.Exit(1)
	}
}

// sizesOf returns the numbers of events to measure with.
func sizesOf(args []string, scaled bool) ([]int, error) {
	if len(args) == 0 && scaled {
		return []int{5_000_000, 20_000_000}, nil
	}
	if len(args) == 0 {
		return []int{5_000_000}, nil
	}
	if len(args) > 1 && !scaled {
		return nil, errors.New("more than one size takes --scale")
	}
	return numbersOf(args, 1000, "EVENTS")
}

// numbersOf parses numbers, each at least least; what names them in errors.
func numbersOf(args []string, least int, what string) (numbers []int, err error) {
	for _, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < least {
			return nil, fmt.Errorf("%s must be numbers of at least %d, not %s", what, least, arg)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench: error:", err)
	os.Exit(2)
}
