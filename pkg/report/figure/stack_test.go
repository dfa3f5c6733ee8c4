package figure

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// some are stacks with hostile names, and two that are one.
func some() []Stack {
	device := int32(0)
	return []Stack{
		{Rank: 1, Device: &device, Phase: "generation", Cause: "host:a;b", Why: "blocked:lock", Evidence: Exact, Path: []string{"step\n#", "a;b"}, Ns: 700},
		{Rank: 0, Phase: "", Cause: "queued", Leaf: "nvjet", Ns: 1},
		{Rank: 1, Device: &device, Phase: "generation", Cause: "host:a;b", Why: "blocked:lock", Evidence: Exact, Path: []string{"step\n#", "a;b"}, Ns: 299},
		{Rank: 0, Phase: "context", Cause: "sync", Why: "spin", Evidence: Exact, Path: []string{"\x1b\u202e[31m", ""}, Leaf: "cudaStreamSynchronize", Ns: 1 << 40},
		{Rank: 0, Cause: "tail", Ns: 0},
	}
}

// total is what the weights of some add up to.
const total = 1<<40 + 1000

func written(t *testing.T, path string) []byte {
	t.Helper()
	var b [2]bytes.Buffer
	for i := range b {
		if err := StackWriter(path)(&b[i], some()); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(b[0].Bytes(), b[1].Bytes()) {
		t.Errorf("%s: equal stacks, other bytes", path)
	}
	return b[0].Bytes()
}

func TestFolded(t *testing.T) {
	got := string(written(t, "x.folded"))
	want := "rank 0;context;sync;spin;\ufffd\ufffd[31m;?;cudaStreamSynchronize 1099511627776\n" +
		"rank 0;outside of steps;queued;nvjet 1\nrank 1;generation;host:a,b;blocked:lock;step #;a,b 999\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPprof(t *testing.T) {
	p, err := profile.ParseData(written(t, "x.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, s := range p.Sample {
		sum += s.Value[1]
	}
	if sum != total || len(p.Sample) != 3 || p.DefaultSampleType != "gpu_idle" || p.TimeNanos != 0 {
		t.Errorf("%d ns in %d samples, default %s", sum, len(p.Sample), p.DefaultSampleType)
	}
	s := p.Sample[2]
	if s.Location[0].Line[0].Function.Name != "a,b" || s.Label["why"][0] != "blocked:lock" || s.Label["device"][0] != "0" || s.Value[0] != 2 {
		t.Errorf("sample %v", s)
	}
	if _, ok := p.Sample[1].Label["device"]; ok {
		t.Error("a device that is not known")
	}
}

func TestSpeedscope(t *testing.T) {
	var f speedscope
	if err := json.Unmarshal(written(t, "x.speedscope.json"), &f); err != nil {
		t.Fatal(err)
	}
	p := f.Profiles[0]
	sum := int64(0)
	for i, w := range p.Weights {
		sum += w
		for _, k := range p.Samples[i] {
			if k >= len(f.Shared.Frames) {
				t.Fatalf("frame %d of %d", k, len(f.Shared.Frames))
			}
		}
	}
	if sum != total || p.End != total || len(p.Samples) != len(p.Weights) || p.Unit != "nanoseconds" {
		t.Errorf("%d ns, ends at %d, %d samples", sum, p.End, len(p.Samples))
	}
}

func TestNothing(t *testing.T) {
	for _, ext := range StackExtensions {
		var b bytes.Buffer
		if err := StackWriter("x"+ext)(&b, nil); err != nil {
			t.Errorf("%s: %v", ext, err)
		}
	}
	if StackWriter("x.svg") != nil {
		t.Error("x.svg is written")
	}
}

func Example() {
	stacks := []Stack{{Phase: "generation", Cause: "host:_prepare_inputs", Why: "running", Path: []string{"_prepare_inputs"}, Ns: 1_500_000}}
	_ = StackWriter("idle.folded")(os.Stdout, stacks)
	// Output: rank 0;generation;host:_prepare_inputs;running;_prepare_inputs 1500000
}

// The weights of collapsed stacks are whole numbers at the ends of the lines.
func TestFoldedWeights(t *testing.T) {
	sum := int64(0)
	for line := range strings.Lines(string(written(t, "y.folded"))) {
		n, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if sum != total {
		t.Errorf("%d ns, want %d", sum, int64(total))
	}
}
