package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// pythonFrame matches PyTorch's name for a Python function.
var pythonFrame = regexp.MustCompile(`^(.+\.py)\((\d+)\): (.+)$`)

// address matches the address of the object that a function belongs to.
var address = regexp.MustCompile(` at 0x[0-9a-f]+`)

// speedscopeFrame is a function in a speedscope file.
type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// stacks holds the own time of Python functions, by call stack.
type stacks struct {
	frames []speedscopeFrame
	code   map[string]int // frame indexes, by name in the trace
	at     map[string]int // sample indexes, by stack
	sample [][]int
	weight []int64
	open   map[int64][]openFrame // by thread
}

type openFrame struct {
	code       int
	end, inner int64 // ns
}

// add opens a function after closing those of its thread that end before it starts.
// Times are ns.
func (s *stacks) add(thread int64, name string, start, end int64) {
	s.close(thread, start)
	name = address.ReplaceAllString(name, "")
	code, known := s.code[name]
	if !known {
		code = len(s.frames)
		s.code[name] = code
		f := speedscopeFrame{Name: name}
		if m := pythonFrame.FindStringSubmatch(name); m != nil {
			f.File, f.Name = m[1], m[3]
			f.Line, _ = strconv.Atoi(m[2])
		}
		s.frames = append(s.frames, f)
	}
	if n := len(s.open[thread]); n > 0 {
		s.open[thread][n-1].inner += end - start
	}
	s.open[thread] = append(s.open[thread], openFrame{code, end, start - end})
}

// close closes the functions of a thread that end by until. inner is the time of the
// functions that one called less its own length; the negative of that is its own time.
func (s *stacks) close(thread, until int64) {
	all := s.open[thread]
	for n := len(all); n > 0 && all[n-1].end <= until; n-- {
		var stack []int
		for _, f := range all[:n] {
			stack = append(stack, f.code)
		}
		key := fmt.Sprint(stack)
		k, known := s.at[key]
		if !known {
			k = len(s.sample)
			s.at[key], s.sample, s.weight = k, append(s.sample, stack), append(s.weight, 0)
		}
		s.weight[k] += max(0, -all[n-1].inner)
		all = all[:n-1]
	}
	s.open[thread] = all
}

// speedscope returns the stacks as a speedscope file.
func (s *stacks) speedscope() ([]byte, error) {
	return json.Marshal(map[string]any{
		"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": map[string]any{"frames": s.frames},
		"profiles": []any{map[string]any{"type": "sampled", "name": "Python", "unit": "nanoseconds", "startValue": 0, "endValue": 0, "samples": s.sample, "weights": s.weight}},
	})
}

// pythonStacks returns the profile of Python functions, without lines, in a trace that
// PyTorch's profiler recorded with_stack. It is nil if the file is no such trace.
func (p *profiling) pythonStacks(path string) (*lineprof.Profile, error) {
	if f := source.Recognise(path); f == nil || f.Reports != "PyTorch profiler" {
		return nil, nil
	}
	s := &stacks{code: map[string]int{}, at: map[string]int{}, open: map[int64][]openFrame{}}
	read := cli.Command{Name: p.Name, Flags: Torch2arrow.Flags, Run: Body(func(w *Plan) error {
		src, err := w.Events(source.Raw, true)
		if err != nil {
			return err
		}
		domain := int32(slices.Index(src.Header().Values(event.ColDomain), "python"))
		return event.Each(src, func(b *event.Batch) error {
			for i := range b.Len {
				if b.Domain.Valid.Get(i) && b.Domain.Values[i] == domain {
					s.add(b.Thread.Values[i], string(b.Name.Get(i)), b.Start.Values[i], b.End.Values[i])
				}
			}
			return nil
		})
	})}
	if cli.Run(&read, []string{"--python", "--", path}, strings.NewReader(""), io.Discard, p.Stderr) != 0 {
		return nil, cli.Misuse(path+": the trace cannot be read", "see above")
	}
	for thread := range s.open {
		s.close(thread, 1<<62)
	}
	if len(s.frames) == 0 {
		return nil, cli.Misuse(path+": a trace without functions of Python", "record it with with_stack=True, or give it as --evidence beside a profile of lines")
	}
	text, err := s.speedscope()
	if err != nil {
		return nil, err
	}
	return lineprof.Read(path, bytes.NewReader(text))
}
