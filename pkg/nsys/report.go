package nsys

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/sqlite"
)

// problem is an export that cannot be read, with what to do about it.
func problem(path, what, advice string) error {
	return &event.Error{Msg: path + ": " + what, Advice: advice}
}

// explain names the file in an error that does not, and says what to do.
func (r *report) explain(err error) error {
	if hinted, ok := err.(interface{ Hint() string }); ok && hinted.Hint() != "" {
		return err
	}
	return problem(r.path, strings.TrimPrefix(err.Error(), r.path+": "), "repeat 'nsys export', with --tables for those that are needed")
}

// none stands for a value that is not there.
const none = int64(-1) << 63

// maxTime bounds the times that are believed: 73 years, so that sums and
// differences of two cannot overflow.
const maxTime = int64(1) << 61

// process identifies a process within a report: its global id with the thread
// id cut off. 0 is the process of rows that do not say theirs.
type process uint64

func processOf(global int64) process { return process(uint64(global) &^ 0xffffff) }
func (p process) pid() int64         { return int64(p >> 24 & 0xffffff) }

// lane is what GPU rows of one process, device and stream have in common.
type lane struct {
	process process
	device  int64 // none where the export does not say or says "the host"
	stream  int64 // none likewise
	// active: it has kernels or whole-graph rows; allreduce: some are that.
	active, allreduce bool

	slot     int32 // of the rank in ranks, noSlot for none
	shown    int32 // the device, or for none the lowest one of the process
	launches *launches
	recent   int // where in launches the last look-up ended
}

// thread is a thread of the host.
type thread struct {
	process process
	tid     int64 // none where the export does not say
	slot    int32 // as that of a lane
}

// report is an export in memory, in the order of its tables.
type report struct {
	path     string
	info     event.Report
	strings  texts
	lanes    []*lane
	threads  []*thread
	domains  map[domainKey]domainName
	gpu      []*gpuPart  // kernels, replays, copies, synchronisations
	host     []*hostPart // API calls, ranges, overheads
	unusable map[string]int64
	ranks    []rankID
	rows     int64
	replayed int64 // GPU rows that a graph replay ran
	untimed  int64 // whole-graph rows without times
	noCalls  int64 // rows among the API calls that are neither calls nor stacks

	laneFacts   []laneFacts    // by number of the lane
	threadFacts []threadFacts  // by number of the thread
	profiler    []profilerCall // in order of start

	// origin is the UTC time that the report's time 0 stands for, if clocked.
	origin  int64
	clocked bool
	// comparable: its times are on the clock of the stream.
	comparable bool
	uuids      []string // of the machine's GPUs, where the export has them
}

type domainKey struct {
	process process
	id      int64
}

// domainName is what a process called a domain, and the part of the table that
// says it.
type domainName struct {
	part int64
	name string
}

// rankID says which process a rank is.
type rankID struct {
	process process
	device  int64 // the lowest
}

// findRanks finds the report's ranks, and numbers them as if it were the only
// report.
func (r *report) findRanks() {
	lowest := r.lowestDevices()
	r.ranks = r.ranks[:0]
	for p, d := range lowest {
		r.ranks = append(r.ranks, rankID{p, d})
	}
	slices.SortFunc(r.ranks, func(a, b rankID) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.process.pid(), b.process.pid()),
			cmp.Compare(a.process>>48, b.process>>48))
	})
	slots := map[process]int32{}
	r.info.Ranks = []int32{}
	for i, id := range r.ranks {
		slots[id.process] = int32(i)
		r.info.Ranks = append(r.info.Ranks, int32(i))
	}
	of := func(p process) int32 {
		if n, ok := slots[p]; ok {
			return n
		}
		return noSlot
	}
	for _, l := range r.lanes {
		l.slot, l.shown = of(l.process), int32(l.device)
		if l.device == none {
			l.shown = int32(lowest[l.process])
		}
	}
	for _, t := range r.threads {
		t.slot = of(t.process)
	}
	r.info.AllreduceDevices = r.allreduceDevices()
	r.info.RankFacts = r.rankFacts()
}

// lowestDevices finds the processes with GPU activity and the lowest device of
// each, 0 where none of its rows has one.
func (r *report) lowestDevices() map[process]int64 {
	lowest := map[process]int64{}
	for _, l := range r.lanes {
		if !l.active {
			continue
		}
		d, ok := lowest[l.process]
		if !ok {
			d = none
		}
		if l.device != none && (d == none || l.device < d) {
			d = l.device
		}
		lowest[l.process] = d
	}
	for p, d := range lowest {
		lowest[p] = max(d, 0)
	}
	return lowest
}

// allreduceDevices finds for each rank the lowest device that has allreduce
// kernels, -1 for a rank that has none.
func (r *report) allreduceDevices() []int32 {
	devices := make([]int32, len(r.ranks))
	for i := range devices {
		devices[i] = -1
	}
	for _, l := range r.lanes {
		if !l.allreduce || l.slot == noSlot {
			continue
		}
		if d := &devices[l.slot]; *d < 0 || l.shown < *d {
			*d = l.shown
		}
	}
	return devices
}

// readInfo reads what the export says of itself. It takes single values out of
// the capture's metadata by name: the rest holds the environment, command line,
// user and host of whoever made the capture, and stays where it is.
func (r *report) readInfo(s scanner, columns map[string][]string) error {
	r.info.File = filepath.Base(r.path)
	normalised, shift := false, int64(0)
	for _, table := range []string{"EXPORT_META_DATA", "META_DATA_EXPORT"} {
		err := eachPair(s, columns, table, func(name, value string) {
			switch name {
			case "EXPORT_PRODUCT_VERSION":
				r.info.Nsys = version(value)
			case "EXPORT_SCHEMA_VERSION":
				r.info.Schema = version(value)
			case "EXPORT_PARAM_TIME_NORMALIZE":
				normalised = strings.EqualFold(value, "true") || value == "1"
			case "EXPORT_PARAM_TIME_SHIFT":
				shift, _ = strconv.ParseInt(value, 10, 64)
			}
		})
		if err != nil {
			return err
		}
	}
	err := eachPair(s, columns, "META_DATA_CAPTURE", func(name, value string) {
		if mode := strings.ToLower(value); strings.HasSuffix(name, "CUDA_GRAPH_TRACE_OPTIONS:MODE") && (mode == "graph" || mode == "node") {
			r.info.Capture = mode
		}
	})
	if err != nil {
		return err
	}
	if err := r.readOrigin(s, columns, normalised, shift); err != nil {
		return err
	}
	if err := r.readGPUs(s, columns); err != nil {
		return err
	}
	return r.readDiagnostics(s, columns)
}

// readOrigin finds the UTC time that the report's time 0 stands for. A
// normalised export counts from 1970; one that was shifted, normalised or not,
// says by how much its times were moved.
func (r *report) readOrigin(s scanner, columns map[string][]string, normalised bool, shift int64) error {
	if shift < -maxTime || shift > maxTime {
		return nil
	}
	if normalised {
		r.origin, r.clocked = -shift, true
		return nil
	}
	if !slices.Contains(columns[sessionTable], "utcEpochNs") {
		return nil
	}
	low, high, err := s.rows(sessionTable)
	if err != nil {
		return err
	}
	return s.scan(sessionTable, []sqlite.Column{{Name: "utcEpochNs", Type: sqlite.Int}}, low, high, func(b *sqlite.Block) error {
		for i := range b.N {
			utc := b.Cols[0].Int[i]
			if !r.clocked && !b.Cols[0].Null[i] && utc > 0 && utc < maxTime {
				r.origin, r.clocked = utc-shift, true
				r.info.Origin = r.origin
			}
		}
		return nil
	})
}

// eachPair calls fn for the rows of a table of names and values.
func eachPair(s scanner, columns map[string][]string, table string, fn func(name, value string)) error {
	have := columns[table]
	if !slices.Contains(have, "name") || !slices.Contains(have, "value") {
		return nil
	}
	low, high, err := s.rows(table)
	if err != nil {
		return err
	}
	cols := []sqlite.Column{{Name: "name", Type: sqlite.Text}, {Name: "value", Type: sqlite.Text}}
	return s.scan(table, cols, low, high, func(b *sqlite.Block) error {
		for i := range b.N {
			fn(string(b.Cols[0].Text(i)), string(b.Cols[1].Text(i)))
		}
		return nil
	})
}

// version returns s if it looks like a version number, so that nothing else
// that stands in its place gets into an output.
func version(s string) string {
	if len(s) > 32 || strings.Trim(s, "0123456789.-") != "" {
		return ""
	}
	return s
}

// message takes the message out of the JSON form of an NVTX text.
func message(text []byte) string {
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return ""
	}
	for _, key := range []string{"Message", "message", "Text", "text"} {
		if s, ok := fields[key].(string); ok {
			return s
		}
	}
	return ""
}
