package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// errNotText is what formatText returns for a trace the text form cannot hold.
var errNotText = errors.New("the text form tells processes apart by their pid")

// formatText writes a trace in the form that ParseText reads, so that a
// generated one can be looked at, cut down and kept. Process and thread names
// of the trace are left out, and processes must differ in pid.
func formatText(w io.Writer, t *Trace, opt Options) error {
	seen := make(map[uint32]bool)
	for _, p := range t.Processes {
		if seen[p.PID] {
			return errNotText
		}
		seen[p.PID] = true
	}
	f := &textWriter{w: bufio.NewWriter(w), t: t, process: -1}
	f.head(opt)
	f.gpu()
	f.host()
	return f.w.Flush()
}

// textWriter writes lines; its buffer keeps the first error.
type textWriter struct {
	w       *bufio.Writer
	t       *Trace
	process int32
}

func (f *textWriter) line(format string, args ...any) { fmt.Fprintf(f.w, format+"\n", args...) }

func (f *textWriter) head(opt Options) {
	if opt.Schema == (Schema{}) {
		opt.Schema = Schema3_25_0
	}
	f.line("schema %s%s%s", opt.Schema, when(opt.Reduced, " reduced"), when(opt.EmptyTables, " empty-tables"))
	for _, d := range opt.Drop {
		f.line("drop %s", strconv.Quote(d))
	}
	if f.t.Capture.GraphMode != "" {
		f.line("mode %s", strconv.Quote(f.t.Capture.GraphMode))
	}
	if f.t.Capture.Secret != "" {
		f.line("secret %s", strconv.Quote(f.t.Capture.Secret))
	}
	s := f.t.Session
	f.line("session utc=%d clock=%d shift=%s%s", s.UTC, s.SystemClock, textTime(s.Shift), when(s.Normalize, " normalize"))
	for _, g := range f.t.GPUs {
		f.line("gpu %d %s", g.ID, strconv.Quote(g.Name))
	}
	for i := range f.t.Processes {
		f.of(int32(i))
	}
}

func when(ok bool, s string) string {
	if ok {
		return s
	}
	return ""
}

// textTime is a time in the largest unit that keeps it exact.
func textTime(ns int64) string {
	switch {
	case ns%1e6 == 0:
		return strconv.FormatInt(ns/1e6, 10) + "ms"
	case ns%1e3 == 0:
		return strconv.FormatInt(ns/1e3, 10) + "us"
	}
	return strconv.FormatInt(ns, 10) + "ns"
}

// of begins the lines of a process.
func (f *textWriter) of(process int32) {
	if process == f.process {
		return
	}
	f.process = process
	p := f.t.Processes[process]
	f.line("process %d hw=%d vm=%d name=%s", p.PID, p.HW, p.VM, strconv.Quote(p.Name))
}

func (f *textWriter) gpu() {
	for k := range f.t.Kernels.All() {
		short, demangled := f.t.KernelText(k.Name)
		f.work("kernel", &k.Work, fmt.Sprintf("%s demangled=%s%s", strconv.Quote(short), strconv.Quote(demangled), option("graphid", uint64(k.Graph))))
	}
	for r := range f.t.Replays.All() {
		f.work("graph", &r.Work, fmt.Sprintf("id=%d exec=%d", r.Graph, r.Exec))
	}
	for c := range f.t.Copies.All() {
		f.work("memcpy", &c.Work, fmt.Sprintf("bytes=%d kind=%d", c.Bytes, c.Kind))
	}
	for m := range f.t.Fills.All() {
		f.work("memset", &m.Work, fmt.Sprintf("bytes=%d", m.Bytes))
	}
	for s := range f.t.Syncs.All() {
		f.work("sync", &s.Work, fmt.Sprintf("type=%d", s.Kind))
	}
}

// work writes a row of GPU work, with what only its kind has.
func (f *textWriter) work(verb string, w *Work, own string) {
	f.of(w.Process)
	f.line("%s %s %s %s dev=%d stream=%d context=%d%s%s", verb, textTime(w.Start), textTime(w.End), own,
		w.Device, w.Stream, w.Context, option("corr", uint64(w.Corr)), option("graph", w.Node))
}

// option is " name=v", or nothing for 0.
func option(name string, v uint64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(" %s=%d", name, v)
}

func (f *textWriter) host() {
	for c := range f.t.Calls.All() {
		f.of(c.Process)
		f.line("api %s %s %s tid=%d%s return=%d", textTime(c.Start), textTime(c.End), strconv.Quote(f.t.Text(c.Name)),
			c.TID, option("corr", uint64(c.Corr)), c.Return)
	}
	for n := range f.t.NVTX.All() {
		f.of(n.Process)
		f.nvtx(n)
	}
	for o := range f.t.Overheads.All() {
		f.of(o.Process)
		f.line("overhead %s %s %s tid=%d type=%d%s", textTime(o.Start), textTime(o.End), strconv.Quote(f.t.Text(o.Name)),
			o.TID, o.Kind, when(o.CUPTI, " cupti"))
	}
}

func (f *textWriter) nvtx(n *NVTXEvent) {
	if n.Kind == NVTXDomain {
		f.line("domain %d %s tid=%d at=%s", n.Domain, strconv.Quote(f.t.Text(n.Text)), n.TID, textTime(n.Start))
		return
	}
	end := textTime(n.End)
	if n.Open {
		end = "-"
	}
	f.line("range %s %s %s tid=%d domain=%d type=%d%s%s%s", textTime(n.Start), end, strconv.Quote(f.t.Text(n.Text)),
		n.TID, n.Domain, n.Kind, option("id", n.RangeID), option("endtid", uint64(n.EndTID)),
		strings.TrimRight([]string{Registered: "", Literal: " literal", JSON: " json"}[n.Form], " "))
}
