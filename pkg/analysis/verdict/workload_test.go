package verdict

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestWorkload wants nothing said of tokens, requests and engines to who trains or runs a
// diffusion model, with steps and without, by either profiler.
func TestWorkload(t *testing.T) {
	values := []float64{0.5, 0.2, na, na, na, 0.5, 0, 0, 0}
	for _, workload := range []string{event.Training, event.Diffusion} {
		for _, source := range []string{"torch", "nsys"} {
			for _, without := range []bool{false, true} {
				in := metrics(t, plainRun, map[string][]float64{metric.Aggregate: values})
				in.Phases, in.Workload, in.Source, in.NoSteps = nil, workload, source, without
				if without {
					in.Method, in.Window = "", metric.WindowTrace
				}
				r := Decide(in, Defaults())
				if r.Training != (workload == event.Training) || r.Workload != workload {
					t.Errorf("%s: training %v, workload %q", workload, r.Training, r.Workload)
				}
				var text bytes.Buffer
				if err := report.Markdown(&text, r.Document(), report.Options{}); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(text.String(), "steps have no phases") {
					t.Errorf("%s: it is not said that it is:\n%s", workload, &text)
				}
				for _, not := range []string{"tokens/s", "vLLM", "TensorRT-LLM", "trtllm", "requests", "inference", "prefill"} {
					if strings.Contains(text.String(), not) {
						t.Errorf("%s of %s, without steps %v: %q in\n%s", workload, source, without, not, &text)
					}
				}
			}
		}
	}
}
