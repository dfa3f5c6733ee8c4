// Accuracy measures how far the conclusions of this project can be trusted. It uses
// simulated runs, whose truth is known, and prints the scoreboard as Markdown.
//
//	go run ./scripts/accuracy                       all sections
//	go run ./scripts/accuracy steps --seeds 5       a quick look at one
//	go run ./scripts/accuracy diff --pairs 5 --exports 10
//
// --help lists the sections. --seeds is the number of runs, or pairs of runs, of each
// kind; --pairs and --exports apply to the section diff. The same flags give the same
// output. The latest output, and what it means, is in ACCURACY.md beside this file.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
)

// options are the flags.
type options struct {
	seeds   int // runs of each kind
	first   int // seed number of the first run
	pairs   int // pairs per cell of diff's grid
	exports int // pairs of simulated exports for diff
	only    string
	verbose io.Writer // for remarks on single runs; nil: none
}

// section is one part of the scoreboard.
type section struct {
	name  string
	about string // the question that it answers
	run   func(w io.Writer, o options) error
}

// sections are the parts in the order of printing.
var sections = []section{
	{"steps", "are the steps found those that the engine made?", runSteps},
	{"decode", "does diff get the sign right on decoding without markers?", runDecode},
	{"methods", "is a regression put in the same place whichever way steps are found?", runMethods},
	{"findings", "is what was planted named, and first in the list, and nothing where nothing was?", runFindings},
	{"why", "is what held hosts up named, first, with its idle time, and not where they run on?", runWhy},
	{"diffwhy", "does diff --why say what holds hosts up for longer, with its time, and nothing where equal runs are compared?", runDiffWhy},
	{"whatif", "does a step take what a replay without the planted cause says?", runWhatif},
	{"straggler", "is the rank that is late named, and why, and none where none is?", runStraggler},
	{"waits", "is a late host that is seen in collectives only called host-bound, and only that?", runWaits},
	{"ranks", "does diff say why steps of several ranks that wait for one another are slower?", runRanks},
	{"layers", "are the layers of a model counted?", runLayers},
	{"noise", "is anything flagged on equal runs, whatever the noise?", runNoise},
	{"power", "is a small change of everything found, with the right sign?", runPower},
	{"repeats", "what are several runs a side worth?", runRepeats},
	{"tails", "are slow steps found where the mean is equal?", runTails},
	{"nights", "is a gate on a history of runs green where nothing changed, and red where something did?", runNights},
	{"archive", "are the runs of an archive named that are not as the others, by what is wrong with them, and no others?", runArchive},
	{"verdict", "do the ratios' intervals hold the truth, and is a verdict that could be the other called borderline?", runVerdict},
	{"diff", "are rows flagged where something changed, and only there?", runDiff},
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	o := options{}
	flags.IntVar(&o.seeds, "seeds", 20, "runs, or pairs of runs, of each kind")
	flags.IntVar(&o.first, "first", 0, "number of the first of them: others than those that ACCURACY.md is of")
	flags.IntVar(&o.pairs, "pairs", 100, "sections diff to tails: pairs of each kind; noise: four times as many as in each slice")
	flags.IntVar(&o.exports, "exports", 60, "section diff: pairs of simulated exports")
	flags.StringVar(&o.only, "only", "", "only kinds of runs whose name contains this")
	verbose := flags.Bool("v", false, "say on standard error what went wrong with each run")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: accuracy [SECTION...] [flags]")
		for _, s := range sections {
			fmt.Fprintf(stderr, "  %-10s%s\n", s.name, s.about)
		}
		flags.PrintDefaults()
	}
	chosen, err := parse(flags, args)
	if err != nil {
		return 2
	}
	if *verbose {
		o.verbose = stderr
	}
	for _, s := range sections {
		if len(chosen) > 0 && !slices.Contains(chosen, s.name) {
			continue
		}
		fmt.Fprintf(stdout, "\n## %s: %s\n\n", s.name, s.about)
		if err := s.run(stdout, o); err != nil {
			fmt.Fprintf(stderr, "accuracy: %s: %v\n", s.name, err)
			return 2
		}
	}
	if n := pages.Load(); n > 0 {
		fmt.Fprintf(stdout, "\nOf %d answers of diff, %d have a sentence that their table contradicts.\n", n, contradicting.Load())
	}
	return 0
}

// parse accepts flags and names of sections in any order.
func parse(flags *flag.FlagSet, args []string) (chosen []string, err error) {
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		args = flags.Args()
		if len(args) == 0 {
			break
		}
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == args[0] }) {
			fmt.Fprintf(flags.Output(), "accuracy: no section %q\n", args[0])
			return nil, flag.ErrHelp
		}
		chosen, args = append(chosen, args[0]), args[1:]
	}
	return chosen, nil
}

// forEach calls f for all items, on all processors.
func forEach[T any](items []T, f func(T)) {
	work := make(chan T)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for c := range work {
				f(c)
			}
		})
	}
	for _, c := range items {
		work <- c
	}
	close(work)
	group.Wait()
}
