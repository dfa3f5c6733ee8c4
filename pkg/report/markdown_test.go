package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

// hostile are texts that mean something to a renderer.
var hostile = []string{
	"a|b", `a\|b`, `\`, "`", "``x`", "a`|`b", "<script>alert(1)</script>", "</td>", "<!--", "&lt;", "&#x41;", "a&b",
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "line\nbreak", "\r", "\t", "\u202eevil", "\u2066x", "\u200b", "\xff\xfe", "\x00",
	"**bold**", "_x_", "__init__", " _x y_ _z", " _x __y__ z", "~~gone~~", "[a](javascript:alert(1))", "![a](http://x)", "http://x.y", "www.x.y", "@someone", "#12", ":smile:", "$x$",
	"# head", "- item", "1. one", "> quote", "===", "---", "| --- |", "    code", "```", " ", "", "日本語", "e\u0301", "👩‍👩‍👧", strings.Repeat("x", 300),
	"void k<float, std::vector<int>>(T*)", "host:_prepare_inputs",
}

func hostileText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(hostile), rapid.String()), 0, 4).Draw(t, "parts")
		return strings.Join(parts, rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
	})
}

// hostileDocument is a document that has a text in each place a text can have, and
// how many there are.
func hostileDocument(s string) *Document {
	d, first := New(Textf("%s of %s", Strong(s), Name(s)))
	first.Say("%s: %s %s %s", s, Name(s), Strong(s), Command(s))
	first.Item("%s", s)
	first.Item("%s", Name(s))
	first.Number("%s", s)
	first.Note(Warn, "%s", s)
	first.Code(s + "\nend")
	second := d.Section("Table " + s)
	tbl := second.Table(s, Column{Title: s}, Column{Title: s, Kind: Names}, Column{Title: "n", Kind: Count})
	tbl.Row(Str(s), Str(s), Int(1))
	tbl.Row(Str("end"), Str("end"), Int(2))
	return d
}

var parser = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// outline lists the nodes of Markdown, and the texts of cells.
func outline(source []byte) (kinds, cells []string) {
	var walk func(n ast.Node)
	walk = func(n ast.Node) {
		kinds = append(kinds, n.Kind().String())
		if n.Kind() == east.KindTableCell {
			cells = append(cells, "")
		}
		if t, ok := n.(*ast.Text); ok && len(cells) > 0 {
			cells[len(cells)-1] += string(t.Segment.Value(source))
		}
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			walk(c)
		}
	}
	walk(parser.Parse(text.NewReader(source)))
	return kinds, cells
}

func render(t interface{ Fatal(...any) }, r Renderer, d *Document, opt Options) string {
	var b bytes.Buffer
	if err := r(&b, d, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdownHoldsHostileText(t *testing.T) {
	check := func(t interface {
		Fatal(...any)
		Fatalf(string, ...any)
	}, s string) {
		page := render(t, Markdown, hostileDocument(s), Options{})
		kinds, cells := outline([]byte(page))
		count := map[string]int{}
		for _, k := range kinds {
			count[k]++
		}
		for kind, want := range map[string]int{"Table": 1, "TableRow": 2, "TableCell": 9, "Heading": 2, "List": 2, "ListItem": 3, "Blockquote": 1,
			"HTMLBlock": 0, "RawHTML": 0, "Link": 0, "AutoLink": 0, "Image": 0, "FencedCodeBlock": 1, "CodeBlock": 0, "ThematicBreak": 0, "Strikethrough": 0} {
			if count[kind] != want {
				t.Fatalf("%q: %d nodes of kind %s, want %d in\n%s", s, count[kind], kind, want, page)
			}
		}
		if cells[6] != "end" || cells[8] != "2" {
			t.Fatalf("%q: cells %q", s, cells)
		}
		for _, r := range page {
			if r != '\n' && r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q: %U is in the page", s, r)
			}
		}
	}
	for _, s := range hostile {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, hostileText().Draw(t, "s")) })
}

// What a Markdown reader shows of a cell is what was put in.
func TestMarkdownShowsCellsAsTheyAre(t *testing.T) {
	for _, s := range hostile {
		d, first := New(Plain("t"))
		first.Table("", Column{Title: "words"}).Row(Str("x" + s))
		var html bytes.Buffer
		if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(render(t, Markdown, d, Options{})), &html); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSpace("x" + printable(s))
		if got := htmlCell(html.String()); got != want && got != strings.ReplaceAll(want, "|", "¦") {
			t.Errorf("%q is shown as %q", want, got)
		}
	}
}

// htmlCell is what a browser shows of the only cell of a page.
func htmlCell(page string) string {
	_, cell, _ := strings.Cut(page, "<td>")
	cell, _, _ = strings.Cut(cell, "</td>")
	cell = strings.NewReplacer("<code>", "", "</code>", "", "&lt;", "<", "&gt;", ">", "&quot;", `"`).Replace(cell)
	return strings.ReplaceAll(cell, "&amp;", "&")
}

// Names with underscores stay legible in what is read unrendered.
func TestUnderscores(t *testing.T) {
	if got, want := escape("in _a, b_c, __init__ ___ _ x_"), `in _a, b_c, __init\_\_ \_\_\_ _ x\_`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPunctuationAfterName wants what ends a clause after a name outside of the name.
func TestPunctuationAfterName(t *testing.T) {
	if got, want := escape("aten::copy_: 3 ms, of @a;"), "`aten::copy_`: 3 ms, of `@a`;"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
