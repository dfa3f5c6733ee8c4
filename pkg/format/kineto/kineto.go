package kineto

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Options are the settings of Open.
type Options struct {
	// Progress, if not nil, is called with the file that is being read and the number
	// of its events read so far.
	Progress func(path string, events int64)
	// Separate treats traces as being of different runs: their clocks are not compared.
	Separate bool
	// Partial reads what there is of a trace that was cut short.
	Partial bool
	// Python also makes ranges from calls of Python functions.
	Python bool
	// Memory is the most bytes that the process may take for rows, 0 for
	// spill.DefaultBudget. A quarter of it holds rows, the others are in a temporary
	// file; names take at most another quarter.
	Memory int64
}

// Reader reads the events of one or more traces. It is an event.Source. A batch is
// valid until the next call of Next.
type Reader struct {
	spill.Reader
	opt  Options
	docs []*document
}

// Open reads traces, each of one process. Their rows are in the reader's store until
// Close.
func Open(paths []string, opt Options) (*Reader, error) {
	opt.Memory = cmp.Or(opt.Memory, spill.DefaultBudget)
	r := &Reader{opt: opt, Reader: spill.Reader{Store: spill.NewStore(opt.Memory / 4)}}
	r.Head.Stage, r.Head.Columns = event.Readers["torch"], event.BaseCols
	if err := r.load(paths); err != nil {
		r.Close()
		return nil, err
	}
	for _, d := range r.docs {
		d.info.Warnings = append(d.info.Warnings, unrecorded)
	}
	for _, d := range r.docs {
		d.info.Shift(d.info.Offset)
		r.Head.Reports = append(r.Head.Reports, d.info)
		r.Files = append(r.Files, d.path)
	}
	for n, d := range r.docs {
		r.Parts = append(r.Parts, spill.Part{Report: n, Runs: slices.Concat(d.rows.host, d.rows.gpu), Row: newEmitter(d, &r.Head.Reports[n]).row})
	}
	r.Head.Domains = []string{atenDomain, pythonDomain, torchDomain}
	return r, nil
}

// load reads the files and determines their headers, ranks and clocks.
func (r *Reader) load(paths []string) error {
	for _, path := range paths {
		d, err := load(path, r.Store, &r.opt)
		if err != nil {
			return err
		}
		if err := d.describe(); err != nil {
			return explain(path, err)
		}
		r.docs = append(r.docs, d)
	}
	if err := r.rank(); err != nil {
		return err
	}
	r.together()
	return nil
}

// rank numbers the ranks of traces with GPU work: by what the trace states, else by its
// name, else by the lowest free number, in the order of the traces. If traces of
// several processes state the same number and their names show different places, as
// those of data-parallel replicas do, all traces are numbered in the order of these
// places.
func (r *Reader) rank() error {
	ranks := map[int32][]*document{}
	var unnamed []*document
	for _, d := range r.docs {
		if !d.active {
			continue
		}
		n, ok := d.saysRank()
		if !ok {
			unnamed = append(unnamed, d)
			continue
		}
		for _, other := range ranks[n] {
			if r.parts(other, d) {
				continue
			}
			if placeOfName(other.path) == nil || placeOfName(d.path) == nil {
				return d.sameRank(n, other)
			}
			return r.rankByPlace(n)
		}
		ranks[n] = append(ranks[n], d)
	}
	return r.number(ranks, unnamed)
}

// rankByPlace numbers all traces in the order of the places in their names, since
// several processes state rank n. It is an error if a name has no place, or two
// processes have the same one.
func (r *Reader) rankByPlace(n int32) error {
	active := slices.DeleteFunc(slices.Clone(r.docs), func(d *document) bool { return !d.active })
	places := map[*document][]int{}
	for _, d := range active {
		if places[d] = placeOfName(d.path); places[d] == nil {
			return problem(d.path, fmt.Sprintf("several traces have rank %d, and the name of this one gives no replica or stage", n), "name it like the others")
		}
	}
	slices.SortStableFunc(active, func(a, b *document) int { return slices.Compare(places[a], places[b]) })
	for i, d := range active {
		for _, other := range active[:i] {
			if slices.Equal(places[d], places[other]) && !r.parts(other, d) {
				return d.sameRank(n, other)
			}
		}
	}
	active[0].info.Warnings = append(active[0].info.Warnings,
		fmt.Sprintf("several processes have rank %d: ranks are numbered by the replicas and stages in the file names", n))
	return r.number(map[int32][]*document{}, active)
}

// sameRank refuses a trace with the rank of a trace of another process or from the same
// time.
func (d *document) sameRank(n int32, other *document) error {
	return problem(d.path, fmt.Sprintf("it has rank %d, like %s", n, other.path),
		"ranks that write to one path overwrite each other's traces: give each its own; traces of one rank must be of one process and not overlap in time")
}

// number gives traces without a known number the lowest free one, or the rank whose
// traces they are parts of. (Processes of several containers may have the same pid.)
// Then it sorts all traces by rank.
func (r *Reader) number(ranks map[int32][]*document, unnamed []*document) error {
	for _, d := range unnamed {
		for _, n := range slices.Sorted(maps.Keys(ranks)) {
			if i := slices.IndexFunc(ranks[n], d.copyOf); i >= 0 {
				return problem(d.path, "it holds the same rows as "+ranks[n][i].path, "give each trace once")
			}
		}
		n := r.rankFor(d, ranks)
		ranks[n] = append(ranks[n], d)
	}
	for n, docs := range ranks {
		for _, d := range docs {
			d.info.Ranks[0], d.info.RankFacts[0].Rank = n, n
		}
	}
	slices.SortStableFunc(r.docs, func(a, b *document) int {
		return cmp.Or(cmp.Compare(a.rankOr(), b.rankOr()), cmp.Compare(a.began(), b.began()))
	})
	return nil
}

// rankFor returns the rank of a trace that states none.
func (r *Reader) rankFor(d *document, ranks map[int32][]*document) int32 {
	other := func(part *document) bool { return !r.parts(part, d) }
	for _, n := range slices.Sorted(maps.Keys(ranks)) {
		if !slices.ContainsFunc(ranks[n], other) {
			return n
		}
	}
	free := int32(0)
	for ranks[free] != nil {
		free++
	}
	return free
}

// saysRank returns the rank that a trace, or else its name, states.
func (d *document) saysRank() (int32, bool) {
	if d.head.ranked {
		return d.head.rank, true
	}
	return rankOfName(d.path)
}

// copyOf reports whether two traces of one process hold the same rows.
func (d *document) copyOf(e *document) bool {
	process, _ := d.counts.process()
	other, _ := e.counts.process()
	return process != "" && process == other && d.began() == e.began() && d.ended() == e.ended() &&
		d.counts.rows == e.counts.rows && d.counts.Busy == e.counts.Busy
}

// parts reports whether two traces are parts of one rank: of the same process and
// device, one after the other. The profiler's schedule writes a trace per cycle; the
// time between them was not recorded.
func (r *Reader) parts(a, b *document) bool {
	if a.began() > b.began() {
		a, b = b, a
	}
	process, _ := a.counts.process()
	other, _ := b.counts.process()
	return !r.opt.Separate && process != "" && process == other && a.counts.device == b.counts.device &&
		a.info.Origin != 0 && b.info.Origin != 0 && a.ended() <= b.began()
}

// began returns when the first row of a trace starts, in ns by its own clock.
func (d *document) began() int64 { return d.counts.starts.Start + d.head.base }

// ended returns when its last row starts or its GPU work ends, in ns by its own clock.
func (d *document) ended() int64 { return max(d.counts.Busy.End, d.counts.starts.End) + d.head.base }

// rankOr returns the number of the rank, or a number greater than any rank's if it has
// none.
func (d *document) rankOr() int64 {
	if d.active {
		return int64(d.info.Ranks[0])
	}
	return 1 << 32
}

// together aligns the clocks of the traces.
func (r *Reader) together() {
	if len(r.docs) < 2 || r.opt.Separate {
		return
	}
	if slices.ContainsFunc(r.docs, func(d *document) bool { return d.info.Origin == 0 }) {
		for _, d := range r.docs {
			d.info.Warnings = append(d.info.Warnings, "not all traces state their base time: their clocks cannot be compared")
		}
		return
	}
	said, agree := align(r.docs)
	if agree {
		r.docs[0].info.Notes, said = append(r.docs[0].info.Notes, said), ""
	}
	for _, said := range []string{said, absent(r.docs)} {
		if said != "" {
			r.docs[0].info.Warnings = append(r.docs[0].info.Warnings, said)
		}
	}
}

// absent returns a warning if ranks of the run are missing, or if the traces state runs
// of different sizes; "" otherwise. docs are in rank order.
func absent(docs []*document) string {
	ranks, worlds := 0, map[int]bool{}
	for _, of := range byRank(docs) {
		if of[0].active {
			ranks++
			worlds[of[0].head.world] = true
		}
	}
	sizes := slices.Sorted(maps.Keys(worlds))
	switch {
	case ranks < 2 || sizes[0] == 0: // a single rank is no sign that others are missing
		return ""
	case len(sizes) > 1:
		return fmt.Sprintf("the traces are of runs of different sizes, of %d ranks and of %d: give those of one run", sizes[0], sizes[len(sizes)-1])
	case ranks < sizes[0]:
		return fmt.Sprintf("the run had %d ranks, and %d are here: the others may be waiting for a missing one", sizes[0], ranks)
	}
	return ""
}

// Next returns the next batch.
func (r *Reader) Next() (*event.Batch, error) {
	r.docs = nil // parts hold what is still to be written
	b, err := r.Reader.Next()
	if err != nil && err != io.EOF {
		err = explain(r.Files[r.Report()], err)
	}
	return b, err
}
