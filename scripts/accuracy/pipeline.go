package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// export writes the traces of one run as files into a new folder, which the caller
// removes.
func export(traces []*sim.Trace, opt sim.Options) (dir string, files []string, err error) {
	if dir, err = os.MkdirTemp("", "accuracy"); err != nil {
		return "", nil, err
	}
	for i, t := range traces {
		file := filepath.Join(dir, fmt.Sprintf("report%d.sqlite", i))
		if err := t.WriteSQLite(file, opt); err != nil {
			return dir, nil, err
		}
		files = append(files, file)
	}
	return dir, files, nil
}

// foundStep is one step row: its extent in ns, and its requests, -1 if unknown.
type foundStep struct{ start, end, ctx, gen int64 }

// isolation is what isolate makes of some files.
type isolation struct {
	method   string
	steps    map[int32][]foundStep
	windows  map[int32]foundStep // benchmark windows by rank; their requests are unknown
	warnings []string            // warnings of the verdict's JSON
	verdict  string
	refused  string // why there are no steps, "" if there are
}

// stepsOf finds the steps of files as the commands do, and collects the verdict's
// warnings.
func stepsOf(files []string, by string) isolation {
	result := isolation{steps: map[int32][]foundStep{}, windows: map[int32]foundStep{}}
	err := inProcess(&command.Verdict, append([]string{"--by", by}, files...), func(c *command.Plan) error {
		src, err := c.Events(source.Phased, false)
		if err != nil {
			return err
		}
		result.method = src.Header().Isolation.Method
		return event.Each(src, func(b *event.Batch) error {
			result.take(b)
			return nil
		})
	})
	if err != nil {
		result.refused = err.Error()
		return result
	}
	err = inProcess(&command.Verdict, append([]string{"--by", by}, files...), func(c *command.Plan) error {
		r, err := c.Verdict()
		if err != nil {
			return err
		}
		result.warnings, result.verdict = r.Warnings, r.Verdict
		return nil
	})
	if err != nil {
		result.refused = err.Error()
	}
	return result
}

func (s *isolation) take(b *event.Batch) {
	for i := range b.Len {
		f := foundStep{b.Start.Values[i], b.End.Values[i], -1, -1}
		switch b.Kind.Values[i] {
		case event.Window:
			s.windows[b.Rank.Values[i]] = f
		case event.Step:
			if n, ok := b.Ctx.Get(i); ok {
				f.ctx = n
			}
			if n, ok := b.Gen.Get(i); ok {
				f.gen = n
			}
			r := b.Rank.Values[i]
			s.steps[r] = append(s.steps[r], f)
		}
	}
}

// caveats are parts of warnings that say nothing about the steps. They also come with
// right steps, so they do not excuse wrong ones.
var caveats = []string{
	"NCCL kernels take", "the YES rests on idle GPUs alone", "the verdict is borderline", "graph replays recorded as a whole",
	"kernel launches without a kernel", "have no launching call", "too few for reliable figures",
	"are analysed: ", "how many GPUs run collectives together", "have no match on another rank", "ran without a graph replay and count as context",
}

// about returns the warnings about steps.
func (s *isolation) about() []string {
	return slices.DeleteFunc(slices.Clone(s.warnings), func(w string) bool {
		return slices.ContainsFunc(caveats, func(c string) bool { return strings.Contains(w, c) })
	})
}

// warned reports whether a reader of the JSON learns that the steps may be wrong, or that
// the trace cannot answer.
func (s *isolation) warned() bool {
	return len(s.about()) > 0 || s.verdict == verdict.Inconclusive
}

// inProcess calls run with the flags of a command, in this process.
func inProcess(of *cli.Command, args []string, run func(*command.Plan) error) (failed error) {
	var stderr bytes.Buffer
	cmd := &cli.Command{Name: "accuracy", Flags: of.Flags, Run: command.Body(func(c *command.Plan) error {
		failed = run(c)
		return failed
	})}
	status := cli.Run(cmd, args, strings.NewReader(""), io.Discard, &stderr)
	if failed == nil && status != 0 {
		failed = fmt.Errorf("status %d: %s", status, stderr.String())
	}
	return failed
}
