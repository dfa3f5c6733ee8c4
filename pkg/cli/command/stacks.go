package command

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// pythonFrame matches PyTorch's name for a Python function.
var pythonFrame = regexp.MustCompile(`^(.+\.py)\(\d+\): (.+)$`)

// address matches the address of the object that a function belongs to.
var address = regexp.MustCompile(` at 0x[0-9a-f]+`)

// stacks sums up the own time of Python functions, by call stack.
type stacks struct {
	*lineprof.Stacks
	open  map[int64][]openFrame // by thread
	stack []*lineprof.Function  // memory of close
	deep  bool                  // some stack is too deep
}

type openFrame struct {
	of         *lineprof.Function
	end, inner int64 // ns
}

// add opens a function after closing those of its thread that end before it starts.
// Times are ns.
func (s *stacks) add(thread int64, name string, start, end int64) {
	s.close(thread, start)
	name, file := address.ReplaceAllString(name, ""), ""
	if m := pythonFrame.FindStringSubmatch(name); m != nil {
		file, name = m[1], m[2]
	}
	if n := len(s.open[thread]); n > 0 {
		s.open[thread][n-1].inner += end - start
	}
	s.open[thread] = append(s.open[thread], openFrame{s.Function(name, file), end, start - end})
}

// close closes the functions of a thread that end by until. inner is the time of the
// functions that one called less its own length; the negative of that is its own time.
func (s *stacks) close(thread, until int64) {
	all := s.open[thread]
	for n := len(all); n > 0 && all[n-1].end <= until; n-- {
		s.stack = s.stack[:0]
		for _, f := range all[:n] {
			s.stack = append(s.stack, f.of)
		}
		s.deep = s.deep || !s.Add(s.stack, max(0, -all[n-1].inner))
		all = all[:n-1]
	}
	s.open[thread] = all
}

// pythonStacks returns the profile of Python functions, without lines, in a trace that
// PyTorch's profiler recorded with_stack. It is nil if the file is no such trace.
func (p *profiling) pythonStacks(path string) (*lineprof.Profile, error) {
	if f := source.Recognise(path); f == nil || f.Reports != "PyTorch profiler" {
		return nil, nil
	}
	s := &stacks{Stacks: lineprof.NewStacks(filepath.Base(path)), open: map[int64][]openFrame{}}
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
	switch {
	case len(s.Functions) == 0:
		return nil, cli.Misuse(path+": a trace without functions of Python", "record it with with_stack=True, or give it as --evidence beside a profile of lines")
	case s.deep:
		return nil, cli.Misuse(path+": a stack of Python has too many frames", "record it again")
	}
	return s.Profile, nil
}
