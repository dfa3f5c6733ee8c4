package marker

import (
	"regexp"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

func TestClassNVTX(t *testing.T) {
	tests := []struct {
		text string
		want event.Class
	}{
		{"[Executor] _forward_step 23: 0 ctx reqs, 96 ctx tokens, 12 gen reqs", event.StepMarker},
		{"execute_context_2(512)_generation_6(6)", event.StepMarker},
		{"step[PREBUILT bs=3]", event.StepMarker},
		{"_prepare_tp_inputs", event.Prep},
		{"_prepare_inputs", event.Prep},
		{"gpu_model_runner: prepare_inputs", event.Prep},
		{"prepare_resources", event.Range},
		{"prepare_tp_inputs", event.Range},
		{"Holding GIL", event.GIL},
		{"Waiting for GIL", event.GIL},
		{"Waiting for GIL (take_gil)", event.GIL},
		{"Not Holding GIL", event.Range},
		{"Python GC", event.GC},
		{"Python GC, generation 2", event.GC},
		{"python gc", event.Range},
		{"_forward_step", event.Range},
		{"aten::copy_, op_id = 314596", event.Range},
		{"FSDP::post_forward (encoder.block.15.layer.0), op_id = 314590", event.Range},
		{"Step 220 to 230", event.Range},
		{"", event.Range},
	}
	for _, test := range tests {
		if got := ClassNVTX(test.text); got != test.want {
			t.Errorf("ClassNVTX(%q) = %q, want %q", test.text, got, test.want)
		}
	}
	for _, name := range PrepNames() {
		if got := ClassNVTX("x " + name + " y"); got != event.Prep {
			t.Errorf("ClassNVTX of a text with %s = %q, want %q", name, got, event.Prep)
		}
	}
}

func TestGILStateOf(t *testing.T) {
	for text, want := range map[string]GILState{
		"Holding GIL": HoldingGIL, "Waiting for GIL": WaitingGIL, "Holding": NoGIL, "": NoGIL,
	} {
		if got := GILStateOf(text); got != want {
			t.Errorf("GILStateOf(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	tests := []struct{ name, want string }{
		{"", ""},
		{"_schedule", "_schedule"},
		{"7", "#"},
		{"a1b22c333", "a#b#c#"},
		{"[Executor] _forward_step 23: 0 ctx reqs, 12 gen reqs", "[Executor] _forward_step #: # ctx reqs, # gen reqs"},
		{"FSDP::pre_forward (encoder.block.4.layer.1), op_id = 318605", "FSDP::pre_forward (encoder.block.#.layer.#), op_id = #"},
		{"1.5", "#.#"},
		{"##1#", "####"},
		{"É1٣", "É#٣"},
	}
	for _, test := range tests {
		if got := Fold(test.name); got != test.want {
			t.Errorf("Fold(%q) = %q, want %q", test.name, got, test.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { sinkText = Fold("_fetch_new_requests") }); n != 0 {
		t.Errorf("Fold allocates %v times for a name without digits, want 0", n)
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

func FuzzFold(f *testing.F) {
	f.Add("a1b22c333")
	f.Add("##1#\xff")
	f.Fuzz(func(t *testing.T, name string) {
		once := Fold(name)
		if want := foldSlowly(name); once != want {
			t.Errorf("Fold(%q) = %q, want %q", name, once, want)
		}
		if twice := Fold(once); twice != once {
			t.Errorf("Fold(%q) = %q, but Fold of that is %q", name, once, twice)
		}
	})
}

func foldSlowly(name string) string {
	return string(digits.ReplaceAllLiteral([]byte(name), []byte("#")))
}

func BenchmarkClassNVTX(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sinkText = ClassNVTX("gpu_model_runner: postprocess").String()
	}
}

func BenchmarkFold(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sinkText = Fold("[Executor] _forward_step 23: 0 ctx reqs, 12 gen reqs")
	}
}
