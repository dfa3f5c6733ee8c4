package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// historyFlags make verdict compare a run with earlier ones.
var historyFlags = []cli.Flag{
	{Name: "history", Usage: "say whether the run is worse than the earlier runs in `FILE`, which metrics --runs wrote", File: cli.Reads, Group: manyRunsGroup},
	{Name: "last", Usage: "compare with the last `N` runs", Default: metric.DefaultLast, Check: checkCount("last", 1), Group: manyRunsGroup},
	{Name: "accept", Usage: "accept the level since run `NAME` as normal; earlier runs then count only for run-to-run variation; repeatable", Default: []string{}, Group: manyRunsGroup},
	{Name: "fail-worse", Usage: "end with status 4 if the run is worse than those before it", Default: false, Group: manyRunsGroup},
}

// manyRunsGroup is the heading of these flags.
const manyRunsGroup = "Many runs"

// statusWorse is the exit status of verdict --fail-worse if the run is worse.
const statusWorse = 4

// runsFlag, appendFlag and tagFlag make rows of many runs.
var (
	runsFlag   = cli.Flag{Name: "runs", Usage: "take each FILE or NAME=FILE (a trace, a stream, or metric rows) as a run, and write a row for each run, scope and metric; rows of an earlier --runs FILE are kept", Default: false, Group: manyRunsGroup}
	appendFlag = cli.Flag{Name: "append", Usage: "with --runs, append the rows to the file of -o, all or none; a run that is already in it is not added again", Default: false, Group: manyRunsGroup}
	tagFlag    = cli.Flag{Name: "tag", Usage: "tag the run with `KEY=VALUE`, such as version=1.2 or commit=4f1c9a; repeatable", Default: []string{}, Check: checkTag, Group: manyRunsGroup}
)

// checkTag refuses anything but KEY=VALUE with a value on one line.
func checkTag(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || !baselineName.MatchString(key) || checkLabel(value) != nil {
		return cli.Misuse("--tag "+text+": want KEY=VALUE", "for example --tag commit=4f1c9a")
	}
	return nil
}

// describe adds the user's label and tags to a result.
func (p *Plan) describe(res *metric.Result) {
	if label := p.String("label"); label != "" {
		res.Label = label
	}
	for _, tag := range p.Strings("tag") {
		if res.Tags == nil {
			res.Tags = map[string]string{}
		}
		key, value, _ := strings.Cut(tag, "=")
		res.Tags[key] = value
	}
}

// manyRuns is the job of metrics --runs: each file is a run.
type manyRuns struct {
	*Plan
	runs  [][]string // files of each run
	names []string
}

// planRuns plans metrics --runs.
func planRuns(p *Plan) (*manyRuns, error) {
	if len(p.Files) == 0 {
		return nil, cli.Misuse("--runs takes files", "metrics --runs nightly1=a.sqlite nightly2=b.metrics.arrows -o runs.parquet")
	}
	m := &manyRuns{Plan: p}
	for _, arg := range p.Files {
		name, files, err := runOf(arg)
		if err != nil {
			return nil, err
		}
		m.runs, m.names = append(m.runs, files), append(m.names, name)
	}
	return m, cmp.Or(p.Guard(slices.Concat(m.runs...)), checkRuns(m.runs...))
}

// run measures each run and writes the rows.
func (m *manyRuns) run() (int, error) {
	t, err := m.measured()
	if err != nil {
		return 0, err
	}
	return 0, m.writeRuns(t)
}

// measured returns the rows of all runs, in argument order. Rows of an earlier --runs
// file are taken over. Runs with the same name are numbered, since a name identifies
// the rows of one run.
func (m *manyRuns) measured() (*table.Table, error) {
	t, seen := metric.New(), map[string]int{}
	for k, files := range m.runs {
		if old := m.earlier(files); old != nil {
			if err := metric.Extend(t, old); err != nil {
				return nil, err
			}
			continue
		}
		res, err := planMeasurement(m.Plan, files).result()
		if err != nil {
			return nil, err
		}
		name := m.names[k]
		if res.Label != "" && !strings.Contains(m.Files[k], "=") {
			name = res.Label
		}
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s #%d", name, seen[name])
		}
		metric.Append(t, name, res)
	}
	return t, nil
}

// earlier returns the rows of an earlier --runs file, nil if it is another file.
func (p *Plan) earlier(files []string) *table.Table {
	if len(files) != 1 || fromStdin(files) || cli.IsStream(files[0]) {
		return nil
	}
	if ext := extension(files[0]); ext != ".parquet" && ext != ".arrows" {
		return nil
	}
	t, err := p.readRows(files[0], "", "")
	if err != nil || t.Schema != metric.RunsSchema {
		return nil
	}
	return t
}

// runOf returns the name and the files of an argument of --runs.
func runOf(arg string) (name string, files []string, err error) {
	name, rest, named := strings.Cut(arg, "=")
	if _, err := os.Lstat(arg); err == nil || !named {
		named, rest = false, arg
	}
	if files, err = filesOf(rest); err != nil {
		return "", nil, err
	}
	if named {
		return name, files, checkLabel(name)
	}
	name, _, _ = strings.Cut(filepath.Base(files[0]), ".")
	return name, files, nil
}

// history is what a run is compared with.
type history struct {
	runs []metric.HistoryRun // nil if there is no history
	opt  metric.HistoryOptions
}

// compare compares a run with those before it. It returns nil if there is no history.
func (h *history) compare(res *metric.Result) *metric.HistoryResult {
	if h.runs == nil {
		return nil
	}
	run := metric.Of(res.Label, res)
	return metric.Examine(metric.Before(h.runs, run), run, h.opt)
}

// historyOf reads the file of --history.
func historyOf(p *Plan) (*history, error) {
	h := &history{opt: metric.HistoryOptions{Last: p.Int("last"), Accept: p.Strings("accept")}}
	path := p.String("history")
	if path == "" {
		return h, nil
	}
	const advice = "metrics --runs NAME=FILE --append -o runs.parquet adds a run, of a trace, stream, checkpoint or metric rows, to the rows of a history"
	t, err := p.readRuns(path, advice)
	if err != nil {
		return nil, err
	}
	if h.runs, err = metric.Read(t); err != nil {
		return nil, notThis(path, advice)(err)
	}
	for _, name := range h.opt.Accept {
		if name != p.String("label") && !slices.ContainsFunc(h.runs, func(r metric.HistoryRun) bool { return r.Name == name }) {
			last := ""
			if len(h.runs) > 0 {
				last = ", the last of which is " + h.runs[len(h.runs)-1].Name
			}
			return nil, cli.Misuse("--accept "+name+": no such run in "+path, "give the name of the run with which the level began, as --runs NAME=FILE named it"+last)
		}
	}
	return h, nil
}

// readRuns reads a file that metrics --runs wrote.
func (p *Plan) readRuns(path, advice string) (*table.Table, error) {
	t, err := p.readRows(path, "rows of runs", advice)
	if err == nil && t.Schema == metric.Schema {
		err = cli.Misuse(path+": the metric rows of one run, not rows of runs", advice)
	}
	return t, err
}

// writeRuns writes rows of runs; with --append, after those already in the output.
// Meanwhile the folder is locked, if its file system can: two jobs that append at once
// must not lose rows.
func (m *manyRuns) writeRuns(t *table.Table) error {
	path := m.OutputPath()
	if !m.Bool("append") {
		if err := m.losesRuns(path, t); err != nil {
			return err
		}
		return m.out.table(t)
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		defer dir.Close() // releases the lock
		if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
			m.Log("no lock on " + filepath.Dir(path) + ": two jobs must not append at once")
		}
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return m.out.table(t)
	}
	old, err := m.readRows(path, "rows of runs", appendAdvice)
	if err != nil {
		return err
	}
	all := metric.New()
	if err := metric.Extend(all, old); err != nil {
		return notThis(path, appendAdvice)(err)
	}
	known, err := metric.Add(all, t)
	if err != nil {
		return err
	}
	for _, k := range known {
		as := ""
		if k[0] != k[1] {
			as = ", as " + k[1]
		}
		m.Log(warningPrefix + path + " has the run " + k[0] + " already" + as + ": it is not added again")
	}
	return m.out.table(all)
}

// losesRuns refuses to overwrite a file whose runs the new rows lack: forgetting
// --append must not replace months of history by one night.
func (p *Plan) losesRuns(path string, t *table.Table) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	old, err := p.readRows(path, "rows of runs", appendAdvice)
	if err != nil {
		return nil // any other file loses nothing that --append would keep
	}
	had, err := metric.Read(old)
	if err != nil {
		return nil
	}
	have, err := metric.Read(t)
	if err != nil {
		return err
	}
	had = slices.DeleteFunc(had, func(r metric.HistoryRun) bool {
		return slices.ContainsFunc(have, func(n metric.HistoryRun) bool { return n.Name == r.Name })
	})
	if len(had) == 0 {
		return nil
	}
	return cli.Misuse(fmt.Sprintf("%s holds %s that this would lose, the last of which is %s", path, report.Counted(len(had), "run"), had[len(had)-1].Name),
		"--append adds to them; to begin anew, remove the file first")
}

// appendAdvice is the advice if --append finds another kind of file.
const appendAdvice = "--append adds to what metrics --runs wrote: give another file to -o"

// checkAppend refuses --append without a file to add to.
func (p *Plan) checkAppend() error {
	switch path := p.OutputPath(); {
	case !p.Bool("append"):
		return nil
	case cli.IsStream(path) || extension(path) != ".parquet" && extension(path) != ".arrows":
		return cli.Misuse("--append needs a file to add to", "metrics --runs NAME=FILE --append -o runs.parquet")
	}
	return nil
}
