package figure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Stack is idle time in one place, or waits in collectives.
type Stack struct {
	Rank   int32  // number of the rank
	Device *int32 // CUDA device number, nil if the rank has several
	Phase  string // of the step, "" outside of steps
	Cause  string // as package idle names it, or "waits in collectives"
	Why    string // as package idle names it (hoststate.go), "" for causes on the GPU
	// Evidence says how the thread's functions are known: Exact, Sampled or None.
	Evidence string
	Path     []string // ranges, outermost first
	Leaf     string   // the call or kernel, "" if there is none
	Called   []string // functions of the host thread below that, outermost first; nil if unknown
	Ns       int64    // weight in ns, greater than 0
	Samples  int64    // number of CPU samples that it stands for, 0 if none
}

// How the functions of a thread are known: recorded with the call that it was in, found
// by samples among which the time is divided evenly, or not at all. Stacks on the GPU,
// which have no functions, are exact.
const (
	Exact   = "exact"   // recorded with the call, or on the GPU
	Sampled = "sampled" // from samples; the time is divided evenly
	None    = "none"    // unknown
)

// outside is the frame of time outside any step.
const outside = "outside of steps"

// Frames returns the frames of a stack, root first.
func (s *Stack) Frames() []string {
	all := []string{"rank " + strconv.Itoa(int(s.Rank)), cmp.Or(s.Phase, outside), s.Cause}
	if s.Why != "" {
		all = append(all, s.Why)
	}
	all = append(all, s.Path...)
	if s.Leaf != "" {
		all = append(all, s.Leaf)
	}
	all = append(all, s.Called...)
	for i := range all {
		all[i] = clean(all[i])
	}
	return all
}

// Compare orders stacks by their frames.
func (s *Stack) Compare(o *Stack) int { return slices.Compare(s.Frames(), o.Frames()) }

// clean replaces what would end a frame, and what no line or terminal can hold.
func clean(name string) string {
	return cmp.Or(strings.TrimSpace(table.Printable(strings.ReplaceAll(name, ";", ","))), "?")
}

// folded is the sum of stacks with the same frames.
type folded struct {
	frames []string
	key    string
	first  *Stack
	ns     int64
	count  int64
}

// fold merges stacks with the same frames and labels, sorted by frames.
func fold(stacks []Stack) []folded {
	at := map[string]int{}
	var all []folded
	for i := range stacks {
		s := &stacks[i]
		if s.Ns == 0 {
			continue
		}
		frames := s.Frames()
		key := strings.Join(frames, ";")
		label := key + "\x00" + s.Evidence
		k, ok := at[label]
		if !ok {
			k = len(all)
			at[label] = k
			all = append(all, folded{frames: frames, key: key, first: s})
		}
		all[k].ns += s.Ns
		all[k].count += max(s.Samples, 1)
	}
	slices.SortFunc(all, func(a, b folded) int {
		return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.first.Evidence, b.first.Evidence))
	})
	return all
}

// StackExtensions are the extensions of the formats.
var StackExtensions = []string{".folded", ".pb.gz", ".speedscope.json"}

// StackWriter returns the writer for a file's extension, nil if it is unknown.
func StackWriter(path string) func(io.Writer, []Stack) error {
	for i, write := range []func(io.Writer, []Stack) error{writeFolded, writePprof, writeSpeedscope} {
		if strings.HasSuffix(path, StackExtensions[i]) {
			return write
		}
	}
	return nil
}

func writeFolded(w io.Writer, stacks []Stack) error {
	var b strings.Builder
	for _, s := range fold(stacks) {
		fmt.Fprintf(&b, "%s %d\n", s.key, s.ns)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writePprof(w io.Writer, stacks []Stack) error {
	p := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "gpu_idle", Unit: "nanoseconds"}},
		DefaultSampleType: "gpu_idle",
	}
	locations := map[string]*profile.Location{}
	for _, s := range fold(stacks) {
		sample := &profile.Sample{Value: []int64{s.count, s.ns}, Label: s.first.labels()}
		for i := len(s.frames) - 1; i >= 0; i-- { // leaf first
			name := s.frames[i]
			if locations[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name}
				locations[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, locations[name])
			}
			sample.Location = append(sample.Location, locations[name])
		}
		p.Sample = append(p.Sample, sample)
	}
	if err := p.CheckValid(); err != nil {
		panic("BUG: " + err.Error())
	}
	return p.Write(w)
}

// labels returns the labels of a sample.
func (s *Stack) labels() map[string][]string {
	labels := map[string][]string{"rank": {strconv.Itoa(int(s.Rank))}, "cause": {clean(s.Cause)}}
	if s.Device != nil {
		labels["device"] = []string{strconv.Itoa(int(*s.Device))}
	}
	for key, value := range map[string]string{"phase": s.Phase, "why": s.Why, "evidence": s.Evidence} {
		if value != "" {
			labels[key] = []string{clean(value)}
		}
	}
	return labels
}

// speedscope is a speedscope file.
type speedscope struct {
	Schema string `json:"$schema"`
	Shared struct {
		Frames []speedscopeFrame `json:"frames"`
	} `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
	Name     string              `json:"name"`
	Exporter string              `json:"exporter"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
}

type speedscopeProfile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int64   `json:"startValue"`
	End     int64   `json:"endValue"`
	Samples [][]int `json:"samples"` // indexes of frames, root first
	Weights []int64 `json:"weights"`
}

func writeSpeedscope(w io.Writer, stacks []Stack) error {
	file := speedscope{Schema: "https://www.speedscope.app/file-format-schema.json", Name: "exposed GPU idle time", Exporter: "hostbound"}
	file.Shared.Frames = []speedscopeFrame{}
	p := speedscopeProfile{Type: "sampled", Name: file.Name, Unit: "nanoseconds", Samples: [][]int{}, Weights: []int64{}}
	index := map[string]int{}
	for _, s := range fold(stacks) {
		var sample []int
		for _, name := range s.frames {
			k, ok := index[name]
			if !ok {
				k = len(file.Shared.Frames)
				index[name] = k
				file.Shared.Frames = append(file.Shared.Frames, speedscopeFrame{name})
			}
			sample = append(sample, k)
		}
		p.Samples, p.Weights = append(p.Samples, sample), append(p.Weights, s.ns)
		p.End += s.ns
	}
	file.Profiles = []speedscopeProfile{p}
	return json.NewEncoder(w).Encode(file)
}
