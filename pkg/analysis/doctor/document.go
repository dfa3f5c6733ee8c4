package doctor

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// tones are the tones of the answers.
var tones = map[Can]report.Tone{Yes: report.Good, InPart: report.Warn, No: report.Bad}

// answer says whether a question can be answered, and by what. If a command answers it,
// it is not YES or NO, which could be mistaken for the answer itself.
func (q *Question) answer() report.Text {
	toned := func(s string) report.Text { return report.Textf("%s", report.Toned(tones[q.Can], s)) }
	switch {
	case q.Command == "":
		return toned(strings.ToUpper(string(q.Can)))
	case q.Can == No:
		return toned("Cannot be answered")
	case q.Can == InPart:
		return append(toned("Answered in part"), report.Textf(" by %s", report.Command(q.Command))...)
	}
	return append(toned("Answered"), report.Textf(" by %s", report.Command(q.Command))...)
}

// Document returns the diagnosis as a document.
func (d *Diagnosis) Document() *report.Document {
	answered := 0
	for _, q := range d.Questions {
		if q.Can == Yes {
			answered++
		}
	}
	doc, first := report.New(report.Textf("This recording answers %d of %d questions", answered, len(d.Questions)))
	parts := []string{report.Counted(len(d.Reports), "report"), report.Counted(d.Ranks, "rank")}
	for _, one := range [][2]string{{"kernel", "kernel"}, {"graph", "whole graph replay"}, {"api", "CUDA call"}, {"nvtx", "range"}} {
		if n := d.Rows[one[0]]; n > 0 {
			parts = append(parts, report.Counted(n, one[1]))
		}
	}
	first.Say("%s.", strings.Join(parts, ", "))
	command := "engine"
	if text := event.WorkloadText(d.Workload); text != "" {
		first.Say("%s%s; steps have no phases.", strings.ToUpper(text[:1]), text[1:])
		command = "command"
	}
	for _, q := range d.Questions {
		s := doc.Section(q.Question)
		s.Say("%s: %s.", q.answer(), q.Because)
		if q.Instead != "" {
			s.Say("To do: %s.", q.Instead)
		}
	}
	doc.Section("Warnings").Items(d.Warnings)
	d.proposeSteps(doc.Section("Ranges that recur, and may be steps"))
	missing := doc.Section("Record what is missing")
	if d.Torch != "" {
		missing.Say("With PyTorch's profiler, in a loop of your own:")
		missing.Code(d.Torch)
		if d.Workload == "" {
			missing.Say("In an engine:")
			missing.Code(report.TorchEngines)
		}
		missing.Say("%s", report.TorchStacks)
	}
	if d.Record != "" {
		missing.Say("With Nsight Systems:")
		missing.Code(d.Record + "\n" + report.Export)
		missing.Say("%s does this for a given %s.", report.Command("scripts/capture.sh"), command)
	}
	if d.ROCm != "" {
		if d.ROCm == report.Rocprof {
			missing.Say("With rocprofv3:")
		} else {
			missing.Say("With AMD's ROCm Systems Profiler, whose samples these filters do not read:")
		}
		missing.Code(d.ROCm)
	}
	return doc
}
