package report

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// toneClass maps tones to classes of the style.
var toneClass = [...]string{Neutral: "", Good: "good", Warn: "warn", Bad: "bad"}

// anchor returns the id of a section.
func anchor(section int) string { return fmt.Sprintf("s%d", section) }

// contents writes the links to the sections.
func (p *page) contents(d *Document) {
	p.Open("nav", "aria-label", "Contents")
	p.Open("ol")
	for k, s := range d.Sections {
		if s.Title != "" && len(s.Blocks) > 0 {
			p.Open("li")
			p.Leaf("a", clip(d.shortTitle(s), maxName), "href", "#"+anchor(k))
			p.Close()
		}
	}
	p.Close()
	p.Close()
	p.Line()
}

// shortTitle returns the title of a section up to its colon, unless another title
// begins the same.
func (d *Document) shortTitle(s *Section) string {
	short, _, _ := strings.Cut(s.Title, ": ")
	for _, other := range d.Sections {
		if title, _, _ := strings.Cut(other.Title, ": "); other != s && title == short {
			return s.Title
		}
	}
	return short
}

func (p *page) section(k int, s *Section) {
	if s.Title == "" {
		p.Open("section", "class", "first", "aria-label", "Answer")
	} else {
		p.Open("section", "aria-labelledby", anchor(k))
		p.leaf("h2", s.Title, "id", anchor(k))
	}
	p.title = s.Title
	for k, b := range s.Blocks {
		if p.Len() > maxPage {
			p.Leaf("p", fmt.Sprintf("%d more parts of this section are in the other formats: this page would be too large.", len(s.Blocks)-k), "class", "note")
			break
		}
		p.block(b)
		p.Line()
	}
	p.Close()
	p.Line()
}

func (p *page) block(b Block) {
	switch b := b.(type) {
	case Paragraph:
		p.Open("p")
		p.text(Text(b))
		p.Close()
	case *List:
		p.list(b)
	case *Note:
		class, label := "note", "Note: "
		if b.Tone >= Warn {
			class, label = "note warn", "Warning: "
		}
		p.Open("p", "class", class)
		p.Leaf("strong", label)
		p.text(b.Text)
		p.Close()
	case Code:
		p.Open("pre")
		p.Open("code")
		p.lines(string(b))
		p.Close()
		p.Close()
	case *Table:
		p.table(b.layout(p.top))
	case *Drawing:
		p.figure(b)
	}
}

// figure writes a drawing and, collapsed, its table.
func (p *page) figure(f *Drawing) {
	p.figures++
	id := fmt.Sprintf("f%d", p.figures)
	p.Open("figure", "aria-labelledby", id)
	p.leaf("figcaption", f.Title, "id", id)
	if drawing := figure.Draw(f.Plot, id, clip(f.Title, maxTitle), clip(f.Alt, maxHTMLText)); len(drawing) <= smallFigure || p.Len()+len(drawing) <= maxFigures {
		p.Raw(string(drawing))
	} else {
		p.Leaf("p", "Not drawn: the page would be too large.", "class", "more")
	}
	p.Open("details")
	p.Leaf("summary", "Table")
	p.title = f.Title
	p.table(f.Table.layout(p.top))
	p.Close()
	p.Close()
}

// list writes a list, and how many further items it has.
func (p *page) list(l *List) {
	element := "ul"
	if l.Ordered {
		element = "ol"
	}
	p.Open(element)
	for _, item := range l.Items[:min(len(l.Items), maxHTMLItems)] {
		p.Open("li")
		p.text(item)
		p.Close()
	}
	p.Close()
	if more := len(l.Items) - maxHTMLItems; more > 0 {
		p.Leaf("p", fmt.Sprintf("And %d more.", more))
	}
}

// table writes a table in a box that scrolls if the table is wider than the page.
func (p *page) table(g *grid) {
	p.tables++
	label := fmt.Sprintf("Table %d: %s", p.tables, cmp.Or(g.table.Title, p.title))
	p.Open("div", "class", "table", "role", "region", "aria-label", clip(label, maxTitle), "tabindex", "0")
	p.Open("table")
	if g.table.Title != "" {
		p.leaf("caption", g.table.Title)
	}
	p.Open("thead")
	p.Open("tr")
	for i := range g.columns {
		p.Open("th", "scope", "col", class(g.columns[i].right(), "class"), "n")
		p.words(clip(g.columns[i].title, maxTitle))
		p.Close()
	}
	p.Close()
	p.Close()
	p.Open("tbody")
	rows := len(g.columns[0].cells)
	for k := range min(rows, maxHTMLRows) {
		p.Open("tr")
		for i := range g.columns {
			p.cell(&g.columns[i], k, i == 0)
		}
		p.Close()
		p.Line()
	}
	p.Close()
	p.Close()
	p.Close()
	if rows > maxHTMLRows {
		p.Leaf("p", fmt.Sprintf("%d more rows.", rows-maxHTMLRows), "class", "more")
	}
	if g.more != "" {
		p.Leaf("p", g.more+".", "class", "more")
	}
}

// cell writes a cell. The first cell of a row is its header.
func (p *page) cell(c *gridColumn, row int, first bool) {
	cell := &c.cells[row]
	name := toneClass[cell.tone]
	if c.right() {
		name = joined("n", name)
	}
	if first {
		p.Open("th", "scope", "row", class(name != "", "class"), name)
	} else {
		p.Open("td", class(name != "", "class"), name)
	}
	if cell.name && cell.text != "" {
		p.name(cell.text)
	} else {
		p.Text(clip(cell.text, maxHTMLText))
	}
	p.Close()
}

// class returns the name of an attribute, or "" to leave it out.
func class(there bool, name string) string {
	if there {
		return name
	}
	return ""
}

// joined joins two classes in one attribute.
func joined(a, b string) string {
	if b == "" {
		return a
	}
	return a + " " + b
}

// unbroken matches the parts of a name between which a line may break.
var unbroken = regexp.MustCompile(`_*[^_.:/,]+[.:/,]*|[_.:/,]+`)

// name writes a name from a trace: short, with the full name as a tooltip.
func (p *page) name(s string) {
	short := shorten(s, maxName, true)
	p.Open("code", class(short != s, "title"), clip(s, maxTitle))
	p.words(short)
	p.Close()
}

// words writes a text that may be broken between the parts of a name.
func (p *page) words(s string) {
	for k, word := range unbroken.FindAllString(s, -1) {
		if k > 0 {
			p.Empty("wbr")
		}
		p.Text(word)
	}
}

// text writes a text with its styles.
func (p *page) text(t Text) {
	for _, s := range t {
		switch s.style {
		case name:
			p.name(printable(s.text))
		case code:
			p.Leaf("code", clip(s.text, maxHTMLText))
		case strong:
			p.leaf("strong", s.text, class(s.tone != Neutral, "class"), toneClass[s.tone])
		default:
			p.prose(s.text)
		}
	}
}

// leaf writes an element that contains only prose.
func (p *page) leaf(element, text string, attrs ...string) {
	p.Open(element, attrs...)
	p.prose(text)
	p.Close()
}

// measure matches a number with its unit or sign.
var measure = regexp.MustCompile(`[0-9] (?:%|[nmµ]?s\b)`)

// prose writes a text without line breaks between a number and its unit. Commands and
// names are not prose: they are copied as they are.
func (p *page) prose(s string) {
	s = clip(s, maxHTMLText)
	from := 0
	for _, at := range measure.FindAllStringIndex(s, -1) {
		p.Text(s[from : at[0]+1])
		p.Raw("\u00a0")
		from = at[0] + 2
	}
	p.Text(s[from:])
}

// lines writes lines of text as they are.
func (p *page) lines(s string) {
	n := 0
	for line := range strings.Lines(s) {
		if n++; n > maxHTMLRows {
			p.Text("…")
			return
		}
		p.command(clip(strings.TrimRight(line, "\r\n"), maxHTMLText))
		p.Line()
	}
}

// maxCommand is the most characters of a command; a longer line is not one.
const maxCommand = 400

// command writes a line so that it breaks only between words: browsers break flags at
// their hyphens.
func (p *page) command(line string) {
	if len(line) > maxCommand || p.Len() > maxFigures {
		p.Text(line)
		return
	}
	for k, word := range strings.Split(line, " ") {
		if k > 0 {
			p.Text(" ")
		}
		if len(word) > 1 && strings.Contains(word, "-") {
			p.Leaf("span", word)
		} else {
			p.Text(word)
		}
	}
}

// clip limits the length of a text and makes it printable.
func clip(s string, to int) string { return shorten(table.Printable(s), to, false) }
