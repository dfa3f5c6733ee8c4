package sim

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
)

// RocpdOptions say how to write a database of AMD's profilers.
type RocpdOptions struct {
	Process int32  // process to write, an index in Trace.Processes
	Systems bool   // written as by rocprof-sys: other categories, and ranges have their text as name
	Nodes   bool   // the schema is 3.0.2 or newer, with graph nodes
	Drop    string // table to omit, by its name without prefix and suffix
}

// rocpdEnding is the suffix of table names in simulated recordings, without the number of
// the process.
const rocpdEnding = "_0197a3c2_5f10_7c4e_9b1d_00000000000"

// rocpdBoot is how long, in ns, the simulated machine had been up when the session began.
const rocpdBoot = 1_000_000_000_000_000

// rocpdTables are tables of schema 3.0.1 as published (package rocpd), with their columns
// after id and guid. All have these two, except that metadata has no guid; "?" is NOT
// NULL. Tables that no test needs are omitted, and so are foreign keys.
var rocpdTables = []struct{ name, columns string }{
	{"metadata", "tag TEXT ?, value TEXT ?"},
	{"string", "string TEXT ? UNIQUE ON CONFLICT ABORT"},
	{"info_node", "hash BIGINT ? UNIQUE, machine_id TEXT ? UNIQUE, system_name TEXT, hostname TEXT, release TEXT, version TEXT, hardware_name TEXT, domain_name TEXT"},
	{"info_process", `nid INTEGER ?, ppid INTEGER, pid INTEGER ?, init BIGINT, fini BIGINT, start BIGINT, "end" BIGINT, command TEXT, environment JSONB DEFAULT '{}' ?, extdata JSONB DEFAULT '{}' ?`},
	{"info_thread", `nid INTEGER ?, ppid INTEGER, pid INTEGER ?, tid INTEGER ?, name TEXT, start BIGINT, "end" BIGINT, extdata JSONB DEFAULT '{}' ?`},
	{"info_agent", "nid INTEGER ?, pid INTEGER ?, type TEXT CHECK (type IN ('CPU', 'GPU', 'NIC')), absolute_index INTEGER, logical_index INTEGER, type_index INTEGER, uuid INTEGER, " +
		"name TEXT, model_name TEXT, vendor_name TEXT, product_name TEXT, user_name TEXT, extdata JSONB DEFAULT '{}' ?"},
	{"info_kernel_symbol", "nid INTEGER ?, pid INTEGER ?, code_object_id INTEGER ?, kernel_name TEXT, display_name TEXT, kernel_object INTEGER, kernarg_segment_size INTEGER, kernarg_segment_alignment INTEGER, " +
		"group_segment_size INTEGER, private_segment_size INTEGER, sgpr_count INTEGER, arch_vgpr_count INTEGER, accum_vgpr_count INTEGER, extdata JSONB DEFAULT '{}' ?"},
	{"event", "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, call_stack JSONB DEFAULT '{}' ?, line_info JSONB DEFAULT '{}' ?, extdata JSONB DEFAULT '{}' ?"},
	{"region", `nid INTEGER ?, pid INTEGER ?, tid INTEGER ?, start BIGINT ?, "end" BIGINT ?, name_id INTEGER ?, event_id INTEGER, extdata JSONB DEFAULT '{}' ?`},
	{"kernel_dispatch", `nid INTEGER ?, pid INTEGER ?, tid INTEGER, agent_id INTEGER ?, kernel_id INTEGER ?, dispatch_id INTEGER ?, queue_id INTEGER ?, stream_id INTEGER ?, start BIGINT ?, "end" BIGINT ?, ` +
		"private_segment_size INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER ?, workgroup_size_y INTEGER ?, workgroup_size_z INTEGER ?, grid_size_x INTEGER ?, grid_size_y INTEGER ?, grid_size_z INTEGER ?, " +
		"region_name_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT '{}' ?"},
	{"memory_copy", `nid INTEGER ?, pid INTEGER ?, tid INTEGER, start BIGINT ?, "end" BIGINT ?, name_id INTEGER ?, dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER ?, ` +
		"queue_id INTEGER, stream_id INTEGER, region_name_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT '{}' ?"},
}

// graphColumns were added in schema 3.0.2.
const graphColumns = ", graph_exec_id INTEGER ? DEFAULT 0, graph_node_id INTEGER ? DEFAULT 0"

// rocpdWriter writes rows by column name; its Writer keeps the first error.
type rocpdWriter struct {
	t       *Trace
	opt     RocpdOptions
	w       *sqlitefile.Writer
	tables  map[string]*sqlitefile.Inserter
	columns map[string][]string
	strings map[string]int64
	kernels map[NameID]int64
	threads map[uint32]bool
	pid     int64
}

// WriteRocpd writes what AMD's profilers would have recorded of one process, with HIP's
// names. As with WriteKineto, there are no ranges of the GIL and the garbage collector,
// and no whole-graph rows. Memory is filled by kernels of the runtime.
func (t *Trace) WriteRocpd(path string, opt RocpdOptions) error {
	w, err := sqlitefile.Create(path)
	if err != nil {
		return err
	}
	r := &rocpdWriter{t: t, opt: opt, w: w, tables: map[string]*sqlitefile.Inserter{}, columns: map[string][]string{},
		strings: map[string]int64{}, kernels: map[NameID]int64{}, threads: map[uint32]bool{}, pid: int64(t.Processes[opt.Process].PID)}
	r.create()
	r.machine()
	r.host()
	r.gpu()
	return errors.Join(w.Close(), t.err())
}

// create creates the tables.
func (r *rocpdWriter) create() {
	for _, table := range rocpdTables {
		columns := "id INTEGER ? PRIMARY KEY AUTOINCREMENT, "
		if table.name != "metadata" {
			columns += "guid TEXT DEFAULT 'guid' ?, "
		}
		if columns += table.columns; r.opt.Nodes && (table.name == "kernel_dispatch" || table.name == "memory_copy") {
			columns += graphColumns
		}
		name := fmt.Sprintf("rocpd_%s%s%d", table.name, rocpdEnding, r.opt.Process)
		if table.name == r.opt.Drop {
			name = "dropped"
		}
		list := strings.Split(strings.ReplaceAll(strings.ReplaceAll(columns, "?", "NOT NULL"), "('CPU', 'GPU', 'NIC')", "('CPU'; 'GPU'; 'NIC')"), ", ")
		for i, c := range list {
			list[i] = strings.ReplaceAll(c, ";", ",")
			bare, _, _ := strings.Cut(c, " ")
			r.columns[table.name] = append(r.columns[table.name], strings.Trim(bare, `"`))
		}
		r.tables[table.name] = r.w.Table(name, list)
	}
}

// row adds a row and returns its number, which is its id unless values has one. Columns
// that are not given are filled: ids from the row and the process, JSON with "{}", others
// with 0.
func (r *rocpdWriter) row(table string, values map[string]any) int64 {
	in := r.tables[table]
	for i, name := range r.columns[table] {
		switch v := values[name].(type) {
		case int64:
			in.Int(i, v)
		case string:
			in.Text(i, v)
		default:
			switch {
			case name == "id":
				in.Int(i, in.Rows()+1)
			case name == "guid":
				in.Text(i, "guid")
			case name == "pid", name == "nid":
				in.Int(i, map[string]int64{"pid": r.pid, "nid": 7}[name])
			case strings.HasSuffix(name, "data"), name == "environment", name == "call_stack", name == "line_info":
				in.Text(i, "{}")
			default:
				in.Int(i, 0)
			}
		}
	}
	in.Step()
	return in.Rows()
}

// text returns the id of a string, adding it if it is new.
func (r *rocpdWriter) text(s string) int64 {
	if r.strings[s] == 0 {
		r.strings[s] = r.row("string", map[string]any{"string": s})
	}
	return r.strings[s]
}

// machine writes what all rows refer to.
func (r *rocpdWriter) machine() {
	secret := r.t.Capture.Secret
	r.row("metadata", map[string]any{"tag": "schema_version", "value": "3"})
	r.row("info_node", map[string]any{"hash": int64(4242), "machine_id": "id " + secret, "hostname": secret})
	r.row("info_process", map[string]any{"id": r.pid, "init": int64(rocpdBoot), "command": "python3 " + secret, "environment": `{"TOKEN": "` + secret + `"}`, "extdata": `{"cfg": "` + secret + `"}`})
	r.row("info_agent", map[string]any{"id": int64(99), "type": "CPU", "user_name": secret})
	for _, g := range r.t.GPUs {
		r.row("info_agent", map[string]any{"id": int64(g.ID) + 100, "type": "GPU", "type_index": int64(g.ID), "product_name": g.Name, "user_name": secret})
	}
}

// event adds an event of a category with a call's correlation, and returns its id.
func (r *rocpdWriter) event(kind string, corr uint32, extdata string) int64 {
	if r.opt.Systems {
		kind = map[string]string{"HIP_RUNTIME_API_EXT": "rocm_hip_api", "MARKER_CORE_RANGE_API": "rocm_marker_api", "KERNEL_DISPATCH": "rocm_kernel_dispatch", "MEMORY_COPY": "rocm_memory_copy"}[kind]
	}
	return r.row("event", map[string]any{"category_id": r.text(kind), "stack_id": int64(corr), "parent_stack_id": int64(corr), "extdata": extdata})
}

// region adds a region, and its thread if that is new.
func (r *rocpdWriter) region(name, category string, tid, corr uint32, start, end int64, extdata string) {
	if !r.threads[tid] {
		r.threads[tid] = true
		r.row("info_thread", map[string]any{"id": int64(tid) + 1_000_000, "tid": int64(tid)})
	}
	r.row("region", map[string]any{"tid": int64(tid) + 1_000_000, "start": start + rocpdBoot, "end": end + rocpdBoot, "name_id": r.text(name), "event_id": r.event(category, corr, extdata)})
}

// host writes the calls and the ranges.
func (r *rocpdWriter) host() {
	for c := range r.t.Calls.All() {
		if c.Process == r.opt.Process {
			r.region(r.t.callName(c, true), "HIP_RUNTIME_API_EXT", c.TID, c.Corr, c.Start, c.End, "{}")
		}
	}
	for n := range r.t.annotations(r.opt.Process) {
		name, extdata := "roctxThreadRangeA", `{"message": `+kinetoText(r.t.Text(n.Text))+`}`
		if r.opt.Systems {
			name, extdata = r.t.Text(n.Text), "{}"
		}
		r.region(name, "MARKER_CORE_RANGE_API", n.TID, 0, n.Start, n.End, extdata)
	}
}

// gpu writes the kernels, fills and copies.
func (r *rocpdWriter) gpu() {
	work := func(w *Work, category string) map[string]any {
		return map[string]any{"start": w.Start + rocpdBoot, "end": w.End + rocpdBoot, "stream_id": int64(w.Stream), "queue_id": int64(1), "agent_id": int64(w.Device) + 100,
			"graph_node_id": int64(w.Node), "event_id": r.event(category, w.Corr, "{}")}
	}
	kernel := func(w *Work, id NameID, display string) {
		if r.kernels[id] == 0 {
			r.kernels[id] = r.row("info_kernel_symbol", map[string]any{"kernel_name": display + ".kd", "display_name": display})
		}
		row := work(w, "KERNEL_DISPATCH")
		row["kernel_id"], row["dispatch_id"] = r.kernels[id], r.tables["kernel_dispatch"].Rows()+1
		r.row("kernel_dispatch", row)
	}
	for k := range r.t.Kernels.All() {
		if k.Process == r.opt.Process {
			kernel(&k.Work, k.Name, r.t.kernelText(k, true))
		}
	}
	for f := range r.t.Fills.All() {
		if f.Process == r.opt.Process {
			kernel(&f.Work, 0, "__amd_rocclr_fillBufferAligned.kd")
		}
	}
	for c := range r.t.Copies.All() {
		if c.Process == r.opt.Process {
			row := work(&c.Work, "MEMORY_COPY")
			at := row["agent_id"]
			operation := map[uint8]string{1: "HOST_TO_DEVICE", 2: "DEVICE_TO_HOST"}[c.Kind]
			row["src_agent_id"], row["dst_agent_id"] = at, at
			switch c.Kind {
			case 1:
				row["src_agent_id"] = int64(99)
			case 2:
				row["dst_agent_id"] = int64(99)
			default:
				operation = "DEVICE_TO_DEVICE"
			}
			row["name_id"], row["size"] = r.text("MEMORY_COPY_"+operation), c.Bytes
			r.row("memory_copy", row)
		}
	}
}

// annotations iterates over the ranges of a process that profilers other than nsys
// record.
func (t *Trace) annotations(process int32) iter.Seq[*NVTXEvent] {
	return func(yield func(*NVTXEvent) bool) {
		for n := range t.NVTX.All() {
			of := n.Process == process && !n.Open && n.Kind == NVTXPushPop && n.Domain != gilDomain && n.Text != 0
			if of && !strings.HasPrefix(t.Text(n.Text), "Python GC") && !yield(n) {
				return
			}
		}
	}
}
