package command

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// sides returns the runs of baseline and target, each as its files; of one run
// alone the target is nil.
// An argument is a run; with --baseline given, all arguments are runs of the target. A run of
// nil files is standard input.
func (c *Context) sides() (baseline, target [][]string, err error) {
	a, b := c.Strings("baseline"), c.Strings("target")
	if len(a)+len(b) == 0 {
		switch len(c.Files) {
		case 0:
			baseline = [][]string{nil}
			return baseline, nil, c.checkBaseline(baseline)
		case 1:
			a = c.Files
		case 2:
			a, b = c.Files[:1], c.Files[1:]
		default:
			return nil, nil, cli.Misuse(c.Name+" takes one run or two",
				"several files of a run: "+c.Name+" a0.sqlite,a1.sqlite b0.sqlite,b1.sqlite; repetitions: --baseline a1.sqlite --baseline a2.sqlite --target …")
		}
	} else if len(b) == 0 && len(c.Files) > 0 {
		b = c.Files
	} else if len(c.Files) > 0 || len(a) == 0 {
		return nil, nil, cli.Misuse("--baseline and --target take all runs of their sides", c.Name+" --baseline a1.sqlite --baseline a2.sqlite --target b1.sqlite --target b2.sqlite")
	}
	if baseline, err = c.baselines(a); err != nil {
		return nil, nil, err
	}
	if target, err = runsOf(b); err != nil {
		return nil, nil, err
	}
	c.warnSame(baseline, target)
	both := slices.Concat(baseline, target)
	if err := cmp.Or(c.Guard(slices.Concat(both...), c.beside(target)), checkRuns(both...)); err != nil {
		return nil, nil, err
	}
	return baseline, target, c.checkBaseline(newest(baseline, target))
}

// newest returns the runs of the target, or of the only side.
func newest(baseline, target [][]string) [][]string {
	if len(target) > 0 {
		return target
	}
	return baseline
}

// baselines returns the files of the runs of the baseline, which may be named ones.
func (c *Context) baselines(args []string) ([][]string, error) {
	var all []string
	for _, arg := range args {
		named, err := c.namedBaseline(arg)
		if err != nil {
			return nil, err
		}
		if named == nil {
			named = []string{arg}
		}
		all = append(all, named...)
	}
	return runsOf(all)
}

// checkRuns refuses files that cannot be read, before the first of them is.
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

// runsOf returns the files of each of some runs.
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

// checkRepeats refuses a file that is in several runs of a side: what differs
// from start to start would seem to be nothing.
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

// warnSame warns of a file that is on both sides: it does not differ from itself.
func (c *Context) warnSame(baseline, target [][]string) {
	for _, file := range slices.Concat(target...) {
		if slices.ContainsFunc(slices.Concat(baseline...), func(other string) bool { return cli.SameFile(file, other) }) {
			c.Warn(file + " is in the baseline and in the target: it is compared with itself")
		}
	}
}

// filesOf returns the files that an argument names: one that is there by this
// very name, or else a list with commas of names and patterns.
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

// sameSource refuses runs that different profilers recorded: each slows the host
// down in its own way, and names ranges and calls after its own habits.
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
			Msg:    "baseline and target were recorded by different profilers, " + strings.Join(a, ", ") + " and " + strings.Join(b, ", ") + ": what they cost the host would seem to be a change",
			Advice: "record both in the same way; of one run, 'gaps' of each trace may be read side by side",
		}
	}
	return nil
}
