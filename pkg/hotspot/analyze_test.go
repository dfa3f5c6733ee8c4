package hotspot

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/report"
)

// line is one line of a made-up function: hits, us per hit, source.
type line struct {
	hits   int64
	us     float64
	source string
}

// fn makes a profiled function of lines.
func fn(name, file string, first int, lines ...line) *lineprof.Function {
	f := &lineprof.Function{Name: name, File: file, Line: first, SelfNs: -1, Calls: -1}
	for i, l := range lines {
		one := lineprof.Line{Number: first + i, Hits: l.hits, Source: l.source}
		if l.hits > 0 {
			one.Ns, one.Time = int64(math.Round(l.us*1e3*float64(l.hits))), lineprof.Exact
		}
		f.Ns += one.Ns
		f.Lines = append(f.Lines, one)
	}
	return f
}

func profile(fns ...*lineprof.Function) *lineprof.Profile {
	return &lineprof.Profile{Name: "p.txt", Format: lineprof.Text, Unit: 1e-9, Runs: 1, Functions: fns}
}

// at returns the hotspot of a line, and fails where there is none.
func at(t *testing.T, r *Report, function string, number int) Hotspot {
	t.Helper()
	for _, h := range r.Hotspots {
		if h.Function == function && h.Line == number {
			return h
		}
	}
	t.Fatalf("no hotspot at %s:%d in %+v", function, number, r.Hotspots)
	return Hotspot{}
}

// TestCommonNames: a method with a name that many classes have is called where its entries
// and its time are the line's, however the object is called, and nowhere else.
func TestCommonNames(t *testing.T) {
	for _, hits := range []int64{5, 6} {
		r := Analyze([]*lineprof.Profile{profile(
			fn("main", "prog.py", 30,
				line{0, 0, "def main():"},
				line{hits, 93_248, "    e.step()"}),
			fn("step", "prog.py", 23,
				line{0, 0, "    def step(self):"},
				line{5, 93_000, "        time.sleep(0.09)"}),
		)}, Options{})
		if h := r.Hotspots[0]; (h.Function == "step") != (hits == 5) || (r.ProfiledNs == 5*93_248_000) != (hits == 5) {
			t.Errorf("%d hits: profiled %d ns, first %+v", hits, r.ProfiledNs, h)
		}
	}
}

// TestIterations: a loop goes over 64 items, whether its header counts when there are no
// more or not.
func TestIterations(t *testing.T) {
	for _, header := range []int64{12_800, 13_000} {
		r := Analyze([]*lineprof.Profile{profile(fn("schedule", "x.py", 9,
			line{0, 0, "def schedule(self):"},
			line{200, 0.1, "    total = 0"},
			line{header, 0.1, "    for r in self.reqs:"},
			line{12_800, 0.3, "        total += r.length"},
			line{200, 0.1, "    return total"}))}, Options{})
		if h := at(t, r, "schedule", 11); !slices.ContainsFunc(h.Evidence, func(e string) bool { return strings.HasPrefix(e, "64 iterations each time") }) {
			t.Errorf("header of %d hits: %q", header, h.Evidence)
		}
	}
}

// TestOnce: what ran once is not said to save time in each step.
func TestOnce(t *testing.T) {
	r := Analyze([]*lineprof.Profile{profile(fn("workload", "workload.py", 30,
		line{0, 0, "def workload(cfg):"},
		line{1, 200_000, "    model = Block(cfg).to('cuda')"},
		line{33, 10, "    for i, batch in enumerate(loader):"},
		line{32, 48_000, "        torch.cuda.synchronize()"}))}, Options{Steps: 32})
	if text := markdown(t, r); !strings.Contains(text, "ran once in all") || !strings.Contains(text, "Saves 100 ms to 180 ms once, ") || !strings.Contains(text, " per step, ") {
		t.Error(text)
	}
}

// markdown is a report as Markdown.
func markdown(t *testing.T, r *Report) string {
	var b bytes.Buffer
	if err := report.Markdown(&b, r.Document(View{}), report.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestOneCountsOnce: a line that calls a profiled function counts in it, and shares are
// of the outermost function.
func TestOneCountsOnce(t *testing.T) {
	r := Analyze([]*lineprof.Profile{profile(
		fn("Engine.step", "engine.py", 10,
			line{0, 0, "def step(self):"},
			line{100, 900, "    self.prepare_batch()"},
			line{100, 100, "    torch.cuda.synchronize()"}),
		fn("Engine.prepare_batch", "engine.py", 50,
			line{0, 0, "def prepare_batch(self):"},
			line{100, 800, "    self.table = torch.zeros(8, device='cuda')"}),
	)}, Options{})
	if r.ProfiledNs != 100_000_000 || r.Steps != 100 || r.StepsFrom != "Engine.step" {
		t.Errorf("profiled %d ns in %d steps, by %s", r.ProfiledNs, r.Steps, r.StepsFrom)
	}
	sum := 0.0
	for _, h := range r.Hotspots {
		sum += h.Share
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("shares add up to %g", sum)
	}
	if h := at(t, r, "Engine.step", 11); math.Abs(h.TimeUs-10_000) > 1 {
		t.Errorf("the calling line has %g us of its own, want 10000", h.TimeUs)
	}
	if h := r.Hotspots[0]; h.Line != 51 || h.Type != Alloc || h.Scope != PerStep || h.Share != 0.8 || *h.UsPerStep != 800 {
		t.Errorf("%+v", h)
	}
	if f := r.Functions; len(f) != 2 || !f[0].Root || f[1].Root || f[1].Share != 0.8 {
		t.Errorf("%+v", f)
	}
}

// A function that calls itself counts once, and neither it nor one that is profiled is to be profiled.
func TestRecursive(t *testing.T) {
	r := Analyze([]*lineprof.Profile{profile(
		fn("outer", "tree.py", 20, line{0, 0, "def outer(k):"}, line{40, 5_000, "    for i in range(k):"}, line{40, 25_000, "        walk(i)"}),
		fn("walk", "tree.py", 4, line{0, 0, "def walk(n):"}, line{10_000, 0.5, "    if n < 2: return n"}, line{4_000, 223.75, "    return walk(n-1) + walk(n-2)"}),
	)}, Options{})
	if r.ProfiledNs != 1_200_000_000 || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "walk calls itself") {
		t.Errorf("profiled %d ns, %q", r.ProfiledNs, r.Warnings)
	}
	for _, h := range r.Hotspots {
		if h.Sub == Opaque {
			t.Errorf("line %d is to be profiled", h.Line)
		}
	}
	for _, d := range r.DrillDown {
		if !d.Profiled {
			t.Errorf("%+v", d)
		}
	}
}

// TestAttribution: each time counts once, whatever a function begins with, however many have its
// name, and where they are called from.
func TestAttribution(t *testing.T) {
	loop := func(file string, turns int64, us float64) *lineprof.Function {
		return fn("f", file, 30, line{0, 0, "def f(reqs):"},
			line{1000 * (turns + 1), 0, "    for r in reqs:"}, line{1000 * turns, us / float64(turns), "        n += r.n"}, line{1000, 0, "    return n"})
	}
	plain := func(name, file string, first int, hits int64, us float64) *lineprof.Function {
		return fn(name, file, first, line{0, 0, "def " + name + "(x):"}, line{hits, us, "    work(x)"})
	}
	for name, test := range map[string]struct {
		fns []*lineprof.Function
		ms  float64 // that were profiled
	}{
		"a loop comes first": {[]*lineprof.Function{
			fn("step", "a.py", 1, line{0, 0, "def step(reqs):"}, line{1000, 41, "    g(reqs)"}, line{1000, 64, "    f(reqs)"}),
			loop("a.py", 60, 63)}, 105},
		"two of a name": {[]*lineprof.Function{
			fn("step", "a.py", 1, line{0, 0, "def step(reqs):"}, line{1000, 41, "    g(reqs)"}, line{1000, 64, "    f(reqs)"}),
			loop("b.py", 60, 63), plain("f", "c.py", 1, 3, 9)}, 105.027},
		"two of a name, both called": {[]*lineprof.Function{
			fn("step", "a.py", 1, line{0, 0, "def step(reqs):"}, line{1000, 64, "    a = f(reqs)"}, line{1000, 63, "    b = f(reqs)"}),
			loop("b.py", 60, 62), plain("f", "c.py", 1, 1000, 61)}, 127},
		"in a comprehension": {[]*lineprof.Function{
			fn("step", "a.py", 1, line{0, 0, "def step(reqs):"}, line{1000, 64, "    a = [f(r) for r in reqs]"}),
			plain("f", "a.py", 10, 61_000, 1)}, 64},
		"called elsewhere, too": {[]*lineprof.Function{
			fn("step", "a.py", 1, line{0, 0, "def step(reqs):"}, line{1000, 64, "    f(reqs)"}),
			plain("f", "a.py", 10, 3000, 60)}, 184},
		"called by two": {[]*lineprof.Function{
			fn("step", "a.py", 1, line{0, 0, "def step(x):"}, line{1000, 64, "    f(x)"}),
			fn("stop", "a.py", 5, line{0, 0, "def stop(x):"}, line{1000, 10, "    f(x)"}),
			plain("f", "a.py", 10, 2000, 36)}, 74},
		"of each other": {[]*lineprof.Function{
			fn("f", "a.py", 1, line{0, 0, "def f(x):"}, line{1000, 64, "    g(x)"}),
			fn("g", "a.py", 5, line{0, 0, "def g(x):"}, line{1000, 60, "    f(x)"})}, 64},
		"four in a row without source": {[]*lineprof.Function{
			fn("a", "a.py", 1, line{100, 900, ""}, line{100, 30, ""}), fn("b", "a.py", 5, line{100, 870, ""}, line{100, 10, ""}),
			fn("c", "a.py", 9, line{100, 850, ""}, line{100, 10, ""}), fn("d", "a.py", 13, line{6100, 1, ""}, line{6000, 12.3, ""})}, 93},
	} {
		r := Analyze([]*lineprof.Profile{profile(test.fns...)}, Options{})
		if got := r.TotalUs / 1e3; math.Abs(got-test.ms) > 0.01*test.ms {
			t.Errorf("%s: %.1f ms were profiled, want %.1f", name, got, test.ms)
		}
		sum := 0.0
		for _, h := range r.Hotspots {
			sum += h.Share
		}
		if sum > 1+1e-6 || sum < 0.97 {
			t.Errorf("%s: shares add up to %.3f", name, sum)
		}
	}
}

// TestOpaque: calls that were not profiled and share the time are to be profiled next, the longest
// first, and not called real work.
func TestOpaque(t *testing.T) {
	r := Analyze([]*lineprof.Profile{profile(fn("PyExecutor._loop", executor, 10,
		line{0, 0, "    def _loop(self):"},
		line{1000, 400, "        self._plan(batch)"},
		line{1000, 420, "        self._send(batch)"},
		line{1000, 43, "        n = self.next_tokens.cuda().max().item()"},
		line{1000, 40, "        self._note(batch)"},
		line{1, 90_000, "        self._open(batch)"},
		line{1000, 7, "        x = torch.matmul(a, b)"}))}, Options{})
	var calls []string
	for _, d := range r.DrillDown {
		calls = append(calls, d.Callee)
	}
	if !slices.Equal(calls, []string{"self._send", "self._plan"}) || !strings.Contains(r.ProfileNext, "PyExecutor._send") || r.Hidden() == nil {
		t.Errorf("%q, %s", calls, r.ProfileNext)
	}
	if page := markdown(t, r); !strings.HasPrefix(page, "# Hidden in a call at `py_executor.py:12`: 42.0 % of the time; profile it next\n") {
		t.Error(page)
	}
}

// TestProfiledCall: what a call takes beyond its callee's lines is not said to be inside what was not profiled.
func TestProfiledCall(t *testing.T) {
	r := Analyze([]*lineprof.Profile{profile(
		fn("outer", "a.py", 1, line{0, 0, "def outer(a):"}, line{20, 2600, "    a.inner(300)"}, line{20, 3600, "    b.run(a.inner(300))"}),
		fn("A.inner", "a.py", 9, line{0, 0, "    def inner(self, n):"}, line{20, 1300, "        x = n + 1"}))}, Options{})
	if h := at(t, r, "outer", 2); h.Sub != "" || !strings.HasPrefix(h.Evidence[0], "what calls take beyond the lines") || !strings.Contains(h.Evidence[1], "in A.inner, which is profiled itself") {
		t.Errorf("%q", h.Evidence)
	}
	if h := at(t, r, "outer", 3); h.Sub != Opaque || h.Evidence[0] != "the time is spent inside b.run, which was not profiled" {
		t.Errorf("%s, %q", h.Sub, h.Evidence)
	}
}

// TestFound: what the method that engineers follow finds.
func TestFound(t *testing.T) {
	layer := fn("Attention.forward", "model.py", 1, line{0, 0, "def forward(self, x):"},
		line{61_000, 200, "    n = host_lengths[:k].sum().item()"}, line{61_000, 60, "    y = self.attn(x, n)"})
	if h := Classify(layer, 1, Options{Steps: 1000, Layers: 61}); h.Type != HostSync {
		t.Errorf("%s, %q", h.Type, h.Evidence)
	}
	for _, test := range []struct {
		source []line
		number int
		typ    Type
		sub    string
	}{
		{[]line{{100, 0.1, "    t = 0"}, {12_900, 0.3, "    for r in reqs:"}, {12_800, 1.9, "        s = RequestState(r.value)"}, {12_800, 0.3, "        t += r.n"}}, 4, Container, "enum"},
		{[]line{{1000, 200, "    s = [RequestState(r.value) for r in reqs]"}}, 2, Container, "enum"},
	} {
		f := fn("collect", "x.py", 1, append([]line{{0, 0, "def collect(self, reqs):"}}, test.source...)...)
		r := Analyze([]*lineprof.Profile{profile(f)}, Options{Steps: 1000})
		if h := at(t, r, "collect", test.number); h.Type != test.typ || h.Sub != test.sub {
			t.Errorf("%s: %s/%s, %q", test.source[len(test.source)-1].source, h.Type, h.Sub, h.Evidence)
		}
	}
}

// TestSteps: the outermost function that is entered most regularly says how many steps there
// were, not the longest.
func TestSteps(t *testing.T) {
	one := func(name string, first int, hits int64, us float64) *lineprof.Function {
		return fn(name, "a.py", first, line{0, 0, "def f(x):"}, line{hits, us, "    work(x)"})
	}
	for _, test := range []struct {
		fns   []*lineprof.Function
		steps int64
	}{
		{[]*lineprof.Function{one("mix", 1, 61_000, 90), one("step", 9, 1000, 400)}, 1000},
		{[]*lineprof.Function{one("Attention.forward", 1, 61_000, 90), one("tick", 9, 998, 400)}, 998},
		{[]*lineprof.Function{one("load", 1, 7, 9e6), one("plan", 9, 1000, 400), one("send", 19, 1000, 100), one("mix", 29, 61_000, 90)}, 1000},
		{[]*lineprof.Function{fn("run", "a.py", 1, line{0, 0, "def run(x):"}, line{1, 1, "    n = 0"}, line{501, 1, "    while self.on:"}, line{500, 900, "        work(x)"}), one("g", 9, 7, 3)}, 500},
	} {
		if r := Analyze([]*lineprof.Profile{profile(test.fns...)}, Options{}); r.Steps != test.steps {
			t.Errorf("%d steps by %s, want %d", r.Steps, r.StepsFrom, test.steps)
		}
	}
}

// TestCallees: names alone do not make a caller.
func TestCallees(t *testing.T) {
	caller := func(call string) *lineprof.Function {
		return fn("Worker.run", "worker.py", 10, line{0, 0, "def run(self):"}, line{100, 500, "    " + call})
	}
	for _, test := range []struct {
		call   string
		callee *lineprof.Function
		calls  bool
	}{
		{"self.load(x)", fn("Worker.load", "worker.py", 30, line{100, 450, "    work(x)"}), true},
		{"self.load(x)", fn("load", "worker.py", 30, line{100, 450, "    work(x)"}), true},
		{"json.load(x)", fn("Worker.load", "worker.py", 30, line{100, 450, "    work(x)"}), false},
		{"self.load(x)", fn("Worker.load", "worker.py", 30, line{1, 450_000, "    work(x)"}), false}, // longer than the line
		{"self.items.append(x)", fn("Log.append", "log.py", 30, line{100, 450, "    work(x)"}), false},
		{"self.attn(x)", fn("Attention.forward", "model.py", 30, line{100, 450, "    work(x)"}), true},
		{"self.mlp(x)", fn("Attention.forward", "model.py", 30, line{100, 450, "    work(x)"}), false},
		{"self.model_engine.forward(x)", fn("PyTorchModelEngine.forward", "tensorrt_llm/_torch/pyexecutor/model_engine.py", 30, line{100, 450, "    work(x)"}), true},
		{"self.model_engine.forward(x)", fn("Linear.forward", "linear.py", 30, line{100, 450, "    work(x)"}), false},
	} {
		r := Analyze([]*lineprof.Profile{profile(caller(test.call), test.callee)}, Options{})
		if got := !r.Functions[1].Root; got != test.calls {
			t.Errorf("%s calls %s of %s: %v, want %v", test.call, test.callee.Name, test.callee.File, got, test.calls)
		}
	}
}

// TestLoop: a loop in Python and its plain lines are one hotspot, lines with a reason of
// their own are not in it.
func TestLoop(t *testing.T) {
	r := Analyze([]*lineprof.Profile{profile(fn("collect", "x.py", 1,
		line{0, 0, "def collect(self, requests):"},
		line{10, 1, "    ids = []"},
		line{2010, 0.3, "    for request in requests:"},
		line{2000, 0.7, "        ids.append(request.id)"},
		line{2000, 30, "        n = request.logits.max().item()"},
		line{2000, 0.5, "        self.total += n"},
		line{10, 1, "    return ids"}))}, Options{})
	loop := at(t, r, "collect", 3)
	if loop.Type != PyLoop || loop.Confidence != "high" || loop.LastLine != 6 || math.Abs(loop.TimeUs-(603+1400+1000)) > 1 {
		t.Errorf("%+v", loop)
	}
	if h := at(t, r, "collect", 5); h.Type != Sync || h.Confidence != "high" {
		t.Errorf("%+v", h)
	}
}

// TestScope: with the numbers of steps and layers a wait per layer is told from one per step.
func TestScope(t *testing.T) {
	for _, test := range []struct {
		hits   int64
		layers int
		name   string
		typ    Type
		scope  Scope
	}{
		{100, 32, "prepare", Sync, PerStep},
		{3200, 32, "prepare", HostSync, PerLayer},
		{32000, 32, "prepare", HostSync, PerKernel},
		{3200, 0, "Attention.forward", HostSync, PerLayer},
		{10, 32, "prepare", Sync, PerRun},
	} {
		f := fn(test.name, "x.py", 1, line{0, 0, "def f(self, x):"}, line{test.hits, 150, "    n = x.max().item()"})
		h := Classify(f, 1, Options{Steps: 100, Layers: test.layers})
		if h.Type != test.typ || h.Scope != test.scope {
			t.Errorf("%+v: %s %s", test, h.Type, h.Scope)
		}
	}
}

// TestTraps are lines that look like something else.
func TestTraps(t *testing.T) {
	for _, test := range []struct {
		us     float64
		source string
		not    []Type
	}{
		{300, `log("call .item() here")`, []Type{Sync, HostSync}},
		{300, `x = compute()  # x.cpu()`, []Type{Sync, HostSync}},
		{300, `y = np.asarray(x).item()`, []Type{Sync, HostSync}},
		{300, `y = "a b".split().item`, []Type{Sync, HostSync}},
		{0.7, `y = x.item()`, []Type{Sync, HostSync}},
		{300, `y = x.to("cpu", non_blocking=True)`, []Type{Sync, HostSync}},
		{2, `y = d.get(key)`, []Type{GIL}},
		{2, `request.send_count += 1`, []Type{Comm}},
		{2, `y = a if b else c`, []Type{PyLoop, FuncCall, Container}},
		{2, `items = self.collect()`, []Type{GC}},
		{40, `with torch.no_grad():`, []Type{PyLoop, GIL}},
	} {
		h := Classify(fn("f", "x.py", 1, line{0, 0, "def f(x):"}, line{100, test.us, "    " + test.source}), 1, Options{Steps: 100})
		for _, typ := range test.not {
			if slices.Contains(h.Types, typ) {
				t.Errorf("%s is %s: %v", test.source, typ, h.Evidence)
			}
		}
	}
	short := fn("f", "x.py", 1, line{0, 0, "def f(x):"}, line{300, 0.3, "    for i in range(2):"}, line{200, 0.5, "        total += i"}, line{100, 0.1, "    return total"})
	if h := Classify(short, 1, Options{Steps: 100}); slices.Contains(h.Types, PyLoop) {
		t.Errorf("a loop over two items: %+v", h)
	}
	with := fn("f", "x.py", 1, line{0, 0, "def f(x):"}, line{200, 0.3, "    with a():"}, line{100, 0.5, "        b()"})
	if b := bodyOf(newCode(with)); b.stmts[1].hits != 100 || b.stmts[1].raw != 200 {
		t.Errorf("with: %+v", b.stmts[1])
	}
}

// TestKinds: what a name was given decides what its methods are.
func TestKinds(t *testing.T) {
	for _, test := range []struct {
		given string
		sync  bool
	}{
		{"x = self.model(ids)", true},
		{"x = torch.argmax(logits)", true},
		{"x = np.zeros(4)", false},
		{"x = logits.cpu().numpy()", false},
		{"x = logits.to('cpu')", false},
		{"x = self.logits_host", false},
	} {
		f := fn("f", "x.py", 1, line{0, 0, "def f(self):"}, line{100, 5, "    " + test.given}, line{100, 80, "    y = x[0].tolist()"})
		if got := Classify(f, 2, Options{Steps: 100}).Type == Sync; got != test.sync {
			t.Errorf("%s: SYNC %v, want %v", test.given, got, test.sync)
		}
	}
}

const executor = "tensorrt_llm/_torch/pyexecutor/py_executor.py"

// An index by the comparison of what is no tensor's data is no mask; of what may be it is.
func TestComparedNumbers(t *testing.T) {
	for index, mask := range map[string]bool{
		"n > 3": false, "flag == True": false, "count > 3": false, "len(xs) == 0": false, "k == 0": false, "not k > 1": false, "i % 2 == 0": false,
		"m.shape[0] > 64": false, "m.size(0) == 1": false, "m.dtype == torch.half": false, "isinstance(m, int) == flag": false,
		"self.mode == Mode.DECODE": false, "self.table[j == 0] for j in range(3)": false,
		"m > 3": true, "m == k": true, "x == 1": true, "m > len(xs)": true, "(m > 0) & (m.size(0) > 1)": true, "m == cfg.PAD": true,
		"k == q": true, "y == 1": true,
	} {
		source := "            a = self.table[" + index + "]"
		if strings.Contains(index, " for ") {
			source = "            a = [" + index + "]"
		}
		r := Analyze([]*lineprof.Profile{profile(fn("A.f", "a.py", 1,
			line{0, 0, "def f(self, n: int, flag: bool, xs, m):"},
			line{1000, 9, "    count = len(xs)"},
			line{4000, 9, "    for k in range(3):"},
			line{6000, 9, "        for i, x in enumerate(xs):"},
			line{3000, 9, "            q = m > 3"},
			line{3000, 9, "            for y in m:"},
			line{3000, 30, source}))}, Options{})
		if h := at(t, r, "A.f", 7); (h.Type == GraphBreak) != mask {
			t.Errorf("%s: %s, %q", index, h.Type, h.Evidence)
		}
	}
}

// A method named as a container's is none's of a cache of keys and values, a bar or a hash.
func TestUpdates(t *testing.T) {
	for call, want := range map[string]Type{
		"seen.update(ids)": Container, "past_key_value.update(k, v, self.layer_idx)": Compute, "pbar.update(1)": Compute,
		"self.hasher.update(ids)": Compute, "encoder.encode_into(outputs, buffer)": Serialize,
	} {
		r := Analyze([]*lineprof.Profile{profile(fn("A.f", "a.py", 1,
			line{0, 0, "def f(self, ids, seen, k, v):"},
			line{200_000, 9, "    a = " + call}))}, Options{Steps: 10})
		if h := at(t, r, "A.f", 2); h.Type != want {
			t.Errorf("%s: %s, %q", call, h.Type, h.Evidence)
		}
	}
}

// TestDrillDown: a line that hides its function's time names the function to profile
// next, and the variable's whole value.
func TestDrillDown(t *testing.T) {
	for _, name := range []string{"PyExecutor._forward_step", "_forward_step"} {
		r := Analyze([]*lineprof.Profile{profile(fn(name, executor, 2840,
			line{0, 0, "    def _forward_step(self, scheduled_requests):"},
			line{4100, 190, "        self.count(scheduled_requests)"},
			line{4100, 14439, "        outputs = self.model_engine.forward(scheduled_requests, self.resource_manager)"},
			line{4100, 0.5, "        return outputs"}))}, Options{})
		if len(r.DrillDown) != 1 {
			t.Fatalf("%+v", r.DrillDown)
		}
		d := r.DrillDown[0]
		if d.Line != 2842 || d.Callee != "self.model_engine.forward" || d.Target == nil || *d.Target != "tensorrt_llm._torch.pyexecutor.model_engine.PyTorchModelEngine.forward" || math.Abs(d.ShareOfFunction-0.987) > 0.001 {
			t.Errorf("%+v", d)
		}
		value, ok := strings.CutPrefix(r.ProfileNext, "TLLM_LINE_PROFILER_FUNCTIONS=")
		all := strings.Split(value, ",")
		if !ok || len(all) != len(slices.Compact(slices.Sorted(slices.Values(all)))) {
			t.Errorf("%q", r.ProfileNext)
		}
		for _, want := range []string{"py_executor.PyExecutor._forward_step", "sampler.TorchSampler.update_requests", "model_engine.PyTorchModelEngine.forward", "model_engine.PyTorchModelEngine._prepare_tp_inputs"} {
			if !slices.Contains(all, "tensorrt_llm._torch.pyexecutor."+want) {
				t.Errorf("%s is not in %q", want, value)
			}
		}
	}
}

// TestDrillDownEnds: nothing is hidden by a wait, a tensor operation or arithmetic, and what is in
// the profile need not be profiled again.
func TestDrillDownEnds(t *testing.T) {
	for source, want := range map[string]string{
		"        torch.cuda.synchronize()":        "",
		"        x = torch.matmul(a, b)":          "",
		"        x = a * b + c":                   "",
		"        fn(x)":                           "fn null",
		"        self._helper(x)":                 "self._helper tensorrt_llm._torch.pyexecutor.py_executor.PyExecutor._helper",
		"        for x in self.big: pass":         "",
		"        self.sampler.update_requests(x)": "TorchSampler.update_requests profiled",
	} {
		r := Analyze([]*lineprof.Profile{profile(
			fn("PyExecutor._run", executor, 10, line{100, 900, source}, line{100, 20, "        return x"}),
			fn("TorchSampler.update_requests", "tensorrt_llm/_torch/pyexecutor/sampler.py", 10, line{100, 400, "        a = 1"}, line{100, 450, "        b = 2"}),
		)}, Options{})
		got := ""
		for _, d := range r.DrillDown {
			switch {
			case d.Profiled:
				got = d.Callee + " profiled"
			case d.Target == nil:
				got = d.Callee + " null"
			default:
				got = d.Callee + " " + *d.Target
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// TestOptions: there are two to four, none saves more than there is, and the first has no risk
// where any has none.
func TestOptions(t *testing.T) {
	for _, source := range []string{"torch.cuda.synchronize()", "x = torch.zeros(4)", "dist.barrier()", "gc.collect()", "pickle.dumps(x)", "self.lock.acquire()", "y = work(x)", "n = self.impl.get(3)"} {
		r := Analyze([]*lineprof.Profile{profile(fn("f", "x.py", 1, line{0, 0, "def f(x):"}, line{1000, 7, "    " + source}))}, Options{Steps: 1000})
		h := r.Hotspots[0]
		if n := len(h.Options); n < 2 || n > 4 {
			t.Errorf("%s (%s): %d options", source, h.Type, n)
		}
		riskless := false
		for i, o := range h.Options {
			if o.SavingsUs == nil || o.SavingsUs[0] > o.SavingsUs[1] || o.SavingsUs[1] > *h.UsPerStep+1e-9 || o.SavingsPct[1] > 100*h.Share+1e-9 {
				t.Errorf("%s: %+v", source, o)
			}
			if o.Risk == "none" && i > 0 && !riskless && h.Sub == "" {
				t.Errorf("%s: what has no risk is not the first", source)
			}
			riskless = riskless || o.Risk == "none"
		}
	}
}

// TestRanks: of ranks the longest counts, parts add up.
func TestRanks(t *testing.T) {
	a := profile(fn("f", "x.py", 1, line{0, 0, "def f():"}, line{10, 100, "    a()"}))
	b := profile(fn("f", "x.py", 1, line{0, 0, "def f():"}, line{10, 300, "    a()"}), fn("g", "x.py", 9, line{1, 5, "    b()"}))
	r := Analyze([]*lineprof.Profile{a, b}, Options{})
	if f := r.Functions[0]; f.TotalUs != 3000 || *f.PerProfileUs[0] != 1000 || *f.PerProfileUs[1] != 3000 || f.Hits != 10 {
		t.Errorf("%+v", f)
	}
	if g := r.Functions[1]; g.PerProfileUs[0] != nil {
		t.Errorf("%+v", g)
	}
	const taken = "The files are treated as ranks of one run"
	if page := markdown(t, r); !strings.Contains(page, taken) {
		t.Error(page)
	}
	r = Analyze([]*lineprof.Profile{a, b}, Options{Sum: true})
	if page := markdown(t, r); strings.Contains(page, taken) {
		t.Error(page)
	}
	if f := r.Functions[0]; f.TotalUs != 4000 || f.Hits != 20 || a.Functions[0].Ns != 1_000_000 {
		t.Errorf("%+v", f)
	}
	two := profile(fn("f", "x.py", 1, line{10, 500, "a()"}), fn("f", "x.py", 1, line{10, 100, "a()"}))
	two.Runs, two.Functions[1].Run = 2, 1
	r = Analyze([]*lineprof.Profile{two}, Options{})
	if len(r.Functions) != 1 || r.Functions[0].TotalUs != 1000 || len(r.Warnings) != 1 {
		t.Errorf("%+v %q", r.Functions, r.Warnings)
	}
}

// TestWithoutLines: stacks and totals give functions, classified by name with low confidence.
func TestWithoutLines(t *testing.T) {
	p, err := lineprof.Read("stacks", strings.NewReader("loop (e.py:1);dumps (/usr/lib/python3.11/pickle.py:3) 60\nloop (e.py:2) 40\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := Analyze([]*lineprof.Profile{p}, Options{})
	if r.TotalUs != 1e6 || len(r.Hotspots) != 2 || r.Hotspots[0].Type != Serialize || r.Hotspots[0].Confidence != "low" || r.Hotspots[1].Type != Compute {
		t.Errorf("%g %+v", r.TotalUs, r.Hotspots)
	}
	bare := fn("f", "x.py", 1, line{10, 5, ""}, line{20, 9, ""})
	r = Analyze([]*lineprof.Profile{profile(bare)}, Options{})
	if len(r.Hotspots) != 2 || r.Hotspots[0].Type != Compute || r.Hotspots[0].Confidence != "low" || len(r.Warnings) != 1 {
		t.Errorf("%+v %q", r.Hotspots, r.Warnings)
	}
	if page := markdown(t, r); !strings.HasPrefix(page, "# Most time in `x.py:2`: its source is needed to say why\n") {
		t.Error(page)
	}
	if r := Analyze(nil, Options{}); len(r.Hotspots) != 0 || r.Functions == nil {
		t.Errorf("%+v", r)
	}
}

// TestReal analyses real profiles: shares are of the whole, and nothing counts twice.
func TestReal(t *testing.T) {
	dir := os.Getenv("HOSTBOUND_PROFILES")
	if dir == "" {
		t.Skip("HOSTBOUND_PROFILES does not name a folder with profiles")
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := lineprof.Read(name, in)
		in.Close()
		if err != nil {
			continue
		}
		r := Analyze([]*lineprof.Profile{p}, Options{})
		sum := 0.0
		for _, h := range r.Hotspots {
			sum += h.Share
		}
		if sum < 0.9 || sum > 1+1e-6 {
			t.Errorf("%s: shares of all lines add up to %.3f", filepath.Base(name), sum)
		}
	}
}

// TestLarge: a profile of 20,000 functions takes no longer than reading it.
func TestLarge(t *testing.T) {
	p := profile()
	for i := range 20_000 {
		p.Functions = append(p.Functions, fn(fmt.Sprintf("f%d", i), "x.py", 1+100*i,
			line{0, 0, "def f(self):"}, line{100, 5, "    x = self.layers[i](x, attn_metadata=attn_metadata)"},
			line{100, 0.5, "    y = [a.b for a in self.requests if a.c]"}, line{100, 3, "    return x, y"}))
	}
	began := time.Now()
	r := Analyze([]*lineprof.Profile{p}, Options{})
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	if len(r.Hotspots) != thin || len(r.Functions) != 20_000 {
		t.Errorf("%d hotspots, %d functions", len(r.Hotspots), len(r.Functions))
	}
}

// TestLongFunction: eight thousand statements in one function, each looked at from all
// sides, take no time that grows with their square.
func TestLongFunction(t *testing.T) {
	lines := []line{{0, 0, "def f(self, a):"}}
	for i := 0; i < 8000; i += 4 {
		lines = append(lines, line{100, 5, fmt.Sprintf("    x%d = self.model(x%d)", i, i-4)},
			line{100, 5, fmt.Sprintf("    y%d = x%d.view(-1).tolist()", i, i)},
			line{100, 5, fmt.Sprintf("    for k in a.b%d:", i)}, line{1000, 5, "        z.append(k)"})
	}
	began := time.Now()
	r := Analyze([]*lineprof.Profile{profile(fn("f", "x.py", 1, lines...))}, Options{})
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("took %v", took)
	}
	if len(r.Hotspots) != thin {
		t.Errorf("%d hotspots", len(r.Hotspots))
	}
}

// TestStructure: what looks like a second walk, or like the same each time, and is not.
func TestStructure(t *testing.T) {
	for _, test := range []struct {
		name   string
		lines  []line
		number int
		typ    Type
		is     bool
	}{
		{"second walk", []line{{100, 300, "    a = [x.a for x in xs]"}, {100, 300, "    b = [x.b for x in xs]"}}, 3, RedundantIter, true},
		{"the first walk", []line{{100, 300, "    a = [x.a for x in xs]"}, {100, 300, "    b = [x.b for x in xs]"}}, 2, RedundantIter, false},
		{"assigned between", []line{{100, 300, "    a = [x.a for x in xs]"}, {100, 1, "    xs = xs[1:]"}, {100, 300, "    b = [x.b for x in xs]"}}, 4, RedundantIter, false},
		{"other branch", []line{{100, 1, "    if c:"}, {50, 300, "        a = [x.a for x in xs]"}, {0, 0, "    else:"}, {50, 300, "        a = [x.b for x in xs]"}}, 5, RedundantIter, false},
		{"branch that leaves", []line{{100, 1, "    if c:"}, {50, 300, "        a = [x.a for x in xs]"}, {50, 1, "        return a"}, {50, 300, "    a = [x.b for x in xs]"}}, 5, RedundantIter, false},
		{"turns", []line{{100, 300, "    a = [f(x) for x in range(n)]"}, {100, 300, "    b = [g(x) for x in range(n)]"}}, 3, RedundantIter, false},
		{"inside", []line{{2100, 0.3, "    for x in xs:"}, {2000, 90, "        b = [y for y in xs if y > x]"}}, 3, RedundantIter, false},
		{"invariant", []line{{2100, 0.3, "    for x in xs:"}, {2000, 3, "        k = self.get_limit(y)"}, {2000, 0.3, "        z += k * x"}}, 3, Hoist, true},
		{"of the loop", []line{{2100, 0.3, "    for x in xs:"}, {2000, 3, "        k = self.get_limit(x)"}, {2000, 0.3, "        z += k"}}, 3, Hoist, false},
		{"changes in it", []line{{2100, 0.3, "    for x in xs:"}, {2000, 3, "        k = self.get_limit(z)"}, {2000, 0.3, "        z += k * x"}}, 3, Hoist, false},
		{"another self", []line{{2100, 0.3, "    for x in xs:"}, {2000, 3, "        k = self.get_limit(y)"}, {2000, 0.3, "        self = self.next"}}, 3, Hoist, false},
		{"a model", []line{{2100, 0.3, "    for x in range(20):"}, {2000, 900, "        out = model(batch)"}, {2000, 0.3, "        z += out"}}, 3, Hoist, false},
		{"advances", []line{{2100, 0.3, "    for x in xs:"}, {2000, 3, "        k = self.pool.popleft()"}, {2000, 0.3, "        z += k * x"}}, 3, Hoist, false},
		{"rarely read", []line{{100, 80, "    t = render(x)"}, {100, 0.2, "    if debug:"}, {2, 9, "        show(t)"}}, 2, DeadWork, true},
		{"read", []line{{100, 80, "    t = render(x)"}, {100, 0.2, "    if debug:"}, {60, 9, "        show(t)"}}, 2, DeadWork, false},
		{"adds up", []line{{100, 80, "    t += render(x)"}, {2, 9, "    show(t)"}}, 2, DeadWork, false},
		{"collects", []line{{1, 0.2, "    t = []"}, {101, 0.2, "    for x in xs:"}, {100, 80, "        t.append(render(x))"}, {1, 9, "    show(t)"}}, 4, DeadWork, false},
		{"read inside", []line{{100, 80, "    t = render(x)"}, {100, 0.2, "    def g():"}, {0, 0, "        return t"}}, 2, DeadWork, false},
	} {
		f := fn("f", "x.py", 1, append([]line{{0, 0, "def f(self, xs):"}}, test.lines...)...)
		h := Classify(f, test.number-1, Options{Steps: 100})
		if got := h.Type == test.typ; got != test.is {
			t.Errorf("%s: %s (%s) %q, %s: %v", test.name, h.Type, h.Confidence, h.Evidence, test.typ, test.is)
		}
	}
}

// TestOddPaths: what damaged lines make of paths is none of a constant.
func TestOddPaths(t *testing.T) {
	for _, path := range []string{"", ".", ".A", "A.", "..B", "[].C", "().D"} {
		if constant(path) {
			t.Errorf("%q is a constant", path)
		}
	}
	if s := Statements([]string{"None = 3", "True, x = 1, 2"}); len(s) != 2 || !slices.Equal(s[1].Targets, []string{"x"}) {
		t.Errorf("%+v", s)
	}
	if !constant("Mode.DECODE") || !constant("torch.float16.dtype") {
		t.Error("constants are none")
	}
}

// TestOtherSource: a profile that was printed after its source changed has hits on lines
// without code.
func TestOtherSource(t *testing.T) {
	lines := []line{{0, 0, "def step(x):"}, {9, 5, "    y = x.item()"}, {0, 0, ""}, {0, 0, "    # the rest"}, {9, 5, "    return f(y)"}}
	for _, shift := range []int{0, 1} { // a line was added above
		moved := slices.Clone(lines)
		for i := range moved {
			moved[i].source = lines[max(0, i-shift)].source
		}
		r := Analyze([]*lineprof.Profile{profile(fn("step", "prog.py", 30, moved...))}, Options{})
		if got := strings.Join(r.Warnings, "; "); strings.Contains(got, "step has hits on line 34, where its source has no code") != (shift > 0) {
			t.Errorf("%d lines added: warnings %q", shift, got)
		}
	}
}
