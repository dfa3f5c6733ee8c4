package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format is a form of tables for people and for other programs.
type Format int

// The formats.
const (
	// CSV has a line of names and a line per row, ended by a line feed. Null is
	// an empty field, an empty text is "". Control characters, which a terminal
	// would obey and which would break lines, are spelled out.
	CSV Format = iota
	// JSON has an object a row and a line an object. Numbers are not rounded;
	// those that JSON has no form for, and null, are null.
	JSON
	// Aligned is for terminals. Null is "-"; numbers have six digits, texts are
	// cut after 80 characters, and control characters are spelled out. Columns
	// are as wide as the first table asks for; what comes later and is wider
	// widens them from there on.
	Aligned
)

// maxCell is how many characters of a text Aligned shows.
const maxCell = 80

// Writer shows one table or several of the same columns as one.
type Writer struct {
	w      *bufio.Writer
	format Format
	fields []Field // of the first table
	widths []int
	line   []byte
	keys   [][]byte
}

// NewWriter returns a writer to w. Close it when all is written.
func NewWriter(w io.Writer, format Format) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 64<<10), format: format}
}

// WriteCSV writes tables of the same columns as CSV.
func WriteCSV(w io.Writer, tables ...*Table) error { return writeAll(w, CSV, tables) }

// WriteJSON writes tables of the same columns as one JSON object a row.
func WriteJSON(w io.Writer, tables ...*Table) error { return writeAll(w, JSON, tables) }

// WriteText writes tables of the same columns for a terminal.
func WriteText(w io.Writer, tables ...*Table) error { return writeAll(w, Aligned, tables) }

func writeAll(w io.Writer, format Format, tables []*Table) error {
	out := NewWriter(w, format)
	for _, t := range tables {
		if err := out.Write(t); err != nil {
			return err
		}
	}
	return out.Close()
}

// Close writes what is left. It does not close the underlying writer.
func (w *Writer) Close() error { return w.w.Flush() }

// Write writes the rows of t, the first time behind a header.
func (w *Writer) Write(t *Table) error {
	if w.fields == nil {
		for i := range t.Columns {
			w.fields = append(w.fields, t.Columns[i].Field)
		}
		w.widths = make([]int, len(w.fields))
	}
	if err := w.same(t); err != nil {
		return err
	}
	switch w.format {
	case CSV:
		return w.csv(t)
	case JSON:
		return w.json(t)
	default:
		return w.aligned(t)
	}
}

// same makes sure that t has the columns of the first table.
func (w *Writer) same(t *Table) error {
	ok := len(t.Columns) == len(w.fields)
	for i := 0; ok && i < len(w.fields); i++ {
		ok = t.Columns[i].Field == w.fields[i]
	}
	if !ok {
		return fmt.Errorf("table %s has other columns than the one before it", t.Schema)
	}
	return nil
}

func (w *Writer) csv(t *Table) error {
	if w.keys == nil {
		w.keys = [][]byte{}
		for i, f := range w.fields {
			w.line = appendField(separate(w.line, i, ','), f.Name)
		}
		w.line = append(w.line, '\n')
	}
	for row := range t.rows {
		for i := range t.Columns {
			w.line = separate(w.line, i, ',')
			switch c := &t.Columns[i]; {
			case c.Null(row):
			case c.Type == Text:
				w.line = appendField(w.line, c.Texts[row])
			default:
				w.line = appendPlain(w.line, c, row)
			}
		}
		w.line = append(w.line, '\n')
		if err := w.flushLine(); err != nil {
			return err
		}
	}
	return w.flushLine()
}

// flushLine hands over the line.
func (w *Writer) flushLine() error {
	_, err := w.w.Write(w.line)
	w.line = w.line[:0]
	return err
}

// separate appends a separator before every field but the first.
func separate(line []byte, i int, by byte) []byte {
	if i > 0 {
		line = append(line, by)
	}
	return line
}

// appendField appends a text as CSV.
func appendField(line []byte, s string) []byte {
	s = visible(s)
	if s != "" && !strings.ContainsAny(s, ",\"") && s[0] != ' ' && s[len(s)-1] != ' ' {
		return append(line, s...)
	}
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(s, `"`, `""`)...)
	return append(line, '"')
}

// appendPlain appends a value that is no text, not rounded.
func appendPlain(line []byte, c *Column, row int) []byte {
	switch c.Type {
	case Int:
		return strconv.AppendInt(line, c.Ints[row], 10)
	case Float:
		return appendFloat(line, c.Floats[row])
	default:
		return strconv.AppendBool(line, c.Bools[row])
	}
}

// appendFloat appends the shortest number that reads back as f, without an
// exponent where that is of readable length.
func appendFloat(line []byte, f float64) []byte {
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(line, f, form, -1, 64)
}

func (w *Writer) json(t *Table) error {
	if w.keys == nil {
		w.keys = make([][]byte, len(w.fields))
		for i, f := range w.fields {
			w.keys[i] = append(appendQuoted(separate([]byte{}, i, ','), f.Name), ':')
		}
	}
	for row := range t.rows {
		w.line = append(w.line, '{')
		for i := range t.Columns {
			w.line = append(w.line, w.keys[i]...)
			switch c := &t.Columns[i]; {
			case c.Null(row), c.Type == Float && (math.IsNaN(c.Floats[row]) || math.IsInf(c.Floats[row], 0)):
				w.line = append(w.line, "null"...)
			case c.Type == Text:
				w.line = appendQuoted(w.line, c.Texts[row])
			default:
				w.line = appendPlain(w.line, c, row)
			}
		}
		w.line = append(w.line, "}\n"...)
		if err := w.flushLine(); err != nil {
			return err
		}
	}
	return nil
}

// appendQuoted appends a text as JSON.
func appendQuoted(line []byte, s string) []byte {
	simple := true
	for i := 0; i < len(s); i++ {
		b := s[i]
		simple = simple && b >= ' ' && b < utf8.RuneSelf && b != '"' && b != '\\'
	}
	if simple { // Fast path: nothing to escape.
		line = append(line, '"')
		line = append(line, s...)
		return append(line, '"')
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string has no error
	return append(line, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

func (w *Writer) aligned(t *Table) error {
	first := w.keys == nil
	w.keys = [][]byte{}
	cells := make([][]string, t.rows)
	for row := range cells {
		cells[row] = make([]string, len(t.Columns))
		for i := range t.Columns {
			cells[row][i] = cell(&t.Columns[i], row)
		}
	}
	if first {
		names := make([]string, len(w.fields))
		for i, f := range w.fields {
			names[i] = printable(f.Name)
		}
		cells = append([][]string{names}, cells...)
	}
	for _, row := range cells {
		for i, text := range row {
			w.widths[i] = max(w.widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range cells {
		w.align(row)
		if err := w.flushLine(); err != nil {
			return err
		}
	}
	return nil
}

// align makes a line of cells: texts to the left, the rest to the right.
func (w *Writer) align(cells []string) {
	for i, text := range cells {
		if i > 0 {
			w.line = append(w.line, "  "...)
		}
		pad := strings.Repeat(" ", w.widths[i]-utf8.RuneCountInString(text))
		if w.fields[i].Type == Text {
			w.line = append(append(w.line, text...), pad...)
		} else {
			w.line = append(append(w.line, pad...), text...)
		}
	}
	w.line = append(bytes.TrimRight(w.line, " "), '\n')
}

// cell returns a value as Aligned shows it.
func cell(c *Column, row int) string {
	switch {
	case c.Null(row):
		return "-"
	case c.Type == Text:
		return printable(c.Texts[row])
	case c.Type == Float:
		return rounded(c.Floats[row])
	default:
		return string(appendPlain(nil, c, row))
	}
}

// rounded returns a number with six digits, without an exponent where that is
// of readable length.
func rounded(f float64) string {
	if a := math.Abs(f); a >= 1e6 && a < 1e21 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// printable returns a text fit for a terminal, on one line and not too long.
func printable(s string) string {
	if n := utf8.RuneCountInString(s); n > maxCell {
		s = string([]rune(s)[:maxCell-1]) + "…"
	}
	return visible(s)
}

// visible spells out what is not printable in a text.
func visible(s string) string {
	for i := 0; i < len(s); i++ { // Fast path: printable ASCII.
		if s[i] < ' ' || s[i] > '~' {
			return spellOut(s)
		}
	}
	return s
}

func spellOut(s string) string {
	plain := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
