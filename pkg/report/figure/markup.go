package figure

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Writer collects HTML and SVG. Names of elements and attributes are ours; texts may be
// anyone's. All text is escaped, except by Raw, which is for the program's own style
// and script. The zero value is ready to use.
//
// Elements are closed in reverse order of opening. Bytes panics while elements are
// open: a page is well-formed, or the program is wrong.
type Writer struct {
	out  bytes.Buffer
	open []string
}

// escapes works for text and for quoted attributes, in HTML and in XML.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// Open begins an element. Attributes are pairs of name and value; a pair with an empty
// name is left out.
func (w *Writer) Open(element string, attrs ...string) {
	w.tag(element, attrs)
	w.out.WriteByte('>')
	w.open = append(w.open, element)
}

// Close ends the innermost element.
func (w *Writer) Close() {
	last := len(w.open) - 1
	w.out.WriteString("</" + w.open[last] + ">")
	w.open = w.open[:last]
}

// Empty writes an element without content, in the form of HTML's void elements, which
// SVG allows for any element.
func (w *Writer) Empty(element string, attrs ...string) {
	w.tag(element, attrs)
	w.out.WriteString("/>")
}

// Leaf writes an element that contains only text.
func (w *Writer) Leaf(element, text string, attrs ...string) {
	w.Open(element, attrs...)
	w.Text(text)
	w.Close()
}

func (w *Writer) tag(element string, attrs []string) {
	w.out.WriteString("<" + element)
	for k := 0; k+1 < len(attrs); k += 2 {
		if attrs[k] != "" {
			w.out.WriteString(" " + attrs[k] + `="`)
			escapes.WriteString(&w.out, table.Printable(attrs[k+1]))
			w.out.WriteByte('"')
		}
	}
}

// Text writes text.
func (w *Writer) Text(s string) { escapes.WriteString(&w.out, table.Printable(s)) }

// Line ends a line of the source, where that does not affect what is shown.
func (w *Writer) Line() { w.out.WriteByte('\n') }

// Raw writes a string unescaped: constants of the program, and the output of another
// Writer.
func (w *Writer) Raw(s string) { w.out.WriteString(s) }

// Len returns the number of bytes so far.
func (w *Writer) Len() int { return w.out.Len() }

// Bytes returns the page. It panics if elements are open.
func (w *Writer) Bytes() []byte {
	if len(w.open) > 0 {
		panic("BUG: not closed: " + strings.Join(w.open, ", "))
	}
	return w.out.Bytes()
}

// Num returns a number for an attribute, with two decimals: less than a pixel.
func Num(x float64) string {
	s := strconv.FormatFloat(x, 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// Share returns a ratio for an attribute in percent, fine enough to be magnified.
func Share(x float64) string {
	s := strconv.FormatFloat(100*x, 'f', 4, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + "%"
}
