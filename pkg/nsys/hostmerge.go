package nsys

import (
	"io"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
)

// HostReader is a Reader whose stream also has what the operating system did with the
// threads of the ranks' processes, of reports that say so: rows of the kinds os and run
// among the others, in their order. It holds these rows in memory, about 80 bytes each.
type HostReader struct {
	*Reader
	header event.Header
	rows   map[rankPart][]hostRow // that are not written yet

	base   *event.Batch // of the Reader; rows at to n of it are not written yet
	at     int
	of     rankPart // of the last row of base that was written
	report int      // of the batch that was handed out
	out    event.Batch
	ended  bool
}

// rankPart is what one report has of a rank.
type rankPart struct {
	report int
	rank   int32
}

// noPart is of no rank.
var noPart = rankPart{-1, nullRank}

// WithHost reads the rows of the kinds event.OS and event.Run that are wanted, and returns
// a reader of all rows. It is to be called before the first row is read.
func WithHost(r *Reader, wanted []event.Kind) (*HostReader, error) {
	h := &HostReader{Reader: r, header: r.header, rows: map[rankPart][]hostRow{}, of: noPart}
	h.header.Reports = slices.Clone(r.header.Reports)
	for n := range h.header.Reports {
		if err := h.read(n, wanted); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Header describes the reports.
func (h *HostReader) Header() *event.Header { return &h.header }

// Report returns the number of the report that the rows of the last batch come from.
func (h *HostReader) Report() int { return h.report }

// read reads the host rows of a report.
func (h *HostReader) read(n int, wanted []event.Kind) error {
	path := h.paths[n]
	e, err := openExport(path)
	if err != nil {
		return err
	}
	columns, err := e.columns()
	if err != nil {
		return err
	}
	scanner, err := e.open()
	if err != nil {
		return err
	}
	defer scanner.close()
	t := &hostTables{scanner: scanner, columns: columns, offset: h.header.Reports[n].Offset, slots: map[process]int{}}
	ranks, froms, low, high := h.ranksOf(n, t.slots)
	t.rows = make([][]hostRow, len(ranks))
	if slices.Contains(wanted, event.OS) {
		if err := t.readCalls(); err != nil {
			return explainHost(path, err)
		}
	}
	if slices.Contains(wanted, event.Run) {
		if err := t.readRuns(low, high); err != nil {
			return explainHost(path, err)
		}
	}
	for slot, part := range ranks {
		rows := t.rows[slot]
		slices.SortStableFunc(rows, func(a, b hostRow) int { return a.before(&b) })
		k := 0
		for k < len(rows) && rows[k].start < froms[slot] {
			k++
		}
		h.add(part, rows[k:])
	}
	return nil
}

// ranksOf returns the ranks of report n, from when on the rows of each are of this
// report and not of an earlier one of the same process, and the span of all their
// rows, on the clock of the stream. It gives the processes their places in slots.
func (h *HostReader) ranksOf(n int, slots map[process]int) (ranks []rankPart, froms []int64, low, high int64) {
	low, high = maxTime, -maxTime
	for _, s := range h.parts {
		from := longAgo
		for _, p := range s.list {
			if p.report == n {
				slots[s.id.process] = len(ranks)
				ranks, froms = append(ranks, rankPart{n, s.number}), append(froms, from)
				low, high = min(low, p.firstRow), max(high, p.lastRow)
			}
			from = max(from, p.lastRow)
		}
	}
	if end := h.header.Reports[n].BusyEnd; end != nil {
		high = max(high, *end)
	}
	return ranks, froms, low, high
}

func explainHost(path string, err error) error {
	r := report{path: path}
	return r.explain(err)
}

// add adds the rows of a rank's part, and counts them in the header.
func (h *HostReader) add(part rankPart, rows []hostRow) {
	if len(rows) == 0 {
		return
	}
	h.rows[part] = rows
	rep := &h.header.Reports[part.report]
	counts := map[string]int64{}
	for kind, n := range rep.Rows {
		counts[kind] = n
	}
	rep.Rows, rep.RankFacts = counts, slices.Clone(rep.RankFacts)
	k := slices.IndexFunc(rep.RankFacts, func(f event.RankFacts) bool { return f.Rank == part.rank })
	for i := range rows {
		rep.Rows[rows[i].kind.String()]++
		switch rows[i].kind {
		case event.OS:
			rep.RankFacts[k].OSCalls++
		case event.Run:
			rep.RankFacts[k].Runs++
			h.header.Columns |= event.HostCols
		}
	}
}

// Next returns the next batch, whose rows come from one report.
func (h *HostReader) Next() (*event.Batch, error) {
	if len(h.rows) == 0 && h.base == nil {
		b, err := h.Reader.Next()
		if err == nil {
			h.report = h.Reader.Report()
		}
		return b, err
	}
	h.out.Reset(h.header.Columns)
	for h.out.Len < event.BatchRows {
		if h.base == nil || h.at == h.base.Len {
			if err := h.fetch(); err != nil {
				return nil, err
			}
		}
		part := h.part()
		if part != h.of { // The rank before has ended: what is left of it comes first.
			if h.flush(h.of) {
				continue
			}
			if h.out.Len > 0 && part.report != h.of.report {
				break
			}
			h.of = part
		}
		if h.ended {
			break
		}
		h.merge()
	}
	if h.out.Len == 0 {
		return nil, io.EOF
	}
	return &h.out, nil
}

// fetch gets the next batch of the Reader, none once it has ended.
func (h *HostReader) fetch() (err error) {
	if h.ended {
		return nil
	}
	h.at = 0
	if h.base, err = h.Reader.Next(); err == io.EOF {
		h.base, h.ended, err = new(event.Batch), true, nil
	}
	return err
}

// part is what the next row of the Reader is of.
func (h *HostReader) part() rankPart {
	if h.ended {
		return noPart
	}
	p := rankPart{h.Reader.Report(), nullRank}
	if rank, ok := h.base.Rank.Get(h.at); ok {
		p.rank = rank
	}
	return p
}

// merge writes the next rows of the Reader that are of one rank, and the host rows that
// come before them, as far as the batch goes.
func (h *HostReader) merge() {
	h.report = h.of.report
	rows, end := h.rows[h.of], min(h.base.RankEnd(h.at), h.at+event.BatchRows-h.out.Len)
	for h.at < end {
		next := end
		if len(rows) > 0 {
			next = h.at
			for next < end && !h.goesBefore(&rows[0], next) {
				next++
			}
		}
		h.out.AppendRange(h.base, h.at, next)
		if h.at = next; next < end {
			h.append(&rows[0])
			rows = rows[1:]
			end = min(end, h.at+max(event.BatchRows-h.out.Len, 0))
		}
	}
	h.rows[h.of] = rows
}

// goesBefore tells whether a host row goes before row i of the Reader.
func (h *HostReader) goesBefore(r *hostRow, i int) bool {
	start, end := h.base.Start.Values[i], h.base.End.Values[i]
	return r.start < start || r.start == start && r.end > end
}

// flush writes host rows that come after all other rows of a rank, as far as the batch
// goes, and tells whether there were any.
func (h *HostReader) flush(part rankPart) bool {
	rows := h.rows[part]
	n := min(len(rows), event.BatchRows-h.out.Len)
	for i := range n {
		h.append(&rows[i])
	}
	if h.rows[part] = rows[n:]; n > 0 {
		h.report = part.report
	}
	return n > 0
}

// append appends a host row to the batch.
func (h *HostReader) append(r *hostRow) {
	b := &h.out
	i := b.AppendNulls()
	b.Kind.Set(i, r.kind)
	b.Start.Set(i, r.start)
	b.End.Set(i, r.end)
	b.Rank.Set(i, h.of.rank)
	b.Thread.Set(i, r.tid)
	b.Name.SetLast(r.name)
	if r.class >= 0 {
		b.Class.Set(i, r.class)
	}
	if r.cpu >= 0 && b.Columns.Has(event.ColCPU) {
		b.CPU.Set(i, r.cpu)
	}
}
