package rocpd

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// kept are the columns of rowsQuery that the store keeps of a row, in this order after
// the columns that order rows.
var kept = [...]int{colCorrelation, colWhere, colDevice, colBytes, colNode, colLaunchStart, colLaunchEnd, colLaunchThread}

// nameAt is the column of the name's number, after those.
const nameAt = spill.Payload + len(kept)

// process is a process with rows in a file.
type process struct {
	file   *file
	pid    int64
	rank   int32 // -1 if it has none
	writer *spill.Writer
	rows   *spill.Run
	row    spill.Rows // memory for one row
	nodes  event.Replays

	event.Tally
	first   int64
	devices map[int64]bool   // devices that ran kernels, and whether some were of class allreduce
	sizes   map[string]int32 // number of ranks that collectives are compiled for, by name
	replays int64            // graph launches with rows
}

func newProcess(f *file, pid int64) *process {
	return &process{file: f, pid: pid, rank: -1, writer: spill.NewWriter(f.r.Store), row: make(spill.Rows, nameAt+1),
		Tally: event.NoTally, first: maxTime, devices: map[int64]bool{}, sizes: map[string]int32{}}
}

// lowest returns the lowest device with kernels, or a number greater than any device.
func (p *process) lowest() int64 {
	return slices.Min(append(slices.Collect(maps.Keys(p.devices)), maxTime))
}

// add counts and stores a row; of returns its columns. launch is the name of the call
// that launched it, -1 for none. Rows must arrive in stream order.
func (p *process) add(name, launch int32, of func(int) int64) error {
	names, time := p.file.r.names, event.Span{Start: of(colStart), End: of(colEnd)}
	kind, class := names.kinds[name], names.classes[name]
	p.Kinds[kind]++
	if class >= 0 {
		p.Classes[class]++
	}
	p.first = min(p.first, time.Start)
	values := [nameAt + 1]int64{spill.Key: time.Start, spill.Then: time.End, nameAt: int64(name)}
	for k, c := range kept {
		values[spill.Payload+k] = of(c)
	}
	if kind.IsGPU() {
		p.Busy.Join(time)
		p.addWork(name, launch, time, values[spill.Payload:])
	}
	for c, v := range values {
		p.row[c] = append(p.row[c][:0], v)
	}
	return p.writer.Add(p.row, 0, 1)
}

// addWork counts a row of GPU work and completes its columns, which are in the order of
// kept.
func (p *process) addWork(name, launch int32, time event.Span, columns []int64) {
	names, device, node := p.file.r.names, &columns[2], &columns[4]
	if *device < 0 || *device >= 1<<16 { // missing or invalid: the device is unknown
		*device = 0
	}
	if *node <= 0 { // not run by a graph
		*node = spill.None
	}
	if launch >= 0 && time.Start < columns[5] {
		p.file.early++
	}
	switch {
	case launch < 0:
		p.file.untraced++
	case names.classes[launch] == event.GraphLaunch:
		ordinal := p.nodes.Next(columns[0])
		if ordinal == 0 {
			p.replays++
		}
		if *node == spill.None {
			*node = ordinal
		}
	}
	if names.kinds[name] != event.Kernel {
		return
	}
	p.GPU.Join(time)
	p.devices[*device] = p.devices[*device] || names.classes[name] == event.Allreduce
	if size := names.sizes[name]; size > 0 {
		text := names.text(name)
		p.sizes[text] = max(p.sizes[text], size)
	}
}

// names numbers the names of all files, in the form that the stream has.
type names struct {
	numbers map[nameKey]int32
	dict    event.Dict
	kinds   []event.Kind
	classes []event.Class   // -1 for none
	sizes   map[int32]int32 // number of ranks that collectives are compiled for, by number of the name
	// trains: a name is of a backward pass or an optimizer; diffuses: of a diffusion
	// model; almost: it nearly matches a forward-step marker.
	trains, diffuses, almost bool
	size, limit              int64 // approximate bytes
}

// nameKey is a name as in a file.
type nameKey struct {
	kind event.Kind
	text string
}

// take accounts for the memory of a text. It fails if names take too much.
func (n *names) take(text string) error {
	if n.size += int64(len(text)) + 64; n.size > n.limit {
		return &event.Error{Msg: fmt.Sprintf("names take more than %d MiB", n.limit>>20), Advice: "give more memory with --memory, or record fewer steps"}
	}
	return nil
}

// number returns the number of a name, adding it if it is new. The runtime's own
// kernels copy and fill memory.
func (n *names) number(kind event.Kind, text string) (int32, error) {
	key := nameKey{kind, text}
	if k, ok := n.numbers[key]; ok {
		return k, nil
	}
	k, class := int32(len(n.kinds)), event.Class(-1)
	text = marker.Homeless(strings.ToValidUTF8(text, "\ufffd"))
	switch {
	case kind == event.API:
		text = cudaname.API(text)
		class = cudaname.ClassAPI(text)
	case kind == event.NVTX:
		class = marker.ClassNVTX(text)
		n.trains, n.diffuses = n.trains || marker.Trains(text), n.diffuses || marker.Diffuses(text)
		n.almost = n.almost || marker.Almost(text)
	case kind == event.Memcpy:
		text = copyName(text)
	case strings.HasPrefix(text, "__amd_rocclr_copyBuffer"):
		kind, text = event.Memcpy, "memcpy"
	case strings.HasPrefix(text, "__amd_rocclr_fillBuffer"):
		kind, text = event.Memset, "memset"
	default:
		demangled := cudaname.Demangle(strings.TrimSuffix(strings.TrimSuffix(text, " [clone .kd]"), ".kd"))
		text, class = cudaname.ShortKernel(demangled), cudaname.ClassKernel("", demangled)
		n.trains = n.trains || cudaname.Trains(demangled)
		n.sizes[k] = cudaname.GroupSize(demangled)
	}
	n.numbers[key] = k
	n.dict.Data = append(n.dict.Data, text...)
	n.dict.Offsets = append(n.dict.Offsets, int32(len(n.dict.Data)))
	n.kinds, n.classes = append(n.kinds, kind), append(n.classes, class)
	return k, n.take(key.text + text)
}

// text returns the text of a name.
func (n *names) text(k int32) string {
	return string(n.dict.Data[n.dict.Offsets[k]:n.dict.Offsets[k+1]])
}

var copied = regexp.MustCompile(`(HOST|DEVICE)_TO_(HOST|DEVICE)`)

// copyName returns "memcpy HtoD" for MEMORY_COPY_HOST_TO_DEVICE.
func copyName(operation string) string {
	if m := copied.FindStringSubmatch(operation); m != nil {
		return "memcpy " + m[1][:1] + "to" + m[2][:1]
	}
	return "memcpy"
}
