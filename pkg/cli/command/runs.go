package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// sides returns the runs of baseline and target, each as its files. An argument is a
// run; with --baseline, all arguments are runs of the target. If there is only one run,
// target is nil. A run with nil files is standard input.
func (p *Plan) sides(kept *baselines) (baseline, target [][]string, err error) {
	a, b := p.Strings("baseline"), p.Strings("target")
	if len(a)+len(b) == 0 {
		switch len(p.Files) {
		case 0:
			return [][]string{nil}, nil, nil
		case 1:
			a = p.Files
		case 2:
			a, b = p.Files[:1], p.Files[1:]
		default:
			return nil, nil, cli.Misuse(p.Name+" takes one run or two",
				"several files of a run: "+p.Name+" a0.sqlite,a1.sqlite b0.sqlite,b1.sqlite; repetitions: --baseline a1.sqlite --baseline a2.sqlite --target …")
		}
	} else if len(b) == 0 && len(p.Files) > 0 {
		b = p.Files
	} else if len(p.Files) > 0 || len(a) == 0 {
		return nil, nil, cli.Misuse("--baseline and --target take all runs of their sides", p.Name+" --baseline a1.sqlite --baseline a2.sqlite --target b1.sqlite --target b2.sqlite")
	}
	var all []string
	for _, arg := range a {
		named, err := kept.named(arg)
		if err != nil {
			return nil, nil, err
		}
		if named == nil {
			named = []string{arg}
		}
		all = append(all, named...)
	}
	if baseline, err = runsOf(all); err != nil {
		return nil, nil, err
	}
	target, err = runsOf(b)
	return baseline, target, err
}

// checkRuns refuses files that cannot be read, before any is read.
func checkRuns(runs ...[]string) error {
	for _, files := range runs {
		if fromStdin(files) {
			continue
		}
		if err := source.Check(files); err != nil {
			return err
		}
	}
	return nil
}

// runsOf returns the files of each run.
func runsOf(args []string) (runs [][]string, err error) {
	for _, arg := range args {
		files, err := filesOf(arg)
		if err != nil {
			return nil, err
		}
		runs = append(runs, files)
	}
	return runs, checkRepeats(runs)
}

// checkRepeats refuses a file that is in several runs of a side: there would seem to be
// no variation from start to start.
func checkRepeats(runs [][]string) error {
	for k, run := range runs {
		for _, file := range run {
			for _, other := range slices.Concat(runs[:k]...) {
				if cli.SameFile(file, other) {
					return cli.Misuse(other+" and "+file+" are the same file", "a repetition is another start of the engine: give each once")
				}
			}
		}
	}
	return nil
}

// onBoth returns the files that are on both sides.
func onBoth(baseline, target [][]string) (files []string) {
	for _, file := range slices.Concat(target...) {
		if slices.ContainsFunc(slices.Concat(baseline...), func(other string) bool { return cli.SameFile(file, other) }) {
			files = append(files, file)
		}
	}
	return files
}

// filesOf returns the files that an argument names: an existing file with that very
// name, else a comma-separated list of names and patterns.
func filesOf(arg string) (files []string, err error) {
	if _, err := os.Lstat(arg); err == nil || arg == "-" {
		return []string{arg}, nil
	}
	for part := range strings.SplitSeq(arg, ",") {
		if _, err := os.Lstat(part); err == nil || !strings.ContainsAny(part, "*?[") {
			files = append(files, part)
			continue
		}
		found, err := filepath.Glob(part)
		if err != nil || len(found) == 0 {
			return nil, cli.Misuse("no file matches "+part, "quote the pattern, and check the folder")
		}
		files = append(files, found...)
	}
	return files, nil
}

// sameSource refuses runs that different profilers recorded: each slows the host down
// in its own way, and has its own names for ranges and calls.
func sameSource(baseline, target []*source.Input) error {
	sources := func(inputs []*source.Input) (all []string) {
		for _, in := range inputs {
			if in.Events == nil {
				continue
			}
			for _, r := range in.Events.Header().Reports {
				all = append(all, r.Source)
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	a, b := sources(baseline), sources(target)
	if len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) {
		return &event.Error{
			Msg:    "baseline and target were recorded by different profilers, " + strings.Join(a, ", ") + " and " + strings.Join(b, ", ") + ": their different overheads would look like a change",
			Advice: "record both with the same profiler; if both are of one run, compare the gaps reports of the two traces",
		}
	}
	return nil
}
