package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format is a text format of tables for other programs.
type Format int

// The formats.
const (
	// CSV has a line of names and a line per row, each ended by a line feed. Null is an
	// empty field, an empty text is "". Control characters are escaped: a terminal
	// would obey them, and they would break lines. A text that begins with =, +, - or @
	// and is not a number gets an apostrophe before it, so that no spreadsheet runs it.
	CSV Format = iota
	// JSON has one object per line and row. Its first key is "schema" with the name of
	// the table, unless a column has that name. Numbers are not rounded; NaN and
	// infinities become null.
	JSON
)

// Writer writes a table, or several with the same columns as one.
type Writer struct {
	w      *bufio.Writer
	format Format
	fields []Field  // of the first table
	keys   []string // for JSON, what precedes the value of each field; nil before the first table
	line   []byte
}

// NewWriter returns a writer to w. The caller must Close it.
func NewWriter(w io.Writer, format Format) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 64<<10), format: format}
}

// Close flushes the writer. It does not close the underlying writer.
func (w *Writer) Close() error { return w.w.Flush() }

// Write writes the rows of t, preceded by a header the first time. A table whose
// columns differ from the first one's is an error. t is not retained. Rows reach the
// underlying writer when a buffer is full or on Close, so an error may be due to an
// earlier row.
func (w *Writer) Write(t *Table) error {
	var fields []Field
	for i := range t.Columns {
		fields = append(fields, t.Columns[i].Field)
	}
	if w.keys == nil {
		w.fields = fields
		w.begin(t)
	}
	if !slices.Equal(fields, w.fields) {
		return fmt.Errorf("table %s has other columns than the one before it", t.Schema)
	}
	json := w.format == JSON
	for row := range t.rows {
		if json {
			w.line = append(w.line, '{')
		}
		for i := range t.Columns {
			if i > 0 {
				w.line = append(w.line, ',')
			}
			if json {
				w.line = append(w.line, w.keys[i]...)
			}
			w.value(&t.Columns[i], row)
		}
		if json {
			w.line = append(w.line, '}')
		}
		w.line = append(w.line, '\n')
		if err := w.flushLine(); err != nil {
			return err
		}
	}
	return w.flushLine()
}

// begin makes the keys of the fields and, for CSV, the line of names.
func (w *Writer) begin(t *Table) {
	w.keys = []string{}
	for i, f := range w.fields {
		switch {
		case w.format == JSON:
			w.keys = append(w.keys, string(appendQuoted(nil, []byte(f.Name)))+":")
			continue
		case i > 0:
			w.line = append(w.line, ',')
		}
		w.line = appendField(w.line, []byte(f.Name))
	}
	switch {
	case w.format == CSV:
		w.line = append(w.line, '\n')
	case len(w.keys) > 0 && t.Column("schema") == nil:
		w.keys[0] = fmt.Sprintf(`"schema":%q,`, t.Name()) + w.keys[0]
	}
}

// value appends a value to the line.
func (w *Writer) value(c *Column, row int) {
	switch {
	case w.format == CSV && c.Null(row):
	case c.Null(row), w.format == JSON && c.Type == Float && (math.IsNaN(c.Values.Float(row)) || math.IsInf(c.Values.Float(row), 0)):
		w.line = append(w.line, "null"...)
	case c.Type != Text:
		w.line = appendPlain(w.line, c, row)
	case w.format == CSV:
		w.line = appendField(w.line, asText(c.Values.Strings.Get(row)))
	default:
		w.line = appendQuoted(w.line, c.Values.Strings.Get(row))
	}
}

// flushLine writes the line.
func (w *Writer) flushLine() error {
	_, err := w.w.Write(w.line)
	w.line = w.line[:0]
	return err
}

// asText keeps spreadsheets from taking a text for a formula: if it begins like one and
// is not a number, it gets an apostrophe before it.
func asText(s []byte) []byte {
	if len(s) == 0 || !bytes.ContainsRune([]byte("=+-@"), rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(string(s), 64); err == nil {
		return s
	}
	return append([]byte{'\''}, s...)
}

// appendField appends a text as CSV.
func appendField(line, s []byte) []byte {
	s = visible(s)
	if len(s) > 0 && !bytes.ContainsAny(s, ",\"") && s[0] != ' ' && s[len(s)-1] != ' ' {
		return append(line, s...)
	}
	line = append(line, '"')
	line = append(line, bytes.ReplaceAll(s, []byte(`"`), []byte(`""`))...)
	return append(line, '"')
}

// appendPlain appends a value other than text, not rounded.
func appendPlain(line []byte, c *Column, row int) []byte {
	switch c.Type {
	case Int:
		return strconv.AppendInt(line, c.Values.Ints[row], 10)
	case Float:
		return appendFloat(line, c.Values.Float(row))
	default:
		return strconv.AppendBool(line, c.Values.Ints[row] != 0)
	}
}

// appendFloat appends the shortest number that reads back as f, without an exponent if
// that stays readable.
func appendFloat(line []byte, f float64) []byte {
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(line, f, form, -1, 64)
}

// appendQuoted appends a text as JSON.
func appendQuoted(line, s []byte) []byte {
	simple := true
	for _, b := range s {
		simple = simple && b >= ' ' && b <= '~' && b != '"' && b != '\\'
	}
	if simple { // Fast path: nothing to escape.
		line = append(line, '"')
		line = append(line, s...)
		return append(line, '"')
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	e.Encode(string(s)) // encoding a string cannot fail
	return append(line, EscapeJSON(bytes.TrimSuffix(quoted.Bytes(), []byte("\n")))...)
}

// visible escapes what is not printable, as Go does: control characters and invalid
// UTF-8.
func visible(s []byte) []byte {
	ascii := 0
	for ascii < len(s) && ' ' <= s[ascii] && s[ascii] <= '~' { // Fast path.
		ascii++
	}
	if bytes.IndexFunc(s[ascii:], func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return s
	}
	quoted := strconv.QuoteToGraphic(string(s))
	return []byte(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
}
