package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"

	"github.com/hostbound/hostbound/pkg/report/figure"
)

// The style and the script of a page. The script only adds convenience: the page is
// complete without it.
var (
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// Bounds of a page, which stays below 1 MB for any document.
const (
	maxHTMLRows  = 200     // of a table
	maxHTMLItems = 200     // of a list
	maxHTMLText  = 4000    // characters of a text or command
	maxTitle     = 400     // characters of a name that is shown in full beside its short form
	smallFigure  = 40_000  // bytes of a drawing that is always drawn
	maxFigures   = 700_000 // a larger drawing is left out if the page would exceed this many bytes after it
	maxPage      = 850_000 // no block begins after this many bytes
)

// HTML writes a document as a self-contained page: no network, no fonts, and readable
// without scripts. Options.Width, Color and Brief have no effect.
//
// Its security policy allows only the program's own style and script, by their hashes.
// So a name that got past the escaping would still do nothing.
func HTML(w io.Writer, d *Document, opt Options) error {
	p := &page{top: opt.Top}
	p.Raw("<!doctype html>\n")
	p.Open("html", "lang", "en")
	p.head(d)
	p.Open("body")
	p.Leaf("a", "Skip to the report", "class", "skip", "href", "#report")
	p.Open("header")
	p.Open("h1")
	p.text(d.Title)
	p.Close()
	p.Close()
	p.contents(d)
	p.Open("main", "id", "report")
	for k, s := range d.Sections {
		if len(s.Blocks) > 0 {
			p.section(k, s)
		}
	}
	p.Close()
	p.Open("script")
	p.Raw(pageScript)
	p.Close()
	p.Close()
	p.Close()
	_, err := w.Write(append(p.Bytes(), '\n'))
	return err
}

// page is a page being written.
type page struct {
	figure.Writer
	top     int    // of Options
	title   string // title of the current section
	figures int    // number so far
	tables  int    // number so far
}

// head writes the head element.
func (p *page) head(d *Document) {
	p.Open("head")
	p.Empty("meta", "charset", "utf-8")
	p.Empty("meta", "http-equiv", "Content-Security-Policy", "content",
		"default-src 'none'; style-src "+hash(pageStyle)+"; script-src "+hash(pageScript)+"; img-src data:; base-uri 'none'; form-action 'none'")
	p.Empty("meta", "name", "viewport", "content", "width=device-width, initial-scale=1")
	p.Empty("meta", "name", "color-scheme", "content", "light dark")
	p.Empty("meta", "name", "referrer", "content", "no-referrer")
	p.Empty("link", "rel", "icon", "href", "data:,")
	p.Leaf("title", clip(d.Title.String(), maxTitle))
	p.Open("style")
	p.Raw(pageStyle)
	p.Close()
	p.Close()
	p.Line()
}

// hash returns the form in which a security policy names an inline style or script.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
