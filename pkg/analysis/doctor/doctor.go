// Package doctor says what a recording can answer and what it cannot, and how to
// record so that it can.
//
// A Diagnosis has a Question for each kind of answer that the analyses give. The answer
// depends only on what was recorded: rows by kind, what the profiler says it lost, and
// whether ranks and their clocks can be compared. "In part" means that an analysis
// answers, and says what it leaves open.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Can says whether a question can be answered.
type Can string

// The answers.
const (
	Yes    Can = "yes"     // all of it
	InPart Can = "in part" // Because says which part is missing
	No     Can = "no"      // Instead says what to record
)

// Question is a question that a recording may answer.
type Question struct {
	// Question is the question as a sentence. Command is the filter that answers it, ""
	// if the Diagnosis itself does.
	Question string `json:"question"`
	Command  string `json:"command,omitempty"`
	// Can says whether it can be answered, Because why: what was recorded, and what was
	// not.
	Can     Can    `json:"can_answer"`
	Because string `json:"because"`
	// Instead is what to do so that it can be answered, "" if nothing is missing.
	Instead string `json:"instead,omitempty"`

	record *report.CaptureOptions // what to record so that it can be answered; nil if recording does not help
	keep   report.CaptureOptions  // what the answer relies on, and a new recording must have again
}

// Diagnosis is what a recording can answer.
type Diagnosis struct {
	// Reports are the base names of the reports, Ranks the number of ranks in them.
	Reports []string `json:"reports"`
	Ranks   int      `json:"ranks"`
	// Rows counts the rows by kind; kinds without rows are missing.
	Rows      map[string]int64 `json:"rows"`
	Questions []Question       `json:"questions"` // all of them, in the order of reports
	// Recurring are ranges that may be steps, the most likely first; empty if steps have
	// markers.
	Recurring []Range `json:"recurring_ranges,omitempty"`
	// Record is the nsys command line that records what is missing, "" if it would add
	// nothing. Torch is the same for PyTorch's profiler, as Python code. Both are set if
	// a recording of PyTorch's profiler also lacks what only nsys can record.
	Record string `json:"record,omitempty"`
	Torch  string `json:"record_torch,omitempty"`
	// ROCm is the command line of AMD's profiler that records what is missing, "" for
	// other GPUs and if nothing is missing. No filter reads what the ROCm Systems
	// Profiler writes.
	ROCm string `json:"record_rocm,omitempty"`
	// Workload is event.Training or event.Diffusion, "" for a run that generates tokens,
	// or may.
	Workload string `json:"workload,omitempty"`
	// Warnings are the warnings of the reports.
	Warnings []string `json:"warnings"`
}

// found is what a recording contains.
type found struct {
	*event.Header
	kinds   []int64           // number of rows by kind
	paused  int64             // ns, over ranks, during which the profiler was paused
	gil, gc int64             // numbers of ranges of the interpreter lock and of garbage collection
	ranges  map[string]*tally // of ranks, by folded name
	facts   event.RankFacts   // sums over ranks
	ranks   int               // ranks with GPU work
	torch   bool              // recorded by PyTorch's profiler
	rocpd   bool              // recorded by AMD's profiler
}

// by returns the remedy for the profiler that recorded: nsys or PyTorch's, or the
// command of AMD's. Questions are the same for all profilers; only the remedies differ.
func (f *found) by(nsys, torch string) string {
	switch {
	case f.torch:
		return torch
	case f.rocpd:
		return report.RocprofName
	}
	return nsys
}

// Examine reads all rows of a recording, of all kinds. An error is the source's own, or
// that of the temporary file.
func Examine(src event.Source) (*Diagnosis, error) {
	h := src.Header()
	f := &found{Header: h, torch: h.Source() == "torch", rocpd: h.Source() == "rocpd", kinds: make([]int64, len(event.Kinds)), ranges: map[string]*tally{}}
	store := spill.NewStore(spill.DefaultMemory)
	defer store.Close()
	stopped := replay.New(h, store)
	err := event.Each(src, func(b *event.Batch) error {
		if h.NumRanks() == 0 {
			if err := stopped.Add(b); err != nil {
				return err
			}
		}
		return f.count(b)
	})
	if err == nil {
		err = stopped.Finish(func(int32) *step.RankSteps { return nil })
	}
	if err != nil {
		return nil, err
	}
	quota, err := stopped.Quota()
	if err != nil {
		return nil, err
	}
	f.sum()
	d := &Diagnosis{Workload: f.Workload(), Ranks: f.NumRanks(), Rows: map[string]int64{}, Warnings: append([]string{}, f.Warnings()...)}
	if quota != "" {
		d.Warnings = append(d.Warnings, quota)
	}
	for i := range f.Reports {
		d.Reports = append(d.Reports, f.Reports[i].File)
	}
	for kind, n := range f.kinds {
		if n > 0 {
			d.Rows[event.Kind(kind).String()] = n
		}
	}
	for _, ask := range questions {
		q := Question{Question: ask.question, Command: ask.command, Can: Yes}
		ask.of(f, &q)
		d.Questions = append(d.Questions, q)
	}
	d.record(f)
	d.Recurring = f.recurring()
	return d, nil
}

// questions are in report order: whether the recording is complete, then from what
// verdict needs to what only some runs have.
var questions = []struct {
	question, command string
	of                func(*found, *Question)
}{
	{"Is the recording complete?", "", whole},
	{"Does the host hold the GPUs back?", "verdict", bound},
	{"What does the host do while a GPU waits?", "gaps", where},
	{"Which kernels run in CUDA graphs, and which outside of them?", "gaps", graphs},
	{"Why do launching threads stall?", "gaps", why},
	{"Does garbage collection stop the host?", "gaps", collected},
	{"Which rank do the others wait for?", "gaps", late},
}

// lacks limits the answer to can, and sets what to do instead and what to record.
func (q *Question) lacks(can Can, because, instead string, record report.CaptureOptions) {
	q.Can, q.Because, q.Instead, q.record = can, because, instead, &record
}

// record sets how to record what all questions lack. One recording should answer all of
// them, so it joins what the questions ask for with what answered the others. For a
// trace of PyTorch's profiler, only OS data needs another profiler.
func (d *Diagnosis) record(f *found) {
	var all report.CaptureOptions
	any := false
	for _, q := range d.Questions {
		all.Host, all.Collections = all.Host || q.keep.Host, all.Collections || q.keep.Collections
		switch o := q.record; {
		case o == nil:
		case f.torch && !o.Host && d.Workload != "":
			d.Torch = report.TorchLoop
		case f.torch && !o.Host:
			d.Torch = report.Torch
		case f.rocpd && !o.Host && !o.Collections:
			d.ROCm = report.Rocprof
		default:
			any = true
			all.Host = all.Host || o.Host
			all.Collections = all.Collections || o.Collections
			all.Ranges = all.Ranges || o.Ranges
		}
	}
	switch {
	case any && f.Platform() == event.AMD:
		d.ROCm = cmp.Or(d.ROCm, report.ROCm)
	case any && d.Workload != "": // no options of TensorRT-LLM
		d.Record = report.CaptureCommand(report.CaptureOptions{GIL: all.GIL, Host: all.Host})
	case any:
		d.Record = report.CaptureCommand(all)
	}
}

// count counts the rows of a batch, including kinds that event does not define and rows
// without a rank.
func (f *found) count(b *event.Batch) error {
	for len(f.kinds) < len(event.Kinds) { // kinds that others registered
		f.kinds = append(f.kinds, 0)
	}
	for i, kind := range b.Kind.Values[:b.Len] {
		f.kinds[kind]++
		if kind != event.NVTX {
			continue
		}
		switch class, _ := b.Class.Get(i); class {
		case event.GIL:
			f.gil++
		case event.GC:
			f.gc++
		case event.Prep, event.Range:
			f.addRange(b, i)
		}
	}
	return nil
}

// sum adds up the facts of all ranks.
func (f *found) sum() {
	for i := range f.Reports {
		r := &f.Reports[i]
		for _, facts := range r.RankFacts {
			f.facts.Markers += facts.Markers
			f.facts.Allreduces += facts.Allreduces
			f.facts.GraphLaunches += facts.GraphLaunches
			f.facts.Graphs += facts.Graphs
			f.facts.Replays += facts.Replays
			for _, span := range facts.Unrecorded {
				f.paused += span[1] - span[0]
			}
		}
	}
	f.ranks = f.NumRanks()
}

// onGPU returns the number of rows of GPU work.
func (f *found) onGPU() int64 { return f.kinds[event.Kernel] + f.kinds[event.Graph] }

// ofEngine returns " of the engine" for ranges of a run that serves tokens, else "".
func (f *found) ofEngine() string {
	if f.Workload() != "" {
		return ""
	}
	return " of the engine"
}

// turnOn says how to have steps marked for nsys.
func (f *found) turnOn() string {
	if f.Workload() != "" {
		return "put an NVTX range around each iteration"
	}
	return "turn the engine's own ranges on"
}

// host returns the remedy for missing OS data: with the platform's profiler, or what to
// do with PyTorch's, which does not record it.
func (f *found) host(nsys, torch string) string {
	if f.Platform() == event.AMD {
		if f.torch {
			return report.ROCmName + ": PyTorch's profiler does not see the operating system"
		}
		return report.ROCmName
	}
	return f.by(nsys, torch)
}

// Remedies with PyTorch's profiler.
const (
	fewer  = "record fewer steps at a time, so that the profiler keeps up"
	cpuToo = "record ProfilerActivity.CPU, too"
)

// whole asks whether the profiler kept everything. Lost CUDA events make every figure
// doubtful, as in verdict. Lost OS calls only hide some causes. Requested pauses are no
// loss, but are in no figure.
func whole(f *found, q *Question) {
	q.Because = "no sign of lost events"
	var lost []string
	for i := range f.Reports {
		r := &f.Reports[i]
		if r.LostEvents {
			q.Can = No
			lost = append(lost, "CUDA events of "+r.File)
		}
		if r.LostCalls {
			if q.Can == Yes {
				q.Can = InPart
			}
			lost = append(lost, "system calls of "+r.File)
		}
	}
	if len(lost) > 0 {
		q.Because = "the profiler reports losses: " + strings.Join(lost, ", ")
		q.Instead = "record fewer iterations, and leave stacks out"
	} else if len(f.Warnings()) > 0 {
		q.Because += "; see the warnings"
	}
	if n := f.kinds[event.API]; n > 0 && f.onGPU() == 0 {
		q.Can = No
		q.Because = report.Counted(n, "CUDA call") + ", and " + noWork
		q.Instead = f.noWorkRemedy()
	}
	if f.paused > 0 {
		if q.Can == Yes {
			q.Can = InPart
		}
		q.Because += fmt.Sprintf("; between profiler ranges %s were not recorded, and are in no figure", report.Micros(float64(f.paused)/1e3))
	}
}

// noWork says that no GPU did anything.
const noWork = "no kernel and no graph replay was recorded"

// noWorkRemedy is the remedy for noWork.
func (f *found) noWorkRemedy() string {
	return f.by("profile while the model runs, with CUDA traced, and wait for the profiler to write its events",
		"profile while the model runs, with ProfilerActivity.CUDA among the activities")
}

// bound asks what verdict answers. The order is that of verdict's own doubts. Without
// GPU work there is nothing to measure. Graphs without replays look idle (verdict, too,
// tolerates two of them). Without steps there are only figures of the whole trace.
func bound(f *found, q *Question) {
	var evidence []string
	add := func(n int64, what string) {
		if n > 0 {
			evidence = append(evidence, report.Counted(n, what))
		}
	}
	add(f.facts.Markers, "forward-step range")
	add(f.facts.Allreduces, "all-reduce kernel")
	add(f.facts.GraphLaunches, "CUDA graph launch")
	switch {
	case f.onGPU() == 0:
		q.lacks(No, noWork, f.noWorkRemedy(), report.CaptureOptions{Ranges: true})
	case f.facts.Graphs+f.facts.Replays == 0 && step.LostReplays(f.facts.GraphLaunches, 0, 0, 0):
		q.lacks(No, report.Counted(f.facts.GraphLaunches, "CUDA graph launch")+", and no replay was recorded",
			f.by("record replays, as a row each or by their kernels", fewer), report.CaptureOptions{Ranges: true})
	case f.StartOnly():
		q.lacks(No, "the only forward step is the first after the profiler started, which includes profiler start-up", "record several steps", report.CaptureOptions{Ranges: true})
	case len(evidence) == 0:
		q.lacks(InPart, "figures of the whole trace only: there are no forward-step ranges, all-reduce kernels or graph launches to find steps by",
			f.by(f.turnOn(), "call the profiler's step() after each iteration, or put record_function around it"), report.CaptureOptions{Ranges: true})
	case slices.ContainsFunc(f.Reports, func(r event.Report) bool { return r.LostEvents }):
		q.Can, q.Because = No, "the profiler lost CUDA events"
	default:
		q.Because = "steps can be found by " + strings.Join(evidence, ", ")
	}
}

// where asks what gaps and diff say about operations. Ranges without calls do not show
// which thread launches, so calls decide. Without GPU work it is unknown when a GPU
// waits.
func where(f *found, q *Question) {
	ranges := f.kinds[event.NVTX]
	switch {
	case f.onGPU() == 0 && f.kinds[event.API] > 0:
		q.lacks(No, noWork, f.noWorkRemedy(), report.CaptureOptions{Ranges: true})
	case ranges > 0 && f.kinds[event.API] > 0:
		q.Because = report.Counted(ranges, "range") + f.ofEngine() + ", " + report.Counted(f.kinds[event.API], "CUDA call")
	case f.kinds[event.API] > 0:
		q.lacks(InPart, "only by CUDA call: there are no ranges"+f.ofEngine(), f.by("trace NVTX, and "+f.turnOn(), cpuToo), report.CaptureOptions{Ranges: true})
	default:
		q.lacks(No, "no CUDA call was recorded", f.by("trace CUDA API calls, too", cpuToo), report.CaptureOptions{Ranges: true})
	}
}

// graphs asks what gaps says about kernels in CUDA graphs. One row for a whole replay
// hides its kernels. Such a recording answers the other questions as well, at less cost,
// so the remedy mentions the cost.
func graphs(f *found, q *Question) {
	switch {
	case f.onGPU() == 0:
		q.lacks(No, noWork, f.noWorkRemedy(), report.CaptureOptions{})
	case f.facts.GraphLaunches == 0 && f.facts.Graphs == 0 && f.facts.Replays == 0:
		q.Because = "no CUDA graph is launched"
	case f.facts.Graphs > 0:
		q.lacks(No, report.Counted(f.facts.Graphs, "replay")+", without kernels", "record the kernels (--cuda-graph-trace=node), which costs the host more", report.CaptureOptions{})
	case f.facts.Replays == 0:
		q.lacks(No, "no replay was recorded", f.by("record the kernels (--cuda-graph-trace=node)", fewer), report.CaptureOptions{})
	default:
		q.Because = report.Counted(f.facts.Replays, "replay") + ", with kernels"
	}
}

// noThreads answers questions about the threads of processes with GPU work, if there are
// none: rows of other processes are not used.
func (f *found) noThreads(q *Question) {
	q.lacks(No, "no process with GPU work was recorded, and other processes do not show it",
		f.by("profile the processes that use the GPU, with CUDA traced", "profile the processes that use the GPU, with ProfilerActivity.CUDA among the activities"), report.CaptureOptions{Ranges: true})
}

// why asks what gaps says about stalled threads. There are four sources, each of which
// shows something that the others do not. Each one that is missing leaves part of the
// idle time unexplained.
func why(f *found, q *Question) {
	if f.ranks == 0 {
		f.noThreads(q)
		return
	}
	var have, lack []string
	for _, one := range []struct {
		n    int64
		what string
	}{
		{f.kinds[event.Run], "CPU scheduling"},
		{f.kinds[event.OS], "OS runtime calls"},
		{f.gil, "waits for Python's GIL"},
		{f.kinds[event.Sample] + f.kinds[event.Backtrace], "stacks"},
	} {
		if one.n > 0 {
			have = append(have, one.what)
		} else {
			lack = append(lack, one.what)
		}
	}
	switch {
	case len(lack) == 0:
		q.Because = "recorded: " + strings.Join(have, ", ")
		q.keep.Host = true
		return
	case len(have) == 0:
		q.Can, q.Because = No, "not recorded: "+strings.Join(lack, ", ")
	default:
		q.Can, q.Because = InPart, "recorded: "+strings.Join(have, ", ")+"; not recorded: "+strings.Join(lack, ", ")
	}
	q.Instead = f.host("record host threads, which slows the host", "record with Nsight Systems: PyTorch's profiler does not see the operating system")
	if f.kinds[event.Run] == 0 && slices.ContainsFunc(f.Reports, func(r event.Report) bool { return r.NoSwitches == event.SwitchesDenied }) {
		q.Instead += "; the system hid CPU scheduling from the profiler: lower kernel.perf_event_paranoid, or run as root"
	}
	q.record = &report.CaptureOptions{Host: true}
}

// collected asks for garbage collections. Ranges show when a collection ran, samples
// only its share of the time.
func collected(f *found, q *Question) {
	switch {
	case f.ranks == 0:
		f.noThreads(q)
		return
	case f.gc > 0:
		q.Because = report.Counted(f.gc, "range") + " of collections"
		q.keep.Collections = true
	case f.kinds[event.Sample] > 0:
		q.Can, q.Because = InPart, "from CPU samples: no collection is marked by a range"
	default:
		q.Can, q.Because = No, "no collection is marked by a range, and there are no CPU samples"
	}
	if q.Can != Yes {
		q.Instead = f.host(f.marks(), "record with Nsight Systems: its CPU samples show them")
		q.record = &report.CaptureOptions{Collections: true, Host: f.torch}
	}
}

// marks says how to have collections marked.
func (f *found) marks() string {
	if f.Workload() != "" {
		return "mark collections with a range in gc.callbacks"
	}
	return "let TensorRT-LLM mark collections, or mark them in gc.callbacks"
}

// late asks what gaps says about late ranks. Ranks are compared in the collectives in
// which they meet. Reports that do not state their start time are aligned by the ends of
// collectives, which adds an error.
func late(f *found, q *Question) {
	switch {
	case f.ranks < 2:
		q.Can, q.Because, q.Instead = No, report.Counted(f.ranks, "rank")+" in this recording", "if the run has more ranks, give the reports of all together"
	case f.facts.Allreduces == 0 && f.ClassRows(event.Allreduce) == 0:
		q.Can, q.Because = InPart, report.Counted(f.ranks, "rank")+", without all-reduce kernels, which show who comes last"
	case len(f.Reports) > 1 && slices.ContainsFunc(f.Reports, func(r event.Report) bool { return r.Origin == 0 }):
		q.Can, q.Because = InPart, report.Counted(f.ranks, "rank")+", with clocks compared only by the ends of collectives: a report does not say when it began"
	default:
		q.Because = report.Counted(f.ranks, "rank") + ", compared by their all-reduce kernels"
	}
}
