package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"

	"github.com/hostbound/hostbound/pkg/report/figure"
)

// The style and the script of a page. The script only adds to what is there: a page
// says all without it.
var (
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// Bounds of a page, which stays below 1 MB whatever the document has.
const (
	maxHTMLRows  = 200     // of a table
	maxHTMLItems = 200     // of a list
	maxHTMLText  = 4000    // characters of a text or command
	maxTitle     = 400     // characters of a name that is shown in full beside its short form
	smallFigure  = 40_000  // bytes of a drawing that has room where
	maxFigures   = 700_000 // larger ones have none: these are bytes up to its end
	maxPage      = 850_000 // bytes up to where the last block begins
)

// HTML writes a document as one page that needs nothing but itself: no network, no
// font, no script to be read. Options.Width, Color and Brief have no effect.
//
// Its security policy allows the style and the script of the program by their
// hashes and nothing else, so that a name which got past the escaping would still do
// nothing.
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

// page is a page that is being written.
type page struct {
	figure.Writer
	top     int    // of Options
	title   string // of what is written
	figures int    // so far
	tables  int    // so far
}

// head writes what is not shown.
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

// hash is what a security policy names an inline style or script by.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
