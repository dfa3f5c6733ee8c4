package rocpd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Options are the settings of Open.
type Options struct {
	// Progress, if not nil, is called with the file that is being read and the number
	// of its rows read so far.
	Progress func(path string, rows int64)
	// Separate treats files as being of different runs: their clocks are not compared.
	Separate bool
	// Memory is the most bytes that the process may take for rows, 0 for
	// spill.DefaultBudget.
	Memory int64
}

// source is the value of event.Report.Source.
const source = "rocpd"

// domain is the domain of all ranges.
const domain = "roctx"

// Reader reads the events of one or more files. It is an event.Source. A batch is valid
// until the next call of Next.
type Reader struct {
	spill.Reader
	opt   Options
	names *names
	known map[identity]string
}

// identity identifies a process: hash of its machine, pid, and start.
type identity struct {
	node, pid int64
	init      string
}

// Recognise reports whether a file is such a database: nsys exports are SQLite files,
// too.
func Recognise(path string) bool {
	db, err := sqlite.Open(path)
	if err != nil {
		return false
	}
	defer db.Close()
	tables, err := db.Tables()
	for name := range tables {
		if strings.HasPrefix(name, prefix) {
			return err == nil
		}
	}
	return false
}

// Open reads files. Their rows are in the reader's store until Close.
func Open(paths []string, opt Options) (*Reader, error) {
	opt.Memory = cmp.Or(opt.Memory, spill.DefaultBudget)
	r := &Reader{Reader: spill.Reader{Files: paths, Store: spill.NewStore(opt.Memory / 4)}, opt: opt, known: map[identity]string{}}
	r.names = &names{numbers: map[nameKey]int32{}, sizes: map[int32]int32{}, limit: opt.Memory / 4, dict: event.Dict{Offsets: []int32{0}}}
	r.Head = event.Header{Stage: event.Readers[source], Columns: event.BaseCols, Domains: []string{domain}}
	var nodes []int64
	for n, path := range paths {
		f := &file{r: r, path: path, number: n, info: event.Report{File: filepath.Base(path), Recorder: event.Recorder{Source: source}, Platform: event.AMD, Ranks: []int32{}}}
		if err := f.load(); err != nil {
			r.Close()
			return nil, err
		}
		r.number(f)
		f.describe()
		nodes = append(nodes, f.node)
		f.info.Offset = f.origin // until the first file's is known
		r.Head.Reports = append(r.Head.Reports, f.info)
	}
	if err := r.together(nodes); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// number numbers the ranks of a file, following those of earlier files. Ranks are its
// processes with kernels, ordered by lowest device and pid.
func (r *Reader) number(f *file) {
	slices.SortFunc(f.processes, func(a, b *process) int {
		return cmp.Or(cmp.Compare(a.lowest(), b.lowest()), cmp.Compare(a.pid, b.pid))
	})
	next := int32(r.Head.NumRanks())
	for _, p := range f.processes {
		if p.Kinds[event.Kernel] > 0 {
			p.rank, next = next, next+1
		}
		if p.rows.Rows > 0 {
			r.Parts = append(r.Parts, spill.Part{Report: f.number, Runs: []*spill.Run{p.rows}, Row: p.emit})
		}
	}
}

// together aligns the clocks of files. It returns an error unless the files of one
// machine are of one run: the spans of their GPU work must overlap, directly or by way
// of others.
func (r *Reader) together(nodes []int64) error {
	reports, same := r.Head.Reports, []int{}
	zero := reports[0].Offset
	for i := range reports {
		if rep := &reports[i]; nodes[i] == nodes[0] && !r.opt.Separate {
			rep.Offset -= zero
			if rep.Shift(rep.Offset); rep.GPUStart != nil {
				same = append(same, i)
			}
		} else if rep.Offset = 0; i > 0 && !r.opt.Separate {
			rep.Warnings = append(rep.Warnings, "it was recorded on another machine than the first file: their clocks cannot be compared")
		}
	}
	slices.SortFunc(same, func(i, k int) int { return cmp.Compare(*reports[i].GPUStart, *reports[k].GPUStart) })
	for end, n := int64(0), 0; n < len(same); n++ {
		rep := &reports[same[n]]
		if n > 0 && *rep.GPUStart > end {
			return &event.Error{
				Msg:    fmt.Sprintf("the GPU work in %s and in %s does not overlap in time: they are not of one run", r.Files[same[n-1]], r.Files[same[n]]),
				Advice: "give the files of one run; --separate where this is meant",
			}
		}
		end = max(end, *rep.GPUEnd)
	}
	return nil
}

// problem returns an error that names the file and has advice.
func problem(path, msg, advice string) error {
	return &event.Error{Msg: path + ": " + msg, Advice: advice}
}
