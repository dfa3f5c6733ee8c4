package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// maxName is the width of names where no width is given: in Markdown, and in sentences.
// Templates make kernel names longer than anyone reads.
const maxName = 60

// Markdown writes a document as GitHub's Markdown with aligned tables: the source is
// readable as it is. Options.Width and Color have no effect.
func Markdown(w io.Writer, d *Document, opt Options) error {
	m := &markdown{top: opt.Top}
	m.line("# %s", m.text(Plain(d.Title.String())))
	for _, s := range d.shown(opt) {
		if s.Title != "" {
			m.line("\n## %s", m.text(Plain(s.Title)))
		}
		for _, b := range s.text() {
			m.line("")
			m.block(b)
		}
	}
	if left := d.left(opt); left != nil {
		m.line("\n%s", m.text(left))
	}
	_, err := w.Write(m.Bytes())
	return err
}

type markdown struct {
	bytes.Buffer
	top int
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// block writes a block. The fence around code is longer than any fence in it, so that
// no line of code can end it. Drawings have no form in Markdown.
func (m *markdown) block(b Block) {
	switch b := b.(type) {
	case Paragraph:
		m.line("%s", m.text(Text(b)))
	case *List:
		for i, item := range b.Items {
			mark := "-"
			if b.Ordered {
				mark = fmt.Sprintf("%d.", i+1)
			}
			m.line("%s %s", mark, m.text(item))
		}
	case *Note:
		label := "Note"
		if b.Tone >= Warn {
			label = "Warning"
		}
		m.line("> **%s:** %s", label, m.text(b.Text))
	case Code:
		fence := "```"
		for strings.Contains(string(b), fence) {
			fence += "`"
		}
		m.line("%s", fence)
		for line := range strings.Lines(string(b)) {
			m.line("%s", printable(strings.TrimRight(line, "\r\n")))
		}
		m.line("%s", fence)
	case *Table:
		m.table(b.layout(m.top))
	}
}

func (m *markdown) table(g *grid) {
	if g.table.Title != "" {
		m.line("%s:\n", m.text(Plain(g.table.Title)))
	}
	lines := make([]string, 2+len(g.columns[0].cells))
	for i := range g.columns {
		c := &g.columns[i]
		column, wide := []string{escape(c.title), ""}, 3
		for _, cell := range c.cells {
			column = append(column, cell.markdown())
		}
		for _, text := range column {
			wide = max(wide, width(text))
		}
		column[1] = strings.Repeat("-", wide)
		for k, text := range column {
			lines[k] += "| " + pad(text, wide, c.right()) + " "
		}
		if c.right() {
			lines[1] = lines[1][:len(lines[1])-1] + ":"
		}
	}
	for _, line := range lines {
		m.line("%s|", line)
	}
	if g.more != "" {
		m.line("\n%s.", m.text(Plain(g.more)))
	}
}

// markdown returns a cell as Markdown.
func (c *gridCell) markdown() string {
	if !c.name || c.text == "" {
		return escape(c.text)
	}
	text := shorten(c.text, maxName, true)
	return verbatim(strings.ReplaceAll(strings.ReplaceAll(text, `\|`, `\¦`), "|", `\|`))
}

// text returns a text as Markdown.
func (m *markdown) text(t Text) string {
	var b strings.Builder
	for _, s := range t {
		text := printable(s.text)
		switch s.style {
		case name:
			b.WriteString(verbatim(shorten(text, maxName, true)))
		case code:
			b.WriteString(verbatim(text))
		case strong:
			if text = strings.TrimSpace(text); text != "" {
				b.WriteString("**" + escape(text) + "**")
			}
		default:
			b.WriteString(escape(text))
		}
	}
	return blockStart.ReplaceAllString(strings.TrimSpace(b.String()), `$1\$2`)
}

// verbatim returns a text as a code span, in which nothing is markup, a link or a
// mention.
func verbatim(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence != "`" {
		s = " " + s + " "
	}
	return fence + s + fence
}

var (
	// blockStart matches what would make a line more than a paragraph.
	blockStart = regexp.MustCompile(`^(\d*)([.)](?: |$)|[#>=]|[-+*](?: |$|-))`)
	// active matches words that GitHub interprets: mentions, links, references to
	// issues, emoji.
	active = regexp.MustCompile(`@|://|www\.|#\d|:[a-z0-9_+-]+:`)
)

// escape returns Markdown that shows a text. Marks without a meaning in their place are
// left alone: the source is read, too.
func escape(s string) string {
	words := strings.Split(s, " ")
	for i, word := range words {
		if active.MatchString(word) {
			bare := strings.TrimRight(word, ",;:")
			words[i] = verbatim(strings.ReplaceAll(bare, "|", "¦")) + word[len(bare):]
		} else {
			words[i] = escapeWord([]rune(word))
		}
	}
	return strings.Join(words, " ")
}

// escapeWord puts a backslash before what Markdown would interpret, and only there, so
// that the source stays legible. Whether a star, an underscore or a tilde means
// something depends on its neighbours; a blank stands beyond both ends of a word.
// Underscores before a letter end no emphasis, and where none can end, none begins.
func escapeWord(word []rune) string {
	var b strings.Builder
	at := func(i int) rune {
		if i < 0 || i >= len(word) {
			return ' '
		}
		return word[i]
	}
	ends := false // whether a run of underscores may end emphasis
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for i, r := range word {
		before, after := at(i-1), at(i+1)
		special := false
		switch r {
		case '\\', '`', '[', ']', '|', '$':
			special = true
		case '*', '~':
			special = before != ' ' || after != ' '
		case '_':
			if before != '_' { // the first of a run decides for all of it
				next := after
				for j := i + 2; next == '_'; j++ {
					next = at(j)
				}
				ends = !inWord(next) && (before != ' ' || after != ' ')
			}
			special = ends
		case '<', '&':
			special = after != ' '
		}
		if special {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
