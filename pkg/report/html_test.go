package report

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// elements parses a page, which is well-formed XML but for its style and script, and
// counts its elements; cells are the texts of the table's body.
func elements(t interface{ Fatalf(string, ...any) }, page string) (count map[string]int, cells []string) {
	for _, raw := range []string{pageStyle, pageScript} {
		if strings.Count(page, raw) != 1 {
			t.Fatalf("the style or script is not in the page once")
		}
		page = strings.Replace(page, raw, "", 1)
	}
	dec := xml.NewDecoder(strings.NewReader(page))
	count = map[string]int{}
	var open []string
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return count, cells
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, page)
		}
		switch token := token.(type) {
		case xml.StartElement:
			count[token.Name.Local]++
			open = append(open, token.Name.Local)
			if n := token.Name.Local; n == "td" || n == "th" {
				cells = append(cells, "")
			}
			for _, a := range token.Attr {
				if n := a.Name.Local; strings.HasPrefix(n, "on") || n == "style" || n == "src" || n == "href" && !strings.HasPrefix(a.Value, "#") && a.Value != "data:," {
					t.Fatalf("attribute %s=%q", n, a.Value)
				}
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, n := range open {
				if n == "td" || n == "th" {
					cells[len(cells)-1] += string(token)
				}
			}
		}
	}
}

// No name makes an element or an attribute, or ends one.
func TestHTMLHoldsHostileText(t *testing.T) {
	plain, _ := elements(t, render(t, HTML, hostileDocument("x_x"), Options{}))
	check := func(t interface {
		Fatal(...any)
		Fatalf(string, ...any)
	}, s string) {
		page := render(t, HTML, hostileDocument(s), Options{})
		count, cells := elements(t, page)
		for name, want := range plain {
			if name != "strong" && name != "code" && name != "wbr" && name != "span" && name != "caption" && count[name] != want {
				t.Fatalf("%q: %d elements %s, want %d in\n%s", s, count[name], name, want, page)
			}
		}
		for name := range count {
			if plain[name] == 0 && name != "span" { // of commands, around words
				t.Fatalf("%q makes an element %s", s, name)
			}
		}
		if n := len(cells); cells[n-3] != "end" || cells[n-1] != "2" {
			t.Fatalf("%q: cells %q", s, cells)
		}
		for _, r := range page {
			if r != '\n' && r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q: %U is in the page", s, r)
			}
		}
	}
	for _, s := range append(hostile, `"`, `" onload="alert(1)`, "'", "</style>", "</script>", "]]>", "<![CDATA[", "<?x?>", "{{.}}", "javascript:alert(1)") {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, hostileText().Draw(t, "s")) })
}

// A page stays small whatever a document has, and says what it leaves out.
func TestHTMLIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	d, first := New(Plain(long))
	first.Say("%s: %s %s", long, Name(long), Command(long))
	first.Code(strings.Repeat(long+"\n", 3) + strings.Repeat("y\n", 1e5))
	for range 10000 {
		first.Item("%s", Name(long[:2000]))
	}
	tbl := first.Table(long, Column{Title: long}, Column{Title: "n", Kind: Names})
	for range 100000 {
		tbl.Row(Str(long[:200]), Str(long[:2000]))
	}
	page := render(t, HTML, d, Options{})
	if len(page) > 500_000 {
		t.Errorf("%d bytes", len(page))
	}
	if !strings.Contains(page, "99800 more rows.") || !strings.Contains(page, "And 9800 more.") {
		t.Error("what is left out is not said")
	}
}

// What stands in a page unescaped has no end of its element in it, nor anything that
// would be looked for elsewhere.
func TestPageStyleAndScript(t *testing.T) {
	for _, raw := range []string{pageStyle, pageScript} {
		for _, bad := range []string{"</", "<!--", "]]>", "@import", "url(", "://", "fetch", "eval", "innerHTML"} {
			if strings.Contains(raw, bad) {
				t.Errorf("%s is in style or script", bad)
			}
		}
	}
}

// A name may be broken between its words, and the title of a column stands over its figures.
func TestHTMLTable(t *testing.T) {
	d, first := New(Plain("x"))
	first.Table("", Column{Title: "name", Kind: Names}, Column{Title: "n", Kind: Count}).Row(Str("a.b::_prepare_inputs"), Int(1))
	page := render(t, HTML, d, Options{})
	for _, want := range []string{"a.<wbr/>b::<wbr/>_prepare<wbr/>_inputs", `<th scope="col" class="n">n</th>`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

// No line of a page ends between a number and its unit, and what is copied from it is as it
// was.
func TestHTMLMeasures(t *testing.T) {
	d, first := New(Plain("86.6 % of 5.63 ms"))
	first.Say("in 3 steps of %s, 7 µs and %s: %s", Strong("1.21 s"), Name("wait 5 ms"), Command("sleep 2 s"))
	page := render(t, HTML, d, Options{})
	for _, want := range []string{"86.6\u00a0% of 5.63\u00a0ms</h1>", "in 3 steps of <strong>1.21\u00a0s</strong>, 7\u00a0µs and", "wait 5 ms", "sleep 2 s"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

// A command is broken between its words only.
func TestHTMLCommand(t *testing.T) {
	d, first := New(Plain("x"))
	first.Code("nsys profile --cuda-graph-trace=node -o trace\na - b")
	if page := render(t, HTML, d, Options{}); !strings.Contains(page, "<pre><code>nsys profile <span>--cuda-graph-trace=node</span> <span>-o</span> trace\na - b\n</code></pre>") {
		t.Error(page)
	}
}
