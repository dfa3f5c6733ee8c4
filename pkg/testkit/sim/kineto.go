package sim

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// KinetoEra is a version of PyTorch profiler traces.
type KinetoEra string

// The versions that differ in something a reader must care about.
const (
	Kineto2020 KinetoEra = "2020" // a bare array, whole microseconds since 1970
	Kineto1_8  KinetoEra = "1.8"  // categories with capitals, thread ids as text
	Kineto1_12 KinetoEra = "1.12" // lower case, whole microseconds since 1970
	Kineto2_4  KinetoEra = "2.4"  // fractions, relative to a base that comes after the events
	Kineto2_7  KinetoEra = "2.7"  // the base comes first
	Kineto2026 KinetoEra = "2026" // graph node ids
)

// KinetoEras lists the versions, oldest first.
var KinetoEras = []KinetoEra{Kineto2020, Kineto1_8, Kineto1_12, Kineto2_4, Kineto2_7, Kineto2026}

// KinetoOptions say how to write a PyTorch profiler trace.
type KinetoOptions struct {
	Era       KinetoEra // "": Kineto2_7
	Process   int32     // process to write, an index in Trace.Processes
	Rank      int       // rank of the process; -1: the trace does not say
	World     int       // ranks of the run
	Functions int       // number of Python functions recorded per range (with_stack)
	ROCm      bool      // calls and collectives have AMD's names
	Broken    string    // one of KinetoBreakages: every 97th event is broken in this way; "": none
}

// WriteKineto writes what PyTorch's profiler would have recorded of one process. It has
// no ranges of the GIL and the garbage collector, no versions in the names of calls, and
// no whole-graph rows.
func (t *Trace) WriteKineto(w io.Writer, opt KinetoOptions) error {
	opt.Era = cmp.Or(opt.Era, Kineto2_7)
	if !slices.Contains(KinetoEras, opt.Era) {
		return fmt.Errorf("era %q is not one of %v", opt.Era, KinetoEras)
	}
	if opt.Broken != "" && !slices.Contains(KinetoBreakages, opt.Broken) {
		return fmt.Errorf("breakage %q is not one of %v", opt.Broken, KinetoBreakages)
	}
	k := &kinetoWriter{w: bufio.NewWriterSize(w, 1<<16), t: t, opt: opt}
	k.whole = opt.Era == Kineto2020 || opt.Era == Kineto1_8 || opt.Era == Kineto1_12
	k.capitals = opt.Era == Kineto2020 || opt.Era == Kineto1_8
	if k.offset = t.Session.UTC; !k.whole { // the base is rounded down to three months
		k.base = k.offset / quarter * quarter
		k.offset -= k.base
	}
	k.document()
	return errors.Join(k.w.Flush(), t.err())
}

const quarter = 91 * 86400 * 1_000_000_000

// kinetoWriter writes events; its buffer keeps the first error.
type kinetoWriter struct {
	w      *bufio.Writer
	t      *Trace
	opt    KinetoOptions
	events int // number of events written

	whole    bool // times are whole microseconds
	capitals bool // categories are capitalised and thread ids are strings
	base     int64
	offset   int64 // added to times, ns
	id       int   // last id of an operator
}

// document writes the whole trace.
func (k *kinetoWriter) document() {
	if k.opt.Era == Kineto2020 {
		k.w.WriteString("[\n")
		k.all()
		k.w.WriteString("\n]\n")
		return
	}
	secret := k.t.Capture.Secret
	k.w.WriteString("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [")
	for i, g := range k.t.GPUs {
		if i > 0 {
			k.w.WriteByte(',')
		}
		fmt.Fprintf(k.w, "\n    {\"id\": %d, \"name\": %s, \"totalGlobalMem\": 85899345920}", g.ID, kinetoText(g.Name))
	}
	k.w.WriteString("\n  ],\n")
	if secret != "" {
		fmt.Fprintf(k.w, "  \"host_name\": %q,\n  \"username\": %q,\n", secret, secret)
	}
	if k.opt.Rank >= 0 {
		fmt.Fprintf(k.w, "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d},\n", k.opt.Rank, k.opt.World)
	}
	if k.opt.Functions > 0 {
		k.w.WriteString("  \"with_stack\": 1,\n")
	}
	if !k.whole && k.opt.Era != Kineto2_4 {
		fmt.Fprintf(k.w, "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": %d,\n", k.base)
	}
	k.w.WriteString("  \"traceEvents\": [\n")
	k.all()
	k.w.WriteString("\n  ]")
	if k.opt.Era == Kineto2_4 {
		fmt.Fprintf(k.w, ",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": %d", k.base)
	}
	fmt.Fprintf(k.w, ",\n  \"traceName\": \"/home/%s/trace.json\"\n}\n", secret)
}

// all writes the host's events and then the GPUs', as Kineto does.
func (k *kinetoWriter) all() {
	for n := range k.t.annotations(k.opt.Process) {
		k.annotation(n)
	}
	for c := range k.t.Calls.All() {
		if c.Process == k.opt.Process {
			category := "cuda_runtime"
			if eventClass(k.t.Text(c.Name)) == 1 {
				category = "cuda_driver"
			}
			k.event(category, k.t.callName(c, k.opt.ROCm), k.pid(), k.tid(c.TID), c.Start, c.End,
				fmt.Sprintf(`"cbid": 211, "correlation": %d`, c.Corr))
		}
	}
	for r := range k.t.Kernels.All() {
		name := k.t.kernelText(r, k.opt.ROCm)
		node := ""
		if k.opt.Era == Kineto2026 && r.Node != 0 {
			node = fmt.Sprintf(`, "graph id": %d, "graph node id": %d`, r.Graph, r.Node)
		}
		k.gpu("kernel", name, &r.Work, fmt.Sprintf(`, "queued": 0, "registers per thread": 64, "blocks per SM": 0.72, "grid": [96, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %%": 31%s`, node))
	}
	for r := range k.t.Copies.All() {
		k.gpu("gpu_memcpy", copyText(r), &r.Work, fmt.Sprintf(`, "bytes": %d, "memory bandwidth (GB/s)": "N/A"`, r.Bytes))
	}
	for r := range k.t.Fills.All() {
		k.gpu("gpu_memset", "Memset (Device)", &r.Work, fmt.Sprintf(`, "bytes": %d`, r.Bytes))
	}
}

// callName returns the name of a call as the profiler writes it, with AMD's names if rocm
// is set.
func (t *Trace) callName(c *Call, rocm bool) string {
	name := unversioned.ReplaceAllString(t.Text(c.Name), "")
	switch runtime, is := strings.CutPrefix(name, "cuda"); {
	case !rocm:
		return name
	case is:
		return "hip" + runtime
	}
	return "hipModule" + strings.TrimSuffix(strings.TrimPrefix(name, "cu"), "Ex") // the driver's only calls are launches
}

// kernelText returns the name of a kernel, with AMD's names if rocm is set.
func (t *Trace) kernelText(k *Kernel, rocm bool) string {
	_, name := t.KernelText(k.Name)
	if rocm {
		name = strings.ReplaceAll(name, "nccl", "rccl")
	}
	return name
}

// unversioned matches what the profiler omits from the names of calls.
var unversioned = regexp.MustCompile(`(_ptsz|_ptds)?_v\d+$`)

// copyText returns the name of a copy, such as Memcpy HtoD (Pinned -> Device).
func copyText(c *Copy) string {
	host := "Pinned"
	if c.Pageable {
		host = "Pageable"
	}
	switch c.Kind {
	case 1:
		return "Memcpy HtoD (" + host + " -> Device)"
	case 2:
		return "Memcpy DtoH (Device -> " + host + ")"
	}
	return "Memcpy DtoD (Device -> Device)"
}

// kinetoText quotes a string as Kineto does.
func kinetoText(s string) string { return `"` + kinetoEscapes.Replace(s) + `"` }

var kinetoEscapes = strings.NewReplacer(`\`, `/`, `"`, `\"`, "\n", "", "\r", "")

// annotation writes a range and the Python functions that called it.
func (k *kinetoWriter) annotation(n *NVTXEvent) {
	k.id++
	name := k.t.Text(n.Text)
	k.event("user_annotation", name, k.pid(), k.tid(n.TID), n.Start, n.End, fmt.Sprintf(`"External id": %d, "Ev Idx": %d`, k.id, k.id))
	for i := range k.opt.Functions {
		k.event("python_function", fmt.Sprintf("/home/%s/lib/python3.12/site-packages/engine/executor.py(%d): call_%d", k.t.Capture.Secret, 100+i, i),
			k.pid(), k.tid(n.TID), n.Start, n.End, fmt.Sprintf(`"Python parent id": %d, "Python id": %d, "Ev Idx": %d`, k.id+i, k.id+i+1, k.id))
	}
}

// gpu writes a row of GPU work if it belongs to the process.
func (k *kinetoWriter) gpu(category, name string, w *Work, own string) {
	if w.Process != k.opt.Process {
		return
	}
	stream := strconv.Itoa(int(w.Stream))
	if k.capitals {
		stream = `"stream ` + stream + `"`
	}
	k.event(category, name, strconv.Itoa(int(w.Device)), stream, w.Start, w.End,
		fmt.Sprintf(`"device": %d, "context": %d, "stream": %d, "correlation": %d%s`, w.Device, w.Context, w.Stream, w.Corr, own))
}

// pid returns the process id as traces write it.
func (k *kinetoWriter) pid() string { return strconv.Itoa(int(k.t.Processes[k.opt.Process].PID)) }

func (k *kinetoWriter) tid(id uint32) string {
	if k.capitals {
		return `"` + strconv.Itoa(int(id)) + `"`
	}
	return strconv.Itoa(int(id))
}

// oldCategories are the categories of 2020 and 2021.
var oldCategories = map[string]string{
	"kernel": "Kernel", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset", "cuda_runtime": "Runtime", "cuda_driver": "Runtime",
	"user_annotation": "Operator", "python_function": "python_function",
}

func (k *kinetoWriter) event(category, name, pid, tid string, start, end int64, args string) {
	if k.capitals {
		category = oldCategories[category]
	}
	if k.events > 0 {
		k.w.WriteString(",\n")
	}
	k.w.WriteString(k.broken(fmt.Sprintf("  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": %s, \"pid\": %s, \"tid\": %s,\n    \"ts\": %s, \"dur\": %s,\n    \"args\": {\n      %s\n    }\n  }",
		category, kinetoText(name), pid, tid, k.time(start+k.offset), k.time(end-start), args)))
}

// time formats a number of ns in microseconds.
func (k *kinetoWriter) time(ns int64) string {
	if k.whole {
		return strconv.FormatInt(ns/1000, 10)
	}
	return fmt.Sprintf("%d.%03d", ns/1000, ns%1000)
}

// breakage is a way in which real PyTorch profiler traces are broken: from, in an event,
// is replaced by to.
type breakage struct{ from, to string }

// breakages are the ways by name. Most of them make a reader lose the event.
var breakages = map[string]breakage{
	"quote":             {`"name": "`, `"name": "a "quoted" `},
	"odd-quote":         {`"name": "`, `"name": "a " `},
	"control":           {`"name": "`, "\"name\": \"\x01\x02\n"},
	"utf8":              {`"name": "`, "\"name\": \"\xff\xfe"},
	"escape":            {`"name": "`, `"name": "\q`},
	"empty-argument":    {`"args": {`, `"args": { "Input type": ,`},
	"nan":               {`"args": {`, `"args": { "occupancy": NaN, "blocks per SM": inf,`},
	"no-time":           {`"ts": `, `"ts": ,"x": `},
	"nan-time":          {`"ts": `, `"ts": NaN, "was": `},
	"text-time":         {`"ts": `, `"ts": "soon", "was": `},
	"huge-time":         {`"ts": `, `"ts": 1e300, "was": `},
	"negative-duration": {`"dur": `, `"dur": -`},
	"twice":             {`"dur": `, `"dur": 5, "dur": `},
	"deep":              {`"args": {`, `"args": { "a": ` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `,`},
	"missing-brace":     {"    }\n  }", "    }\n  "},
	"other-brace":       {"    }\n  }", "    ]\n  }"},
	"uint64":            {`"correlation": `, `"correlation": 18446744073709551615, "was": `},
}

// KinetoBreakages are the names of the breakages, sorted.
var KinetoBreakages = slices.Sorted(maps.Keys(breakages))

// brokenEvery is the number of events per broken one.
const brokenEvery = 97

// broken returns an event as it is written: broken if its turn has come.
func (k *kinetoWriter) broken(event string) string {
	k.events++
	if k.opt.Broken == "" || k.events%brokenEvery != 0 {
		return event
	}
	b := breakages[k.opt.Broken]
	return strings.Replace(event, b.from, b.to, 1)
}
