package sim

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// traceFiles are the odd cases, which other packages test with, too.
func traceFiles(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../../testdata/traces/*.trace")
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d trace files, %v", len(paths), err)
	}
	files := make(map[string]string)
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(p)] = string(data)
	}
	return files
}

// TestTraceFiles wants each to say what is odd about it, to be read, and to
// make an export.
func TestTraceFiles(t *testing.T) {
	for name, text := range traceFiles(t) {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(text, "# ") {
				t.Error("the first line does not say what is odd")
			}
			tr, opt, err := ParseText(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if tr.Rows() == 0 && name != "nothing.trace" {
				t.Error("no rows")
			}
			w := write(t, tr, opt)
			if tr.Kernels.Len() > 0 && len(w.ints("CUPTI_ACTIVITY_KIND_KERNEL", "start")) != tr.Kernels.Len() {
				t.Error("not all kernels were written")
			}
			roundTrip(t, tr, opt)
		})
	}
}

// roundTrip wants a trace to survive being written as text and read again.
func roundTrip(t *testing.T, tr *Trace, opt Options) {
	t.Helper()
	var first, second bytes.Buffer
	if err := formatText(&first, tr, opt); err != nil {
		t.Fatal(err)
	}
	again, opt2, err := ParseText(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, first.String())
	}
	if err := formatText(&second, again, opt2); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("not the same after reading it back:\n%s\nthen:\n%s", first.String(), second.String())
	}
	if tr.Rows() != again.Rows() {
		t.Errorf("%d rows, then %d", tr.Rows(), again.Rows())
	}
}

// TestDocumentedExample runs the example of the package's documentation.
func TestDocumentedExample(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m)^//\t# a generation step(?s:.*?)^//$`).FindString(string(doc))
	example = strings.ReplaceAll(example, "//\t", "")
	tr, opt, err := ParseText(strings.NewReader(strings.TrimSuffix(example, "//")))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, example)
	}
	if tr.Kernels.Len() != 1 || tr.Calls.Len() != 1 || tr.NVTX.Len() != 2 {
		t.Errorf("rows: %d kernels, %d calls, %d NVTX", tr.Kernels.Len(), tr.Calls.Len(), tr.NVTX.Len())
	}
	w := write(t, tr, opt)
	texts := w.strings()
	if got := texts[w.ints("CUPTI_ACTIVITY_KIND_KERNEL", "shortName")[0]]; got != "allreduce_fusion_kernel_oneshot_lamport" {
		t.Errorf("kernel %q", got)
	}
	if got := texts[w.ints("NVTX_EVENTS", "textId")[1]]; got != "[Executor] _forward_step 1: 0 ctx reqs, 0 ctx tokens, 4 gen reqs" {
		t.Errorf("marker %q", got)
	}
	// Every statement the grammar lists is one.
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z]+) [A-Z]`).FindAllStringSubmatch(string(doc), -1) {
		_, _, err := ParseText(strings.NewReader("process 1\n" + m[1]))
		if err == nil || strings.Contains(err.Error(), "no statement") {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}

func TestTextForms(t *testing.T) {
	tr, opt, err := ParseText(strings.NewReader("process 5\nrange 0 1us a\nrange 1us 2us b literal\nrange 3us - \"c\\\"\" json\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := write(t, tr, opt)
	ids, texts, jsons, ends := w.ints("NVTX_EVENTS", "textId"), w.texts("NVTX_EVENTS", "text"), w.texts("NVTX_EVENTS", "jsonText"), w.ints("NVTX_EVENTS", "end")
	if ids[0] == null || texts[0] != "" || ids[1] != null || texts[1] != "b" || jsons[1] != "" ||
		jsons[2] != `{"message":"c\"","payload":null}` || ends[2] != null || ends[0] != 1000 {
		t.Errorf("ids %d, texts %q, JSON %q, ends %d", ids, texts, jsons, ends)
	}
}

func TestTextErrors(t *testing.T) {
	cases := []struct{ text, want string }{
		{"# fine\n\nbogus 1", `line 3: "bogus" is no statement`},
		{"kernel 1us 2us k", "line 1: kernel before the first process"},
		{"process 1\nkernel 1us", "line 2: the end is missing"},
		{"process 1\nkernel 1us 2us", "line 2: the name is missing"},
		{"process 1\nkernel 1us 2 k", `line 2: end "2" is not a time like 15us`},
		{"process 1\nkernel 1us 2us k more", `line 2: "more" is too much`},
		{"process 1\nkernel 1us 2us k color=3", "line 2: color= is not an option here"},
		{"process 1\nkernel 1us 2us k corr=5 corr=6", "line 2: corr= is there twice"},
		{"process 1\nkernel 1us 2us k corr=x", `line 2: corr "x" is not a number of at most 32 bits`},
		{"process 1\nkernel 1us 2us k corr=4294967296", "32 bits"},
		{"process 16777216", "line 1: pid"},
		{"process 1 hw=256", "8 bits"},
		{"process 1\nrange 1us 2us \"open", "line 2: \"open: the quotes do not close"},
		{"process 1\nrange 1us 2us \"a\"b", "no space after the quotes"},
		{"schema 4", "line 1: schema"},
		{"session utc=soon", "line 1: utc"},
		{"session shift=5", "line 1: shift"},
		{"gpu one", "line 1: gpu"},
		{"process", "line 1: the pid is missing"},
		{strings.Repeat("x", maxTextLine+1), "line 1: "},
	}
	for _, c := range cases {
		_, _, err := ParseText(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %s", c.text, err, c.want)
		}
	}
	tr := &Trace{Processes: []Process{{PID: 1}, {PID: 1}}}
	if err := formatText(&bytes.Buffer{}, tr, Options{}); err == nil {
		t.Error("two processes of one pid were written as text")
	}
}

// FuzzParseText wants no input to panic, and what is read to survive a round
// trip.
func FuzzParseText(f *testing.F) {
	for _, text := range traceFiles(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tr, opt, err := ParseText(strings.NewReader(text))
		if err != nil {
			return
		}
		for k := range tr.Kernels.All() {
			if short, _ := tr.KernelText(k.Name); short == "" {
				return // the name made up for an empty one is not empty
			}
		}
		roundTrip(t, tr, opt)
	})
}
