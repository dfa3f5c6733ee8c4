package figure

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Writer collects HTML and SVG of which every name and attribute is ours and every text may be
// anybody's: there is no way to put text into a page that is not escaped, other than Raw,
// which is for the style and the script that are part of the program. Its zero value is ready
// to use.
//
// Elements are closed in the order that they were opened in, and a Writer that is
// asked for its bytes with elements open panics: a page is well-formed, or a mistake
// of ours.
type Writer struct {
	out  bytes.Buffer
	open []string
}

// escapes holds for text and for attributes in double quotes, in HTML and in XML.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// Open begins an element. Attributes are pairs of a name and a value; one with an
// empty name is left out.
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

// Empty writes an element without content, in the form that HTML has for void elements
// and SVG for any.
func (w *Writer) Empty(element string, attrs ...string) {
	w.tag(element, attrs)
	w.out.WriteString("/>")
}

// Leaf writes an element that has only text.
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

// Line ends a line of the source, where it makes no difference to what is shown.
func (w *Writer) Line() { w.out.WriteByte('\n') }

// Raw writes what is not escaped: constants of the program, and what another Writer made.
func (w *Writer) Raw(s string) { w.out.WriteString(s) }

// Len is how many bytes there are so far.
func (w *Writer) Len() int { return w.out.Len() }

// Bytes returns the page.
func (w *Writer) Bytes() []byte {
	if len(w.open) > 0 {
		panic("BUG: not closed: " + strings.Join(w.open, ", "))
	}
	return w.out.Bytes()
}

// Num is a number as an attribute: two decimals, which is less than a pixel.
func Num(x float64) string {
	s := strconv.FormatFloat(x, 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// Share is a share as an attribute in percent, fine enough to be magnified.
func Share(x float64) string {
	s := strconv.FormatFloat(100*x, 'f', 4, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + "%"
}
