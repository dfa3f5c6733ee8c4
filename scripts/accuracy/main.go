// Accuracy measures how far the comparison of two runs can be trusted, on pairs
// whose truth is known because they are simulated, and prints the scoreboard as
// Markdown.
//
//	go run ./scripts/accuracy            the scoreboard, about a minute on two cores
//	go run ./scripts/accuracy -pairs 5   a quick look
//
// Per-step samples of two ranks are drawn over a grid: 20 to 400 steps, noise of 2
// to 30 % of an operation, correlation between neighbouring steps from none to
// strong, with and without the outliers of a garbage collector. Some pairs are of
// equal runs; in the others three of twelve operations cost more or less by 1 to
// 100 %. A smaller number of pairs goes the whole way: simulated exports, read,
// isolated, profiled and compared.
//
// Counted are pairs of equal runs with one false alarm or more in any row, changed
// operations that were found with the right sign, and intervals that hold the
// truth; beside it what the rule "the mean differs by more than 50 %" does.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	pairs := flags.Int("pairs", 100, "pairs of equal runs in each cell of the grid")
	exports := flags.Int("exports", 60, "pairs of simulated exports")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	s := newBoard()
	forEach(grid(), func(c cell) {
		s.add(c.equal(*pairs))
		for _, effect := range effects {
			s.add(c.changed(effect, max(1, *pairs/8)))
		}
	})
	var whole tally
	if *exports > 0 {
		var err error
		if whole, err = throughExports(*exports); err != nil {
			fmt.Fprintf(stderr, "accuracy: %v\n", err)
			return 2
		}
	}
	s.print(stdout, whole)
	return 0
}

// forEach calls f for all cells on all processors.
func forEach(cells []cell, f func(cell)) {
	work := make(chan cell)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for c := range work {
				f(c)
			}
		})
	}
	for _, c := range cells {
		work <- c
	}
	close(work)
	group.Wait()
}
