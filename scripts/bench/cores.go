package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// mostSerial is the largest share of the work that one processor may do while the others
// wait.
const mostSerial = 0.1

// cores measures commands that read an export with several numbers of processors. By
// Amdahl's law, the serial part is what remains of the time on one processor when n of
// them share the rest evenly.
func cores(dir, bin string, counts []int, events, ranks, runs int) (bool, error) {
	trace := filepath.Join(dir, "trace.sqlite")
	if err := generate(bin, trace, events, ranks, 1); err != nil {
		return false, err
	}
	fmt.Printf("%d events, %d ranks, %s; medians of %d runs on %s\n\n", events, ranks, size(trace), runs, machine())
	if scan := scanOf(trace); scan != nil {
		c, err := median(scan, runs)
		if err != nil {
			return false, err
		}
		fmt.Printf("SQLite's C scan: %.2f s, CPU %.2f s\n\n", c.wall.Seconds(), c.cpu.Seconds())
	}
	fmt.Printf("| %-15s | processors | wall s |  CPU s | peak MiB |  gain | serial |\n|%s|-----------:|-------:|-------:|---------:|------:|-------:|\n", "command", strings.Repeat("-", 17))
	ok := true
	for _, name := range []string{"verdict", "nsys2arrow", "gaps"} {
		var first cost
		for k, n := range counts {
			c, err := median([][]string{append([]string{"env", "GOMAXPROCS=" + strconv.Itoa(n)}, tool(bin, name, trace)...)}, runs)
			if err != nil {
				return false, err
			}
			if k == 0 {
				first = c
			}
			gain, serial := first.wall.Seconds()/c.wall.Seconds(), ""
			if more := float64(n) / float64(counts[0]); more > 1 {
				part := (1/gain - 1/more) / (1 - 1/more)
				serial = fmt.Sprintf("%.0f %%", 100*part)
				if name == "verdict" && events >= leastEvents && part > mostSerial {
					serial += " MISSED"
					ok = false
				}
			}
			fmt.Printf("| %-15s | %10d | %6.2f | %6.2f | %8.0f | %5.2f | %6s |\n", name+" FILE", n, c.wall.Seconds(), c.cpu.Seconds(), float64(c.peak)/(1<<20), gain, serial)
		}
	}
	return ok, nil
}
