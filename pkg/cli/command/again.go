package command

import (
	"io"
	"os"
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// keptInput is standard input with a copy in a temporary file. An analysis must read
// the input again if it turns out only at the end that there are no steps.
type keptInput struct {
	in   io.Reader
	copy *os.File // nil if no copy is kept
	err  error    // error of writing the copy, which prevents reading again
}

// keepInput keeps a copy of standard input until the command ends. It returns nil if
// standard input is not read.
func (r *reader) keepInput() (*keptInput, error) {
	if !fromStdin(r.files) || cli.IsTerminal(r.stdin) {
		return nil, nil
	}
	f, err := os.CreateTemp("", "hostbound-stdin-")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // nothing is left behind, however the command ends
	r.Cleanup(func() { f.Close() })
	k := &keptInput{in: r.stdin, copy: f}
	r.stdin = k
	return k, nil
}

// Read implements io.Reader.
func (k *keptInput) Read(p []byte) (int, error) {
	n, err := k.in.Read(p)
	if k.copy != nil && k.err == nil {
		_, k.err = k.copy.Write(p[:n])
	}
	return n, err
}

// again returns the input from its beginning, nil if no copy was kept.
func (k *keptInput) again() (io.ReadSeeker, error) {
	if k == nil || k.copy == nil {
		return nil, nil
	}
	if _, err := io.Copy(io.Discard, k); err != nil {
		return nil, err
	}
	if k.err != nil {
		return nil, k.err
	}
	_, err := k.copy.Seek(0, io.SeekStart)
	return k.copy, err
}

// mayReadAgain reports whether the steps of rows with a header may turn out not to be
// identifiable after they were read.
func (r *reader) mayReadAgain(h *event.Header) bool {
	if h.LeftOut() || r.finding.none || r.finding.strict {
		return false
	}
	return isolate.MayBeUnclear(h, r.steps())
}

// allUnclear reports whether the window rows of a stream say that the steps of no rank
// could be identified.
func allUnclear(in *source.Input, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	defer in.Close()
	clear := false
	err = event.Each(in.Events, func(b *event.Batch) error {
		for i, kind := range b.Kind.Values[:b.Len] {
			clear = clear || kind == event.Window && b.Step.Valid.Get(i)
		}
		return nil
	})
	return !clear, err
}

// dropSteps returns a stream whose steps could not be identified without its step and
// window rows.
func dropSteps(src event.Source) (event.Source, error) {
	var kinds []event.Kind
	for code := range event.Kinds {
		if kind := event.Kind(code); kind != event.Step && kind != event.Window {
			kinds = append(kinds, kind)
		}
	}
	rows, err := (&checkpoint.Selection{Kinds: slices.Clip(kinds)}).Filter(src)
	if err != nil {
		return nil, err
	}
	return step.Relabel(rows, src.Header(), &event.Isolation{Method: step.None}), nil
}
