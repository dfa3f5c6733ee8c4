package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// unmarked is a stream without its forward-step markers.
type unmarked struct {
	event.Source
	header event.Header
	kept   event.Batch
}

// withoutMarkers returns the rows without markers, after a header that has none.
func withoutMarkers(src event.Source) event.Source {
	u := &unmarked{Source: src, header: *src.Header()}
	u.header.Reports = append([]event.Report(nil), u.header.Reports...)
	for i := range u.header.Reports {
		r := &u.header.Reports[i]
		classes := map[string]int64{}
		for name, n := range r.Classes {
			if name != event.Classes[event.StepMarker] {
				classes[name] = n
			}
		}
		r.Classes = classes
		r.RankFacts = append([]event.RankFacts(nil), r.RankFacts...)
		for k := range r.RankFacts {
			r.RankFacts[k].Markers = 0
		}
	}
	return u
}

func (u *unmarked) Header() *event.Header { return &u.header }

func (u *unmarked) Next() (*event.Batch, error) {
	b, err := u.Source.Next()
	if err != nil {
		return nil, err
	}
	u.kept.Reset(b.Columns)
	for i := range b.Len {
		if class, ok := b.Class.Get(i); b.Kind.Values[i] != event.NVTX || !ok || class != event.StepMarker {
			u.kept.AppendRange(b, i, i+1)
		}
	}
	return &u.kept, nil
}

// stepsIn returns the number of steps of all ranks, and whether a warning or an error says that
// they are uncertain.
func stepsIn(t *testing.T, path string, marked bool) (n int, doubted bool) {
	t.Helper()
	in, err := source.Open([]string{path}, &source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	src := in.Events
	if !marked {
		src = withoutMarkers(src)
	}
	it, err := isolate.New(src, isolate.Options{Warn: func(string) { doubted = true }})
	if err == nil {
		err = event.Each(it, func(b *event.Batch) error {
			for _, kind := range b.Kind.Values[:b.Len] {
				if kind == event.Step {
					n++
				}
			}
			return nil
		})
	}
	if none := (*step.NotFound)(nil); errors.As(err, &none) {
		return 0, true
	}
	if err != nil {
		t.Fatal(path, err)
	}
	return n, doubted
}

// TestMarkersRemoved: without their markers recordings have as many steps, within 2 %, as the
// markers say, or their authors do (public ones have one), or it is said that this is uncertain.
func TestMarkersRemoved(t *testing.T) {
	traces := map[string]int{ // 0: as many as there are with markers
		"../testdata/llama_tp2.sqlite":         0,
		"../testdata/h100/eager_third.json.gz": 18,
		"../testdata/h100/torch.json.gz":       49,
		"../testdata/h100/clean.sqlite.gz":     0,
		"../testdata/h100/neighbour.sqlite.gz": 0,
	}
	if dir := os.Getenv("HOSTBOUND_KINETO"); dir != "" {
		for _, name := range []string{"b200_vllm_eager_rank0of8", "sglang_qwen3-8b_decode_mi300", "vllm_decode_fullgraph_mi300", "vllm_piecewise_mi300"} {
			traces[filepath.Join(dir, "tracelens_"+name+".json.gz")] = 1
		}
	}
	if dir := os.Getenv("HOSTBOUND_TRACES"); dir != "" {
		found, _ := filepath.Glob(filepath.Join(dir, "sim", "*.sqlite"))
		for _, path := range found {
			traces[path] = 0
		}
	}
	same := 0
	for path, want := range traces {
		if strings.HasSuffix(path, ".sqlite.gz") {
			path = testrun.Inflated(t, path)
		}
		if want == 0 {
			want, _ = stepsIn(t, path, true)
		}
		n, doubted := stepsIn(t, path, false)
		switch off := max(n, want) - min(n, want); {
		case 50*off <= want: // as the board of steps has it
			same++
		case !doubted:
			t.Errorf("%s: %d steps without markers, want %d, and no warning", path, n, want)
		}
		t.Logf("%s: %d steps without markers, %d by them, doubted %v", filepath.Base(path), n, want, doubted)
	}
	if 2*same < len(traces) {
		t.Errorf("of %d traces %d have as many steps without markers", len(traces), same)
	}
}
