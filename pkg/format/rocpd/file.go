package rocpd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// prefix is the prefix of all table names.
const prefix = "rocpd_"

// kindOf maps a region's category to the kind of its rows. Regions of other categories
// are left out.
var kindOf = map[string]event.Kind{
	"HIP_RUNTIME_API": event.API, "HIP_RUNTIME_API_EXT": event.API, "HIP_COMPILER_API": event.API, "HIP_COMPILER_API_EXT": event.API,
	"rocm_hip_api":    event.API,
	"MARKER_CORE_API": event.NVTX, "MARKER_CORE_RANGE_API": event.NVTX, "rocm_marker_api": event.NVTX, "user": event.NVTX,
}

// file is a database.
type file struct {
	r         *Reader
	db        *sqlite.DB
	path      string
	number    int
	info      event.Report
	node      int64 // hash of the file's machine
	apart     bool  // it holds recordings of several machines
	processes []*process
	origin    int64 // time 0 of the report
	read      int64 // rows
	unusable  int64 // rows without usable times or process
	other     int64 // regions of other categories, or of none
	untraced  int64 // GPU rows without a launching call
	early     int64 // GPU rows that start before their launching call
}

// recording is the tables of a file whose names have the same ending.
type recording struct {
	*file
	ending    string
	columns   map[string][]string
	strings   map[int64]string
	kernels   map[int64]string
	processes map[int64]*process
}

// damaged is the advice for a file that lacks something.
const damaged = "copy the file again, or record again: a profiler that was stopped leaves half a file"

// load reads a file.
func (f *file) load() (err error) {
	if f.db, err = sqlite.Open(f.path); err != nil {
		return err
	}
	defer f.db.Close()
	columns, err := f.db.Tables()
	if err != nil {
		return err
	}
	const first = prefix + "metadata"
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if ending, is := strings.CutPrefix(name, first); is {
			rec := &recording{f, ending, columns, map[int64]string{}, map[int64]string{}, map[int64]*process{}}
			if err := rec.load(); err != nil {
				return err
			}
		}
	}
	if f.info.Schema == "" {
		return problem(f.path, "no table "+first+"… with a schema_version", "give what 'rocprofv3 --output-format rocpd' writes; RocmProfileData's .rpd files are another format")
	}
	return nil
}

// check returns an error unless the tables and columns exist.
func (rec *recording) check() error {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		have, there := rec.columns[prefix+name+rec.ending]
		if !there {
			return problem(rec.path, "no table "+prefix+name+rec.ending, damaged)
		}
		for column := range strings.FieldsSeq(tables[name]) {
			if !strings.HasSuffix(column, "?") && !slices.Contains(have, column) {
				return problem(rec.path, fmt.Sprintf("table %s has no column %s: it is not of schema version 3, which is read", prefix+name, column),
					"'rocpd convert' of the ROCm that wrote it makes traces of other formats")
			}
		}
	}
	return nil
}

// load reads a recording.
func (rec *recording) load() error {
	if err := rec.check(); err != nil {
		return err
	}
	if err := rec.loadInfo(); err != nil {
		return err
	}
	calls := []string{"-1"} // -1 is no category
	for id, text := range rec.strings {
		if kindOf[text] == event.API && text != "" {
			calls = append(calls, strconv.FormatInt(id, 10))
		}
	}
	node := "NULL"
	if slices.Contains(rec.columns[prefix+"kernel_dispatch"+rec.ending], "graph_node_id") && slices.Contains(rec.columns[prefix+"memory_copy"+rec.ending], "graph_node_id") {
		node = "d.graph_node_id"
	}
	types := make([]sqlite.Type, numColumns)
	types[colMessage] = sqlite.Text
	query := strings.NewReplacer("ID\"", rec.ending+"\"", "CALLS", strings.Join(calls, ","), "NODE", node).Replace(rowsQuery)
	err := rec.db.Query(query, types, func(b *sqlite.Block) error {
		if rec.read += int64(b.N); rec.r.opt.Progress != nil {
			rec.r.opt.Progress(rec.path, rec.read)
		}
		for i := range b.N {
			if err := rec.row(b, i); err != nil {
				return err
			}
		}
		return nil
	})
	for _, p := range rec.processes {
		if err == nil {
			p.rows, err = p.writer.End(0, 0)
		}
		rec.file.processes = append(rec.file.processes, p)
	}
	return err
}

// loadInfo reads the small tables.
func (rec *recording) loadInfo() error {
	keep := func(to map[int64]string) func(int64, int64, string) error {
		return func(id, _ int64, text string) error {
			to[id] = text
			return rec.r.names.take(text)
		}
	}
	for _, q := range []struct {
		sql string // selects two numbers and a text
		fn  func(a, b int64, text string) error
	}{
		{"SELECT 0, 0, value FROM \"rocpd_metadataID\" WHERE tag = 'schema_version'", func(_, _ int64, text string) error { rec.info.Schema = text; return nil }},
		{"SELECT hash, 0, NULL FROM \"rocpd_info_nodeID\" LIMIT 1", func(hash, _ int64, _ string) error {
			rec.apart = rec.apart || len(rec.file.processes) > 0 && hash != rec.node
			rec.node = hash
			return nil
		}},
		{"SELECT id, pid, init FROM \"rocpd_info_processID\"", func(id, pid int64, init string) error { return rec.addProcess(id, pid, init) }},
		{"SELECT DISTINCT 0, 0, coalesce(nullif(product_name, ''), model_name) FROM \"rocpd_info_agentID\" WHERE type = 'GPU'", func(_, _ int64, model string) error {
			if model != "" && !slices.Contains(rec.info.GPUs, model) {
				rec.info.GPUs = append(rec.info.GPUs, model)
			}
			return nil
		}},
		{"SELECT id, 0, string FROM \"rocpd_stringID\"", keep(rec.strings)},
		{"SELECT id, 0, coalesce(nullif(display_name, ''), kernel_name) FROM \"rocpd_info_kernel_symbolID\"", keep(rec.kernels)},
	} {
		err := rec.db.Query(strings.Replace(q.sql, "ID\"", rec.ending+"\"", 1), []sqlite.Type{sqlite.Int, sqlite.Int, sqlite.Text}, func(b *sqlite.Block) error {
			for i := range b.N {
				if err := q.fn(b.Cols[0].Int[i], b.Cols[1].Int[i], string(b.Cols[2].Text(i))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addProcess adds a process, which no other file may contain.
func (rec *recording) addProcess(id, pid int64, init string) error {
	who := identity{rec.node, pid, init}
	if other, twice := rec.r.known[who]; twice {
		return problem(rec.path, "it holds the same process as "+other, "give each recording once; parts of one process are not joined")
	}
	rec.r.known[who] = rec.path
	rec.processes[id] = newProcess(rec.file, pid)
	return nil
}

// maxTime bounds the times that are accepted, in ns: sums and differences of two cannot
// overflow.
const maxTime = int64(1) << 61

// row adds row i of a block to its process. Times count from when the machine started.
func (rec *recording) row(b *sqlite.Block, i int) error {
	of := func(column int) int64 {
		if b.Cols[column].Null[i] {
			return spill.None
		}
		return b.Cols[column].Int[i]
	}
	p, start, end := rec.processes[of(colProcess)], of(colStart), of(colEnd)
	if p == nil || start <= 0 || end < start || end > maxTime {
		rec.unusable++
		return nil
	}
	text, kind := rec.strings[of(colName)], event.Memcpy
	switch of(colKind) {
	case aRegion:
		var read bool
		if kind, read = kindOf[rec.strings[of(colCategory)]]; !read {
			rec.other++
			return nil
		}
		if message := b.Cols[colMessage].Text(i); kind == event.NVTX && len(message) > 0 {
			text = string(message)
		}
	case aKernel:
		text, kind = rec.kernels[of(colName)], event.Kernel
	}
	name, err := rec.r.names.number(kind, text)
	if err != nil {
		return err
	}
	launch := int32(-1)
	if !b.Cols[colLaunchStart].Null[i] {
		if launch, err = rec.r.names.number(event.API, rec.strings[of(colLaunchName)]); err != nil {
			return err
		}
	}
	return p.add(name, launch, of)
}
