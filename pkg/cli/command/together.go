package command

import "github.com/hostbound/hostbound/pkg/cli"

// needs are flags that have no effect without another one, and advice on how to give
// both.
var needs = []struct{ flag, other, advice string }{
	{"append", "runs", "metrics --runs NAME=FILE --append -o runs.parquet"},
	{"fail-worse", "history", "--history runs.parquet"},
	{"last", "history", "--history runs.parquet"},
	{"accept", "history", "--history runs.parquet"},
	{"group-by", "archive", "diff --archive runs.parquet --group-by node"},
	{"replace-baseline", "save-baseline", "name the baseline: --save-baseline NAME"},
}

// excludes are pairs of flags, or of a flag and a value of --by, where one makes the
// other ineffective.
var excludes = []struct{ flag, other, by string }{
	{"brief", "report", ""}, {"brief", "per-step", ""}, {"merge", "runs", ""}, {"targets", "types", ""},
	{"gap", "by", "nvtx"}, {"gap", "by", "graph"}, {"gap", "by", noIsolation},
	{"segment-gap", "by", noIsolation}, {"marker", "by", noIsolation}, {"strict", "by", noIsolation},
}

// checkTogether refuses flags that have no effect with, or without, others.
func checkTogether(c *cli.Call) error {
	for _, n := range needs {
		if c.IsSet(n.flag) && !c.IsSet(n.other) {
			return cli.Misuse("--"+n.flag+" without --"+n.other, n.advice)
		}
	}
	for _, x := range excludes {
		if c.IsSet(x.flag) && c.IsSet(x.other) && (x.by == "" || c.String(x.other) == x.by) {
			text := "--" + x.flag + " has no effect with --" + x.other
			if x.by != "" {
				text += " " + x.by
			}
			return cli.Misuse(text, "leave one of them out")
		}
	}
	return nil
}
