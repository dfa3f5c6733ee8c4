package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// baselineFlags save runs under names that --baseline accepts: NAME is a folder in that
// of --baselines, with a checkpoint per run.
var baselineFlags = []cli.Flag{
	{Name: "save-baseline", Usage: "save the runs of the target, or of the only side, as baseline `NAME`, unless a --fail-on condition is met", Check: checkBaselineName},
	{Name: "replace-baseline", Usage: "let --save-baseline overwrite an existing baseline", Default: false},
	{Name: "baselines", Usage: "`DIR` of saved baselines", Default: filepath.Join(".hostbound", "baselines"), Check: cli.NotEmpty("baselines")},
}

// baselineName matches the names of baselines and keys of tags: valid as a folder on
// every system, not hidden, and not a flag.
var baselineName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)

// baselineRun matches the file names of the runs in a baseline.
var baselineRun = regexp.MustCompile(`^run[0-9]{2,}\.parquet$`)

// checkBaselineName refuses names that are not a visible folder in the baselines'
// folder.
func checkBaselineName(name string) error {
	if !baselineName.MatchString(name) {
		return cli.Misuse("--save-baseline "+name+" is not the name of a baseline", "a name is letters, digits and ._+-, and begins with a letter or digit: main, v1.2")
	}
	return nil
}

// baselines are runs saved under names.
type baselines struct {
	command string // the command that saves them
	dir     string
	save    string // name to save the runs under, "" for none
	replace bool   // an existing baseline of that name may be replaced
}

// named returns the files of a baseline, one run each. It returns nil if arg is not a
// baseline's name but a file, a list or a pattern.
func (b *baselines) named(arg string) (runs []string, err error) {
	if _, err := os.Lstat(arg); err == nil || !baselineName.MatchString(arg) {
		return nil, nil
	}
	entries, err := os.ReadDir(filepath.Join(b.dir, arg))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, b.missing(arg)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".parquet" {
			runs = append(runs, filepath.Join(b.dir, arg, e.Name()))
		}
	}
	return runs, err
}

// holds reports whether a run belongs to a saved baseline.
func (b *baselines) holds(files []string) bool {
	return len(files) == 1 && filepath.Dir(filepath.Dir(files[0])) == filepath.Clean(b.dir)
}

// missing returns an error that lists the existing baselines, for a name that is
// neither a file nor a baseline.
func (b *baselines) missing(name string) error {
	var known []string
	entries, _ := os.ReadDir(b.dir) // empty if there is no folder
	for _, e := range entries {
		if e.IsDir() && baselineName.MatchString(e.Name()) {
			known = append(known, e.Name())
		}
	}
	advice := b.command + " RUN --save-baseline " + name + " makes one"
	if len(known) > 0 {
		advice = "there is " + strings.Join(known, ", ") + "; " + advice
	}
	return cli.Misuse(name+": no such file, and no such baseline in "+b.dir, advice)
}

// check refuses to replace a baseline without leave, or to make one from what can be
// read only once. It is called before the runs are read, and changes nothing.
func (b *baselines) check(runs [][]string) error {
	if b.save == "" {
		return nil
	}
	path := filepath.Join(b.dir, b.save)
	if err := checkpoint.Check(filepath.Join(path, "new")); err != nil { // a path that never exists
		return err
	}
	if _, err := os.Lstat(path); err == nil && !isBaseline(path) {
		return cli.Misuse(path+" exists and is not a baseline", "give another name, or another folder: --baselines DIR")
	} else if err == nil && !b.replace {
		return cli.Misuse("there is a baseline "+b.save+" already", "give --replace-baseline, or another name")
	}
	for _, files := range runs {
		if readOnce(files) {
			return cli.Misuse("--save-baseline reads its runs twice, which a pipe cannot be", "give files")
		}
	}
	return nil
}

// isBaseline reports whether a path is a folder, not a link to one, with nothing in it
// but files that keep writes. So no other folder is ever replaced.
func isBaseline(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(path)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !baselineRun.MatchString(e.Name()) })
}

// keep saves runs under the name of --save-baseline, all or nothing; write writes one
// run. Everything is written to a folder beside it whose name begins with a dot. The
// old baseline is moved there before the new one gets its name: between two renames
// there is no baseline, but never half a one. A signal before that leaves nothing
// behind; a process that is killed leaves the folder.
func (b *baselines) keep(runs [][]string, write func(files []string, path string) error) error {
	dir, name := b.dir, b.save
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, "."+name+".tmp*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	stopRemoving := spill.RemoveOnSignal(tmp)
	path, part := filepath.Join(dir, name), filepath.Join(tmp, "new")
	if err := os.Mkdir(part, 0o755); err != nil {
		return err
	}
	for k, files := range runs {
		if err := write(files, filepath.Join(part, fmt.Sprintf("run%02d.parquet", k))); err != nil {
			stopRemoving()
			return err
		}
	}
	stopRemoving()        // from here on, an old baseline could be lost
	if isBaseline(path) { // --replace-baseline was given
		if err := os.Rename(path, filepath.Join(tmp, "old")); err != nil {
			return err
		}
	}
	return os.Rename(part, path)
}

// saveRun writes a run with its steps and phases as a checkpoint.
func (p *Plan) saveRun(files []string, path string) error {
	in := p.reading(files)
	in.host = hostKinds
	r := p.read(in)
	src, err := r.events(source.Phased)
	if err != nil {
		return err
	}
	return writeCheckpoint(path, src, r.late)
}
