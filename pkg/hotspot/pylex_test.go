package hotspot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func one(t *testing.T, src string) Statement {
	t.Helper()
	all := Statements(strings.Split(src, "\n"))
	if len(all) != 1 {
		t.Fatalf("%d statements in %q: %+v", len(all), src, all)
	}
	return all[0]
}

func TestCalls(t *testing.T) {
	for src, want := range map[string]string{
		`x = self.foo(a, f"{b!r}:{c[0].item()}").item()  # .cpu()`: "self.foo c[].item self.foo().item",
		`log("call .item() here")`:                                 "log",
		`log('it''s', ".cpu()") # x.cpu()`:                         "log",
		`y = r"\".item()\"" + z.cpu()`:                             "z.cpu",
		`f"{x:{w.f()}.3f} {y.g()}" + h()`:                          "w.f y.g h",
		`f"{{x.item()}}"`:                                          "",
		`f'{d["a"].item()}'`:                                       "d[].item",
		`"""a.item()` + "\n" + `b.item()""".join(c.d())`:           "''.join c.d",
		`torch.cuda.synchronize()`:                                 "torch.cuda.synchronize",
		"x = a.b(\n    c.d(1, k=2),\n    # e.f()\n    e=3)":        "a.b c.d",
		`q = self.qkv(x).reshape(B, N)[0].permute(2, 0)`:           "self.qkv self.qkv().reshape self.qkv().reshape()[].permute",
		`for i, x in enumerate(zip(a, b.c())): f(x)`:               "enumerate zip b.c f",
		`z = [g(x) for x in y if h(x)]`:                            "g h",
		`def f(a=g()): pass`:                                       "",
		`return (await self.x.get()) if a else b()`:                "self.x.get b",
		`x[i.item()] = y.to("cpu")`:                                "i.item y.to",
		`größe.item(); x.cpu()`:                                    "",
	} {
		if strings.Contains(src, ";") {
			if n := len(Statements([]string{src})); n != 2 {
				t.Errorf("%q: %d statements", src, n)
			}
			continue
		}
		var got []string
		for _, c := range one(t, src).Calls {
			got = append(got, c.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q:\n calls %q\n want  %q", src, got, want)
		}
	}
}

func TestStatement(t *testing.T) {
	s := one(t, "    x, self.y[i] = f(a, 2, device='cuda', dtype=torch.int) ")
	if s.Indent != 4 || !slices.Equal(s.Targets, []string{"x", "self.y[]"}) {
		t.Errorf("%+v", s)
	}
	c := s.Calls[0]
	if c.Name() != "f" || c.Args != 4 || c.First != "a" || c.Keys["device"] != "'cuda'" || c.Keys["dtype"] != "torch.int" || !c.Assigned {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(s.Names, []string{"self", "i", "f", "a", "torch"}) {
		t.Errorf("names %q", s.Names)
	}
	s = one(t, "for i, (q, w) in enumerate(self.a.b):")
	if s.Keyword != "for" || s.Comprehension || len(s.Loops) != 1 || s.Loops[0].Over != "enumerate(self.a.b)" || !slices.Equal(s.Loops[0].Targets, []string{"i", "q", "w"}) || !slices.Equal(s.Attributes, []string{"self.a.b"}) {
		t.Errorf("%+v", s)
	}
	s = one(t, "x: list[int] = [a.b for a in c for d in a.e]")
	if !s.Comprehension || len(s.Loops) != 2 || s.Loops[1].Over != "a.e" || !slices.Equal(s.Targets, []string{"x"}) {
		t.Errorf("%+v", s)
	}
	s = one(t, "total += x if a in b else -1")
	if !slices.Equal(s.Operators, []string{"+=", "if", "in", "else"}) || !slices.Equal(s.Targets, []string{"total"}) {
		t.Errorf("%+v", s)
	}
	s = one(t, "with torch.cuda.stream(s) as c:")
	if s.Keyword != "with" || !slices.Equal(s.Targets, []string{"c"}) {
		t.Errorf("%+v", s)
	}
}

// TestLines: statements know their physical lines, and a bracket whose end was cut off ends.
func TestLines(t *testing.T) {
	src := "def f():\n    '''text\n    more'''\n    x = (1 +\n      2)\n    y = \\\n      3\n    z = g(1,\n    return z\n"
	var got []string
	for _, s := range Statements(strings.Split(src, "\n")) {
		got = append(got, fmt.Sprintf("%s%d-%d", s.Keyword, s.First, s.Last))
	}
	if want := "def0-0 1-2 3-4 5-6 7-7 return8-8"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestText(t *testing.T) {
	s := one(t, `x  =  a . b ( 'c' ,  not d )`)
	if got := Text(s.Tokens); got != "x=a.b('c',not d)" {
		t.Errorf("%q", got)
	}
}

func FuzzStatements(f *testing.F) {
	f.Add("x = f\"{a:{b}}\"\n  y = '''\n")
	f.Add(strings.Repeat("(", 1000) + "f\"{" + strings.Repeat("[a", 1000))
	f.Fuzz(func(t *testing.T, src string) {
		lines := strings.Split(src, "\n")
		last := 0
		for _, s := range Statements(lines) {
			if s.First < last || s.Last < s.First || s.Last >= len(lines) || len(s.Tokens) == 0 {
				t.Fatalf("%+v", s)
			}
			last = s.First
		}
	})
}

// TestNumbers: a number with a dot is no attribute, however it is written.
func TestNumbers(t *testing.T) {
	s := Statements([]string{"y = x[x > .5] + a.b * 1.5 - f(.25, 2.)"})[0]
	if want := []string{"a.b"}; !slices.Equal(s.Attributes, want) {
		t.Errorf("attributes %q, want %q", s.Attributes, want)
	}
}
