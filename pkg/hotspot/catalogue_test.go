package hotspot

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	address    = regexp.MustCompile(`^https://[a-z0-9.]+/\S*$`)
	repository = regexp.MustCompile(`^(NVIDIA/TensorRT-LLM|vllm-project/vllm|sgl-project/sglang) [\w./-]+$`)
)

// TestCatalogue reads every entry of the data files: nothing is missing, names are of
// types that there are, figures are possible, and the source can be looked up.
func TestCatalogue(t *testing.T) {
	c := Knowledge()
	source := func(entry, s string) {
		t.Helper()
		if !address.MatchString(s) && !repository.MatchString(s) {
			t.Errorf("%s: source %q", entry, s)
		}
	}
	if len(c.Types) != 16 {
		t.Errorf("%d types, want 16", len(c.Types))
	}
	severities := map[Severity]int{}
	for _, typ := range c.Types {
		severities[typ.Severity]++
		source(string(typ.Name), typ.Source)
		if typ.What == "" || typ.Evidence == "" {
			t.Errorf("%+v", typ)
		}
	}
	if severities["critical"] != 3 || severities["high"] != 6 || severities["medium"] != 5 || severities["low"] != 2 {
		t.Errorf("severities %v", severities)
	}
	for _, r := range c.Remedies {
		source(r.Option, r.Source)
		c.Info(r.Type)
		if r.Option == "" || r.Description == "" || r.Savings[0] < 0 || r.Savings[0] > r.Savings[1] || r.Savings[1] > 1 ||
			riskOrder(r.Risk) < 0 || !slices.Contains([]string{"low", "medium", "high"}, r.Complexity) {
			t.Errorf("%+v", r)
		}
	}
	for _, i := range c.Indicators {
		entry := strings.Join(append(slices.Concat(i.Calls, i.Methods), i.Name), " ")
		source(entry, i.Source)
		for _, name := range append(i.Calls, i.Methods...) {
			remediesOf(t, i.Type, i.Sub, "x."+name+" "+i.Why)
		}
		c.Info(i.Type)
		if entry == "" || i.Why == "" || !slices.Contains(confidences, i.Confidence) || i.LeastUs < 0 {
			t.Errorf("%+v", i)
		}
		for _, k := range i.Kinds {
			if !slices.Contains([]kind{unknownKind, tensorKind, cpuKind, numpyKind, listKind, dictKind, setKind, strKind, numberKind, "named"}, kind(k)) {
				t.Errorf("%s: kind %s", entry, k)
			}
		}
	}
}

// remediesOf asks for two to four things to do about a hotspot with that evidence.
func remediesOf(t *testing.T, typ Type, sub, evidence string) {
	t.Helper()
	types := []Type{typ}
	if typ == Sync {
		types = append(types, HostSync)
	}
	for _, typ := range types {
		if n := len(remedies(&Hotspot{Type: typ, Sub: sub, Evidence: []string{evidence}})); n < 2 || n > maxOptions {
			t.Errorf("%s, %s: %d options, want 2 to 4", typ, evidence, n)
		}
	}
}

// TestRemedies has things to do for every kind of evidence that is no call's.
func TestRemedies(t *testing.T) {
	for evidence, typ := range map[string]Type{
		"4 small tensor operations on one line": CustomOp, "makes a list of that length each time": Alloc,
		"formats a string each time": Container, "looks for a member": Container, "follows a chain of attributes": Container,
		"a comprehension": PyLoop, "o is made 9 times and needed at most 0 times (line 9)": DeadWork,
	} {
		remediesOf(t, typ, "", evidence)
	}
	for _, o := range remedies(&Hotspot{Type: Container, Evidence: []string{"x.append works on a container"}}) {
		if strings.Contains(o.Option+o.Description, "key") || strings.Contains(o.Option, "membership") {
			t.Errorf("append: %s", o.Option)
		}
	}
}

func TestEngines(t *testing.T) {
	for _, e := range Engines() {
		checkEngine(t, e)
	}
}

func checkEngine(t *testing.T, targets *Engine) {
	t.Helper()
	if !repository.MatchString(targets.Source) {
		t.Errorf("source %q", targets.Source)
	}
	for _, c := range targets.Class {
		if len(c.Defaults)+len(c.Methods) == 0 || !strings.HasPrefix(c.Module, targets.Package+".") || len(c.Tests) == 0 {
			t.Errorf("%+v", c)
		}
	}
	for _, r := range targets.Receiver {
		if targets.class(r.Class) == nil {
			t.Errorf("%+v", r)
		}
	}
	for _, chain := range targets.Chain {
		for _, name := range append([]string{chain.Function}, chain.Next...) {
			class, method, _ := strings.Cut(name, ".")
			if c := targets.class(class); c == nil || !c.has(method) {
				t.Errorf("chain: no %s", name)
			}
		}
	}
}

// TestWords wants each list of words.toml to be one that the code asks for, with words and with what
// they are. A list that is asked for and not there panics.
func TestWords(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	asked, listed := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		for _, m := range regexp.MustCompile(`(?:onList\(|hasWord\(.*, )"(\w+)"`).FindAllStringSubmatch(read(t, file), -1) {
			asked[m[1]] = true
		}
	}
	for _, m := range regexp.MustCompile(`\[list\.(\w+)\]\nis = "[^"]{8,}"\nwords = "[^"]+"\n`).FindAllStringSubmatch(read(t, "data/words.toml"), -1) {
		listed[m[1]] = true
	}
	if len(listed) < 10 || !maps.Equal(asked, listed) {
		t.Errorf("%v are asked for, and %v are in the file", asked, listed)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
