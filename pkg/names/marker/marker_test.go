package marker

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// batch is a marker without a number, numbered one with.
func batch(ctx, gen int64) Counts { return Counts{Ctx: ctx, Gen: gen, HasCounts: true} }

func numbered(step, ctx, gen int64) Counts {
	return Counts{Step: step, HasStep: true, Ctx: ctx, Gen: gen, HasCounts: true}
}

var markerTests = []struct {
	text string
	want Counts
}{
	{"_forward_step: 0 ctx reqs, 4 gen reqs", batch(0, 4)},
	{"[Executor] _forward_step: 1 ctx reqs, 0 gen reqs", batch(1, 0)},
	{"[Executor] _forward_step 25: 0 ctx reqs, 12 gen reqs", numbered(25, 0, 12)},
	{"[Executor] _forward_step 23: 2 ctx reqs, 96 ctx tokens, 12 gen reqs", numbered(23, 2, 12)},
	{"_forward_step 0: 0 ctx reqs, 0 gen reqs", numbered(0, 0, 0)},
	{"_forward_step: 3 ctx reqs, 7 ctx tokens, 1 gen reqs", batch(3, 1)},
	{"_forward_step 7: 3 ctx reqs, 7 ctx tokens, 1 gen reqs", numbered(7, 3, 1)},
	{"[Executor] _forward_step: 3 ctx reqs, 7 ctx tokens, 1 gen reqs", batch(3, 1)},
	{"[Executor] _forward_step 9223372036854775807: 0 ctx reqs, 1 gen reqs", numbered(9223372036854775807, 0, 1)},
	{"_forward_step: 0 ctx reqs, 99999999999999999999 ctx tokens, 1 gen reqs", batch(0, 1)},
	{"_forward_step: 0 ctx reqs, 1 gen reqs, pp 3", batch(0, 1)},

	{"execute_context_2(512)_generation_6(6)", batch(2, 6)},
	{"execute_context_0(0)_generation_8(8)", batch(0, 8)},
	{"execute_1034_context_2(sq1026sk4096sqsq3sqsk4)_generation_8(sq8sk99sqsq8sqsk99)", batch(2, 8)},
	{"execute_8_context_0()_generation_8()", batch(0, 8)},

	{"execute_new_2_cached_14", batch(2, 14)},
	{"execute_model context_2(512) generation_0(0)", batch(2, 0)},
	{"ProfilerStep#7", Counts{Step: 7, HasStep: true}},

	{"step[DECODE bs=12]", batch(0, 12)},
	{"step[EXTEND bs=1 toks=107]", batch(1, 0)},
	{"step[PREFILL bs=3]", batch(3, 0)},
	{"step[SPLIT_PREFILL bs=2 toks=9]", batch(2, 0)},
	{"step[DRAFT_EXTEND bs=4]", batch(4, 0)},
	{"step[DRAFT_EXTEND_V2 bs=4]", batch(4, 0)},
	{"step[TARGET_VERIFY bs=5]", batch(0, 5)},
	{"step[MIXED bs=2]", batch(1, 1)},
	{"step[MIXED bs=17 toks=900]", batch(1, 16)},
	{"step[MIXED bs=1]", batch(1, 0)},
	{"step[MIXED bs=0]", batch(0, 0)},
	{"step[IDLE bs=0]", batch(0, 0)},
	{"step[IDLE bs=3]", batch(0, 0)},
	{"step[PREBUILT bs=3]", Counts{}},
}

var notMarkers = []string{
	"",
	"_", "[", "e", "s",
	"_forward_step",
	"_forward_step:",
	"_forward_step : 0 ctx reqs, 4 gen reqs",
	"_forward_step -1: 0 ctx reqs, 4 gen reqs",
	"_forward_step 1 : 0 ctx reqs, 4 gen reqs",
	"_forward_step: 0 ctx reqs",
	"_forward_step: ctx reqs, 4 gen reqs",
	"_forward_step: 0 ctx reqs, gen reqs",
	"_forward_step: 0 ctx reqs,  ctx tokens, 4 gen reqs",
	"_forward_step: 0 ctx reqs, 4 gen",
	"_forward_step: -1 ctx reqs, 4 gen reqs",
	" _forward_step: 0 ctx reqs, 4 gen reqs",
	"[Executor]_forward_step: 0 ctx reqs, 4 gen reqs",
	"[Executor] [Executor] _forward_step: 0 ctx reqs, 4 gen reqs",
	"[Executor] _forward_step 9223372036854775808: 0 ctx reqs, 1 gen reqs",
	"_forward_step: 18446744073709551617 ctx reqs, 1 gen reqs",
	"_forward_step: 0 ctx reqs, 99999999999999999999 gen reqs",
	"_forward_step_inter_pp: 0 ctx reqs, 4 gen reqs",
	"execute_context_2(512)_generation_6(6) ",
	"execute_context_2(512)_generation_6",
	"execute_context_2_generation_6(6)",
	"execute_context_(1)_generation_6(6)",
	"execute_12context_2(512)_generation_6(6)",
	"execute_context_99999999999999999999(1)_generation_6(6)",
	"execute_model",
	"execute_new_1_cached_",
	"execute_new_1_cached_2 ",
	"execute_model context_2 generation_0",
	"ProfilerStep#", "ProfilerStep*", "ProfilerStep#3 ",
	"step[DECODE bs=]",
	"step[DECODE bs=12",
	"step[DECODE bs=12x]",
	"step[DECODE]",
	"step[ bs=12]",
	"step[DE CODE bs=12]",
	"step[DECODE bs=99999999999999999999]",
	"step 12",
	"Holding GIL", "Python GC", "_prepare_inputs", "scheduler.run_batch",
}

func TestParse(t *testing.T) {
	for _, test := range markerTests {
		got, ok := Parse(test.text)
		if !ok || got != test.want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", test.text, got, ok, test.want)
		}
		if setGot, setOK := new(Set).Parse(test.text); setGot != got || setOK != ok {
			t.Errorf("zero Set: Parse(%q) = %+v, %v, want what Parse says", test.text, setGot, setOK)
		}
	}
	for _, text := range notMarkers {
		if got, ok := Parse(text); ok || got != (Counts{}) {
			t.Errorf("Parse(%q) = %+v, %v, want no marker", text, got, ok)
		}
	}
}

// The presets as expressions, obviously right and slow.
var (
	slowTensorRT = regexp.MustCompile(`^(?:\[Executor\] )?_forward_step(?: (\d+))?: (\d+) ctx reqs(?:, (?:\d+) ctx tokens)?, (\d+) gen reqs`)
	slowVLLM     = regexp.MustCompile(`^execute_(?:\d+_)?context_(\d+)\([^)]*\)_generation_(\d+)\([^)]*\)$`)
	slowNew      = regexp.MustCompile(`^execute_new_(\d+)_cached_(\d+)$`)
	slowATOM     = regexp.MustCompile(`^execute_model context_(\d+)\([^)]*\) generation_(\d+)\([^)]*\)$`)
	slowSchedule = regexp.MustCompile(`^ProfilerStep#(\d+)$`)
	slowSGLang   = regexp.MustCompile(`^step\[(\w+) bs=(\d+)[\] ]`)
)

func slowParse(text string) (Counts, bool) {
	good := true
	num := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		good = good && err == nil
		return n
	}
	var c Counts
	if m := slowTensorRT.FindStringSubmatch(text); m != nil {
		if m[1] != "" {
			c.Step, c.HasStep = num(m[1]), true
		}
		c.Ctx, c.Gen, c.HasCounts = num(m[2]), num(m[3]), true
	} else if m := slowVLLM.FindStringSubmatch(text); m != nil {
		c = batch(num(m[1]), num(m[2]))
	} else if m := slowNew.FindStringSubmatch(text); m != nil {
		c = batch(num(m[1]), num(m[2]))
	} else if m := slowATOM.FindStringSubmatch(text); m != nil {
		c = batch(num(m[1]), num(m[2]))
	} else if m := slowSchedule.FindStringSubmatch(text); m != nil {
		c = Counts{Step: num(m[1]), HasStep: true}
	} else if m := slowSGLang.FindStringSubmatch(text); m != nil {
		n := num(m[2])
		switch m[1] {
		case "DECODE", "TARGET_VERIFY":
			c = batch(0, n)
		case "EXTEND", "PREFILL", "SPLIT_PREFILL", "DLLM_EXTEND", "DRAFT_EXTEND", "DRAFT_EXTEND_V2":
			c = batch(n, 0)
		case "IDLE":
			c = batch(0, 0)
		case "MIXED":
			c = batch(1, n-1)
			if n == 0 {
				c = batch(0, 0)
			}
		}
	} else {
		return Counts{}, false
	}
	if !good {
		return Counts{}, false
	}
	return c, true
}

func FuzzParse(f *testing.F) {
	for _, test := range markerTests {
		f.Add(test.text)
	}
	for _, text := range notMarkers {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := Parse(text)
		want, wantOK := slowParse(text)
		if got != want || ok != wantOK {
			t.Errorf("Parse(%q) = %+v, %v, want %+v, %v", text, got, ok, want, wantOK)
		}
		if (ClassNVTX(text) == event.StepMarker) != (ok && !strings.HasPrefix(text, "ProfilerStep")) {
			t.Errorf("ClassNVTX(%q) = %q, but Parse says %v", text, ClassNVTX(text), ok)
		}
	})
}

func TestCompile(t *testing.T) {
	tests := []struct {
		expr, text string
		want       Counts
		ok         bool
	}{
		{`^iter (?P<step>\d+) c(?P<ctx>\d+) g(?P<gen>\d+)$`, "iter 7 c1 g2", numbered(7, 1, 2), true},
		{`^iter (?<step>\d+)`, "iter 7 c1 g2", Counts{Step: 7, HasStep: true}, true},
		{`decode (?P<gen>\d+)`, "a decode 3", batch(0, 3), true},
		{`prefill (?P<ctx>\d+)`, "prefill 3", batch(3, 0), true},
		{`^fwd(?: c=(?P<ctx>\d+))?(?: g=(?P<gen>\d+))?`, "fwd g=4", batch(0, 4), true},
		{`^fwd(?: c=(?P<ctx>\d+))?(?: g=(?P<gen>\d+))?`, "fwd", Counts{}, true},
		{`^(?:a(?P<ctx>\d+)|b(?P<gen>\d+)|c(?P<ctx>\d+))$`, "c5", batch(5, 0), true},
		{`^(?:a(?P<ctx>\d+)|b(?P<gen>\d+)|c(?P<ctx>\d+))$`, "b5", batch(0, 5), true},
		{`^(model|forward)$`, "forward", Counts{}, true},
		{`^step (?P<step>-?\d+)`, "step -1", Counts{Step: -1, HasStep: true}, true},
		{`^iter (?P<step>\d+)`, "step 7", Counts{}, false},
		{`^iter (?P<step>\w+)`, "iter abc", Counts{}, false},
		{`^iter (?P<step>\d*)`, "iter ", Counts{}, false},
		{`^iter (?P<step>\d+)`, "iter 9223372036854775808", Counts{}, false},
		{`^c (?P<ctx>-?\d+)`, "c -3", Counts{}, false},
		{`^c (?P<gen>.+)`, "c 0x3", Counts{}, false},
		{`^iter`, "_forward_step: 0 ctx reqs, 4 gen reqs", Counts{}, false},
	}
	for _, test := range tests {
		set, err := Compile(test.expr)
		if err != nil {
			t.Errorf("Compile(%q): %v", test.expr, err)
			continue
		}
		if got, ok := set.Parse(test.text); got != test.want || ok != test.ok {
			t.Errorf("%q: Parse(%q) = %+v, %v, want %+v, %v", test.expr, test.text, got, ok, test.want, test.ok)
		}
		if class := set.Class(test.text); (class == event.StepMarker) != test.ok {
			t.Errorf("%q: Class(%q) = %q", test.expr, test.text, class)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []struct{ expr, want string }{
		{``, "empty"},
		{`(`, "missing closing )"},
		{`(?P<iter>\d+)`, `named group "iter"`},
		{`(?P<Step>\d+)`, `named group "Step"`},
	}
	for _, test := range tests {
		set, err := Compile(test.expr)
		if err == nil || set != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Compile(%q) = %v, %v, want an error that says %q", test.expr, set, err, test.want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`^iter (?P<step>\d+) c(?P<ctx>\d+) g(?P<gen>\d+)$`, "iter 7 c1 g2")
	f.Add(`(?P<ctx>.*)`, "12")
	f.Add(`(`, "")
	f.Fuzz(func(t *testing.T, expr, text string) {
		set, err := Compile(expr)
		if err != nil {
			return
		}
		c, ok := set.Parse(text)
		switch {
		case !ok && c != (Counts{}):
			t.Errorf("%q: Parse(%q) = %+v, false", expr, text, c)
		case c.Ctx < 0 || c.Gen < 0,
			!c.HasStep && c.Step != 0,
			!c.HasCounts && (c.Ctx != 0 || c.Gen != 0):
			t.Errorf("%q: Parse(%q) = %+v", expr, text, c)
		}
	})
}

var (
	sinkOK   bool
	sinkText string
)

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{
		"_update_requests", "scheduler.run_batch", "aten::copy_, op_id = 314596",
		"[Executor] _forward_step 23: 0 ctx reqs, 96 ctx tokens, 12 gen reqs",
	} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, sinkOK = Parse(text)
			}
		})
	}
}

func BenchmarkSetParse(b *testing.B) {
	set, err := Compile(`^iter (?P<step>\d+) c(?P<ctx>\d+) g(?P<gen>\d+)$`)
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{"_update_requests", "iter 17 c0 g12"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, sinkOK = set.Parse(text)
			}
		})
	}
}
