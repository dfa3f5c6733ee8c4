// Bench measures the filters as whole processes on generated traces: events a
// second and peak memory, the median of several runs. With --scale it takes
// several sizes and compares what an event takes in each. With --torch it measures how
// a trace of PyTorch's profiler is read.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
)

// Floors, for a machine with two cores.
const (
	floorPipe    = 1.5e6 // events/s
	floorVerdict = 2.5e6
	floorStage   = 3e6
	floorGaps    = 2e6
	slowestDiff  = 2.2       // times what verdict FILE takes, for two exports
	slowestRead  = 1 / 3.0   // likewise, for a checkpoint
	slowestHost  = 1.4       // times what gaps FILE takes, with rows about host threads
	ceiling      = 512 << 20 // bytes, of any process

	// leastEvents is how many events there must be for the floors to mean
	// anything: below, starting a process is much of what is measured.
	leastEvents = 1_000_000
)

func main() {
	runs := flag.Int("runs", 3, "measured `runs` of each")
	check := flag.Bool("check", false, "fail where a floor is not reached")
	traces := flag.Bool("torch", false, "measure reading a trace of PyTorch's profiler")
	scaled := flag.Bool("scale", false, "compare several sizes")
	ranks := flag.Int("ranks", 2, "`ranks` of the traces of --scale")
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
	ok := false
	if *traces {
		ok, err = torch(dir, sizes[0], *runs)
	} else if *scaled {
		ok, err = scale(dir, sizes, *ranks, *runs)
	} else {
		ok, err = bench(dir, sizes[0], *runs, host)
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
	var sizes []int
	for _, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1000 {
			return nil, fmt.Errorf("EVENTS must be a number of at least 1000, not %s", arg)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench: error:", err)
	os.Exit(2)
}
