package report

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wideDocument has more columns than a small terminal has room for.
func wideDocument() *Document {
	d, first := New(Textf("%s: the answer", Toned(Bad, "YES")))
	first.Say("A sentence about %s that is longer than a line of a small terminal, so that it has to be wrapped somewhere, in two lines or three.", Name("[Executor] _forward_step"))
	first.Item("one")
	first.Item("%s, and a second item which does not fit one line of a terminal either and goes on below itself", Strong("two"))
	first.Note(Warn, "only 3 steps")
	first.Code("nsys profile -t cuda,nvtx --cuda-graph-trace=node")
	s := d.Section("Idle time by cause")
	t := s.Table("In the benchmark window", Column{Title: "cause", Kind: Names}, Column{Title: "per step", Kind: Duration, Adds: true},
		Column{Title: "share", Kind: Ratio, Adds: true}, Column{Title: "total", Kind: Duration, Adds: true, Minor: 1},
		Column{Title: "path", Kind: Names, Minor: 2}, Column{Title: "source", Kind: Names, Minor: 3})
	t.Top = 2
	for i := range 5 {
		t.Row(Str("host:_prepare_inputs_of_the_next_forward_step_in_full"), Num(757/float64(1+i*i)), Num(.2), Num(43900),
			Str("[Executor] _forward_step > _prepare_inputs > kv_cache_manager"), Str("PyTorchModelEngine._prepare_inputs"))
	}
	return d
}

func TestTerminalFitsItsWidth(t *testing.T) {
	for _, wide := range []int{60, 80, 120, 200} {
		page := render(t, Terminal, wideDocument(), Options{Width: wide})
		for line := range strings.Lines(page) {
			if n := width(strings.TrimSuffix(line, "\n")); n > wide {
				t.Errorf("at %d columns a line takes %d: %s", wide, n, line)
			}
		}
		for _, want := range []string{"757  20.0 %", "(3 others)", "60.0 %"} {
			if !strings.Contains(page, want) {
				t.Errorf("at %d columns %q is missing:\n%s", wide, want, page)
			}
		}
		if all := strings.Contains(page, "left out at this width"); all != (wide < 120) {
			t.Errorf("at %d columns: columns are left out is %v\n%s", wide, all, page)
		}
	}
	if page := render(t, Terminal, wideDocument(), Options{Width: 60}); !strings.Contains(page, "(columns left out at this width: source, path, total (ms))") {
		t.Errorf("left out are not the least important columns:\n%s", page)
	}
	d, first := New(Textf("Columns that are all needed, and one that fits where another has no room"))
	table := first.Table("", Column{Title: "name", Kind: Names}, Column{Title: "delta (ms)", Right: true}, Column{Title: "evidence", Kind: Names},
		Column{Title: "change", Right: true, Minor: 3}, Column{Title: "95 % interval (ms)", Right: true, Minor: 1})
	table.Row(Str("_prepare_inputs_of_the_next_step"), Str("+793.6"), Str("REMOVED (now _prepare_tp_inputs)"), Str("+1.0 %"), Str("+780 to +807"))
	for wide, want := range map[int]string{90: "(columns left out at this width: change)", 80: "(columns left out at this width: 95 % interval (ms))", 44: "+793.6  REMOVED"} {
		page := render(t, Terminal, d, Options{Width: wide})
		if !strings.Contains(page, want) {
			t.Errorf("at %d columns %q is missing:\n%s", wide, want, page)
		}
		for line := range strings.Lines(page) {
			if n := width(strings.TrimSuffix(line, "\n")); n > wide {
				t.Errorf("at %d columns a line takes %d: %s", wide, n, line)
			}
		}
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestColorChangesNothingElse(t *testing.T) {
	plain := render(t, Terminal, wideDocument(), Options{Width: 80})
	colored := render(t, Terminal, wideDocument(), Options{Width: 80, Color: true})
	if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b[1;31mYES:\x1b[0m") && !strings.Contains(colored, "\x1b[1;31mYES\x1b[0m") {
		t.Errorf("colours where there should be none, or none at all:\n%q", colored)
	}
	if got := escapes.ReplaceAllString(colored, ""); got != plain {
		t.Errorf("without its colours the page is\n%s\nand not\n%s", got, plain)
	}
}

func TestTerminalHoldsHostileText(t *testing.T) {
	check := func(t interface {
		Fatal(...any)
		Fatalf(string, ...any)
	}, s string) {
		for _, wide := range []int{0, 80} {
			page := render(t, Terminal, hostileDocument(s), Options{Width: wide})
			for _, r := range page {
				if r != '\n' && printable(string(r)) != string(r) {
					t.Fatalf("%q: %U reaches the terminal", s, r)
				}
			}
			lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
			if got := strings.Fields(lines[len(lines)-1]); len(got) != 3 || got[0] != "end" || got[2] != "2" {
				t.Fatalf("%q: the last row is %q", s, got)
			}
		}
	}
	for _, s := range hostile {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, hostileText().Draw(t, "s")) })
}

// A name of thousands of characters keeps its ends in a sentence.
func TestShort(t *testing.T) {
	long := "_ZN2ck" + strings.Repeat("Tensor", 400) + "Kernel"
	if s := Short(long); len([]rune(s)) != 60 || !strings.HasPrefix(s, "_ZN2ck") || !strings.HasSuffix(s, "Kernel") || Short("gemm") != "gemm" {
		t.Errorf("%q", s)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in     string
		to     int
		middle bool
		want   string
	}{
		{"abcdefgh", 8, true, "abcdefgh"}, {"abcdefghi", 8, true, "abcd…ghi"}, {"abcdefghi", 8, false, "abcdefg…"},
		{"日本語日本語", 7, true, "日… 語"}, {"abc", 2, true, "a…"},
	} {
		if got := shorten(c.in, c.to, c.middle); width(got) > c.to || c.want != got {
			t.Errorf("%q to %d: %q, want %q", c.in, c.to, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, to := printable(rapid.String().Draw(t, "s")), rapid.IntRange(2, 20).Draw(t, "to")
		if got := shorten(s, to, rapid.Bool().Draw(t, "middle")); width(got) > to {
			t.Fatalf("%q to %d is %q", s, to, got)
		}
	})
}
