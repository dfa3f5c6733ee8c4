package hotspot

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	address    = regexp.MustCompile(`^https://[a-z0-9.]+/\S*$`)
	repository = regexp.MustCompile(`^NVIDIA/TensorRT-LLM [\w./-]+$`)
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
		n := 0
		for _, r := range c.Remedies {
			if r.Type == typ.Name && r.Sub == "" {
				n++
			}
		}
		if n < 2 || n > 4 {
			t.Errorf("%s has %d options, want 2 to 4", typ.Name, n)
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
		entry := strings.Join(append(i.Calls, i.Methods...), " ")
		source(entry, i.Source)
		c.Info(i.Type)
		if entry == "" || i.Why == "" || !slices.Contains(confidences, i.Confidence) || i.LeastUs < 0 {
			t.Errorf("%+v", i)
		}
		for _, k := range i.Kinds {
			if !slices.Contains([]kind{unknownKind, tensorKind, cpuKind, numpyKind, listKind, dictKind, setKind, strKind, numberKind}, kind(k)) {
				t.Errorf("%s: kind %s", entry, k)
			}
		}
	}
}

func TestTargets(t *testing.T) {
	targets := &Knowledge().Targets
	if !repository.MatchString(targets.Source) {
		t.Errorf("source %q", targets.Source)
	}
	for _, c := range targets.Class {
		if len(c.Defaults)+len(c.Methods) == 0 || !strings.HasPrefix(c.Module, "tensorrt_llm.") || len(c.Tests) == 0 {
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
