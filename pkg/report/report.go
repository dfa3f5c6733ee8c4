// Package report holds what an analysis has to say, independent of its appearance: a
// Document of sections, each with statements, tables and commands. Analyses make
// documents, and commands render them:
//
//	Markdown   for pull requests and files: aligned source that renders well
//	Terminal   fitted to a width, in colour if wanted
//	HTML       one self-contained page, to read, share and print
//
// JSON is no rendering of a document: each analysis has its own contract for it.
//
// # Division of work
//
// A document knows nothing about formats: no Markdown, no escapes, no units in its
// figures. Durations are in microseconds, shares are ratios. Renderers choose units and
// digits, for a whole column of a table at once (see Column), so that figures can be
// compared at a glance. Missing is not zero: it is shown as "-".
//
// # Figures
//
// A Drawing is a plot (package figure) with the table of what it shows. Only HTML has
// the plot; text renderers show the table instead, or nothing if the table is Extra. A
// page stays below 1 MB for any document: tables and lists are cut, and large drawings
// that do not fit are left out, with a remark.
//
// # Hostile text
//
// Names come from traces and may contain anything. Every string of a document first
// loses what is not printable: control characters (so no escape sequence reaches a
// terminal), characters that change the direction of writing, broken UTF-8. Then each
// renderer escapes what has a meaning in its format. A string from a trace goes into a
// Name. A Name is shortened in the middle if there is no room, and no Markdown reader
// makes a link, a mention or markup of it.
package report

import "slices"

// Document is a report: a title, and sections in reading order. The first section has
// the answer and no title.
type Document struct {
	Title    Text       // the answer in one line, if there is one
	Last     Text       // the answer in one line if the title is not the answer, else empty
	Sections []*Section // sections without blocks are not shown
}

// Section is a part of a document. A section without blocks is not shown.
type Section struct {
	Title  string  // "" for the first one
	Blocks []Block // in reading order
	// Detail: a brief rendering only names the section.
	Detail bool
}

// Block is what a section consists of: a Paragraph, *List, *Note, Code, *Table or *Drawing.
type Block interface{ block() }

// Paragraph is a sentence, or a few.
type Paragraph Text

// List is a list of sentences.
type List struct {
	Items   []Text // a sentence each
	Ordered bool   // the order matters: items are numbered from 1
}

// Note is a remark about its surroundings. Warn is for what must not be overlooked.
type Note struct {
	Tone Tone // Warn and above make it a warning
	Text Text // without a label; renderers add it
}

// Code is text to be copied, such as a command line: no renderer wraps it.
type Code string

func (Paragraph) block() {}
func (*List) block()     {}
func (*Note) block()     {}
func (Code) block()      {}
func (*Table) block()    {}

// New returns a document with a title and its first section.
func New(title Text) (*Document, *Section) {
	d := &Document{Title: title}
	return d, d.Section("")
}

// Section adds a section.
func (d *Document) Section(title string) *Section {
	s := &Section{Title: title}
	d.Sections = append(d.Sections, s)
	return s
}

// SectionAfter adds a section after the one with a title, or at the end.
func (d *Document) SectionAfter(title, added string) *Section {
	at := slices.IndexFunc(d.Sections, func(s *Section) bool { return s.Title == title })
	s := d.Section(added)
	if at >= 0 {
		last := len(d.Sections) - 1
		d.Sections = slices.Insert(d.Sections[:last], at+1, s)
	}
	return s
}

// Details adds a section with details, which a brief rendering only names.
func (d *Document) Details(title string) *Section {
	s := d.Section(title)
	s.Detail = true
	return s
}

// Say adds a paragraph, formatted by Textf.
func (s *Section) Say(format string, args ...any) {
	s.Blocks = append(s.Blocks, Paragraph(Textf(format, args...)))
}

// Item adds an item, formatted by Textf, to the list at the end of the section, or
// begins a list.
func (s *Section) Item(format string, args ...any) { s.item(false, Textf(format, args...)) }

// Number is Item for lists whose order matters.
func (s *Section) Number(format string, args ...any) { s.item(true, Textf(format, args...)) }

func (s *Section) item(ordered bool, t Text) {
	if n := len(s.Blocks); n > 0 {
		if l, ok := s.Blocks[n-1].(*List); ok && l.Ordered == ordered {
			l.Items = append(l.Items, t)
			return
		}
	}
	s.Blocks = append(s.Blocks, &List{Items: []Text{t}, Ordered: ordered})
}

// Items adds plain sentences to a list.
func (s *Section) Items(items []string) {
	for _, item := range items {
		s.item(false, Plain(item))
	}
}

// Note adds a note, formatted by Textf.
func (s *Section) Note(tone Tone, format string, args ...any) {
	s.Blocks = append(s.Blocks, &Note{tone, Textf(format, args...)})
}

// Code adds text to be copied.
func (s *Section) Code(text string) { s.Blocks = append(s.Blocks, Code(text)) }

// Table adds a table. Its title may be "" if that of the section suffices.
func (s *Section) Table(title string, columns ...Column) *Table {
	t := &Table{Title: title, Columns: columns}
	s.Blocks = append(s.Blocks, t)
	return t
}
