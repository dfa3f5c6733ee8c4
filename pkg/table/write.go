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

// Format is a form of tables for other programs.
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
)

// Writer writes one table or several of the same columns as one.
type Writer struct {
	w      *bufio.Writer
	format Format
	fields []Field // of the first table
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

// Write writes the rows of t, the first time after a header.
func (w *Writer) Write(t *Table) error {
	if w.fields == nil {
		for i := range t.Columns {
			w.fields = append(w.fields, t.Columns[i].Field)
		}
	}
	if err := w.same(t); err != nil {
		return err
	}
	if w.format == CSV {
		return w.csv(t)
	}
	return w.json(t)
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
