package lineprof

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Stacks sums up stacks by function, in a profile without lines.
type Stacks struct {
	*Profile
	byKey   map[frameKey]*Function
	byFrame map[string]*Function // by collapsed frame as written
	callers map[[2]*Function]bool
	stack   int               // number of stacks added
	last    map[*Function]int // the last stack that a function was on
}

type frameKey struct{ name, path string }

// NewStacks returns a profile without stacks, whose times are in ns.
func NewStacks(name string) *Stacks {
	s := newStacks(name, Speed)
	s.Unit = 1e-9
	return &s
}

func newStacks(name string, format Format) Stacks {
	return Stacks{
		Profile: &Profile{Name: name, Format: format, Runs: 1},
		byKey:   map[frameKey]*Function{}, byFrame: map[string]*Function{}, callers: map[[2]*Function]bool{}, last: map[*Function]int{},
	}
}

// Function returns the function of a frame, whatever its line; path is "" if unknown.
func (s *Stacks) Function(name, path string) *Function {
	name = publicName(name)
	k := frameKey{name, path}
	f := s.byKey[k]
	if f == nil {
		f = &Function{Name: name, File: Reduce(path), path: path, Calls: -1}
		s.byKey[k] = f
		s.Functions = append(s.Functions, f)
	}
	return f
}

// publicName removes from a frame's name what reveals the machine: frames of processes
// have their command line, native ones the path of a library.
func publicName(name string) string {
	for _, kind := range []string{"process ", "thread "} {
		if strings.HasPrefix(name, kind) && strings.Contains(name, ":") {
			return strings.TrimSpace(kind)
		}
	}
	if !strings.HasPrefix(name, "<") && !strings.Contains(name, "(") {
		return base(name)
	}
	return absolute.ReplaceAllStringFunc(name, func(path string) string { return path[:1] + Reduce(path[1:]) })
}

// absolute matches an absolute path within a name, and the character before it.
var absolute = regexp.MustCompile(`[\s(\["'=@](?:[A-Za-z]:|~)?[/\\][^\s()"'<>,]*[/\\][^\s()"'<>,]+`)

// maxDepth is the most frames of a stack. Python's default limit is 1,000.
const maxDepth = 10_000

// Add adds ns to each function of a stack, once even if it occurs twice, and to the
// leaf's own time. frames are ordered from root to leaf. Sums saturate. It returns false
// if the stack has too many frames.
func (s *Stacks) Add(frames []*Function, ns int64) bool {
	switch {
	case len(frames) > maxDepth:
		return false
	case len(frames) == 0 || ns == 0:
		return true
	}
	s.stack++
	for i, f := range frames {
		if i > 0 && f != frames[i-1] { // a recursive call makes no caller
			if pair := [2]*Function{frames[i-1], f}; !s.callers[pair] {
				s.callers[pair] = true
				f.Callers = append(f.Callers, frames[i-1])
			}
		}
		if s.last[f] != s.stack {
			s.last[f] = s.stack
			f.Ns = Add(f.Ns, ns)
		}
	}
	leaf := frames[len(frames)-1]
	leaf.SelfNs = Add(leaf.SelfNs, ns)
	return true
}

// stackReader reads the lines of a text that may be collapsed stacks.
type stackReader struct {
	Stacks
	nested bool // some stack had more than one frame
	frames []*Function
}

// add reads one line and returns false if it is not a stack: frames joined by ";", and
// a number after the last blank. Lines of logs may end in numbers, too, so finish
// requires one stack with several frames.
func (s *stackReader) add(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return true
	}
	at := bytes.LastIndexByte(line, ' ')
	if at <= 0 {
		return false
	}
	n, err := strconv.ParseFloat(string(line[at+1:]), 64)
	if err != nil || !(n >= 0) || !isDigit(line[at+1]) {
		return false
	}
	s.frames = s.frames[:0]
	for rest, more := line[:at], true; more; {
		var frame []byte
		frame, rest, more = bytes.Cut(rest, []byte{';'})
		f := s.byFrame[string(frame)]
		if f == nil {
			f = s.Function(parseFrame(string(frame)))
			s.byFrame[string(frame)] = f
		}
		s.frames = append(s.frames, f)
	}
	s.nested = s.nested || len(s.frames) > 1
	return s.Add(s.frames, roundNs(n*sampleNs))
}

var frameForm = regexp.MustCompile(`^(.*?) \((.*?)(?::[0-9]+)?\)$`)

// parseFrame splits a frame written by py-spy, "name (path:line)".
func parseFrame(frame string) (name, path string) {
	if m := frameForm.FindStringSubmatch(frame); m != nil {
		return m[1], m[2]
	}
	return strings.TrimSpace(frame), ""
}

// finish returns the profile, nil if the lines were not certainly stacks.
func (s *stackReader) finish() *Profile {
	if !s.nested {
		return nil
	}
	s.Unit, s.UnitInferred = sampleNs/1e9, true
	s.warn("collapsed stacks hold sample counts: 100 samples per second are assumed, which shares do not depend on")
	return s.Profile
}

// maxSpeedscope is the largest size of a speedscope file, in bytes.
const maxSpeedscope = 1 << 30

const speedscopeHint = "write it again (py-spy record --format speedscope)"

// readSpeedscope reads speedscope's file format: shared frames, and profiles of samples
// with weights. Profiles of all threads are added up. In memory, frames and samples
// take a few times the size of the file.
func readSpeedscope(name string, in io.Reader) (*Profile, error) {
	s := newStacks(name, Speed)
	var file struct {
		Shared struct {
			Frames []struct {
				Name, File string
			}
		}
		Profiles []speedscopeProfile
	}
	dec := json.NewDecoder(io.LimitReader(in, maxSpeedscope))
	if err := dec.Decode(&file); err != nil {
		return nil, &Error{Name: name, Msg: "JSON that is damaged or cut short", Hint: speedscopeHint}
	}
	if file.Profiles == nil || file.Shared.Frames == nil {
		return nil, &Error{Name: name, Msg: "JSON, but not of speedscope", Hint: formatsHint}
	}
	frames := make([]*Function, len(file.Shared.Frames))
	for i, f := range file.Shared.Frames {
		if name, path := parseFrame(f.Name); f.File == "" && strings.ContainsAny(path, `/\.`) { // converted from collapsed stacks
			f.Name, f.File = name, path
		}
		frames[i] = s.Function(f.Name, f.File)
	}
	for i := range file.Profiles {
		if msg := file.Profiles[i].addTo(&s, frames); msg != "" {
			return nil, &Error{Name: name, Msg: msg, Hint: speedscopeHint}
		}
	}
	return s.Profile, nil
}

type speedscopeProfile struct {
	Type, Unit string
	Samples    [][]int
	Weights    []float64
}

// speedscopeUnits maps units of weights to seconds.
var speedscopeUnits = map[string]float64{
	"seconds": 1, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9, "none": sampleNs / 1e9, "": sampleNs / 1e9,
}

// addTo adds the stacks of a profile and returns what is wrong with it, "" if nothing
// is. Negative or infinite weights and samples without frames are ignored.
func (p *speedscopeProfile) addTo(s *Stacks, frames []*Function) (wrong string) {
	unit, known := speedscopeUnits[p.Unit]
	if !known {
		return "a speedscope profile of something else than time: unit " + strconv.QuoteToASCII(p.Unit[:min(20, len(p.Unit))])
	}
	s.Unit = unit
	if unit == sampleNs/1e9 && !s.UnitInferred {
		s.UnitInferred = true
		s.warn("the weights have no unit: they are read as samples, 100 per second")
	}
	if p.Type == "evented" {
		return "a speedscope profile of calls and not of samples, as py-spy writes"
	}
	if len(p.Samples) != len(p.Weights) {
		return "samples and weights differ in number"
	}
	var stack []*Function
	for i, sample := range p.Samples {
		stack = stack[:0]
		for _, n := range sample {
			if n < 0 || n >= len(frames) {
				return "a sample has a frame that is not in the list"
			}
			stack = append(stack, frames[n])
		}
		if w := p.Weights[i]; w >= 0 && !math.IsInf(w, 0) && !s.Add(stack, roundNs(w*unit*1e9)) {
			return "a sample has too many frames"
		}
	}
	return ""
}
