package lineprof

import (
	"bytes"
	"errors"
	"strconv"
)

// number is a printed number.
type number struct {
	value      float64 // absolute value
	point      bool    // printed with decimals
	scientific bool    // printed with an exponent
	negative   bool
}

// row is one line of a table.
type row struct {
	number int
	ran    bool // has figures
	hits   number
	time   number
	perHit number
	share  float64 // 0 to 100; -1 if the column is blank
	source []byte
}

// columns holds the positions of fields in a table's header, in bytes from the start of
// the line.
type columns struct {
	prefix   []byte // what precedes every line, without trailing blanks
	lineEnd  int    // end of "Line #"
	contents int    // start of "Line Contents"
}

var headings = [][]byte{
	[]byte("Line #"), []byte("Hits"), []byte("Time"), []byte("Per Hit"), []byte("% Time"), []byte("Line Contents"),
}

// parseHeader parses the header of a table.
func parseHeader(line []byte) (c columns, ok bool) {
	at := bytes.Index(line, headings[0])
	if at < 0 {
		return c, false
	}
	c.prefix = bytes.Clone(bytes.TrimRight(line[:at], " \t"))
	c.lineEnd = at + len(headings[0])
	end := c.lineEnd
	for _, h := range headings[1:] {
		next := skipBlanks(line, end)
		if next == end || !bytes.HasPrefix(line[next:], h) {
			return c, false
		}
		c.contents, end = next, next+len(h)
	}
	return c, len(bytes.TrimSpace(line[end:])) == 0
}

// parse parses a row: a number, then either blanks up to the contents' column, or four
// or five fields and the source.
func (c *columns) parse(line []byte) (r row, ok bool) {
	i := 0
	if len(c.prefix) > 0 {
		if len(line) < len(c.prefix) || !bytes.HasPrefix(line, c.prefix) && !c.sameShape(line) {
			return r, false
		}
		i = len(c.prefix)
	}
	i = skipBlanks(line, i)
	start := i
	for i < len(line) && isDigit(line[i]) && i-start < 10 {
		r.number = r.number*10 + int(line[i]-'0')
		i++
	}
	if i == start || i < len(line) && line[i] != ' ' && line[i] != '\t' {
		return r, false
	}
	col := c.contents + max(0, i-c.lineEnd)
	if blank(line, i, col) {
		r.source = tail(line, col)
		return r, true
	}
	r.ran = true
	for _, field := range []*number{&r.hits, &r.time, &r.perHit} {
		i = skipBlanks(line, i)
		if *field, i, ok = parseNumber(line, i); !ok {
			return r, false
		}
	}
	return r, r.parseShare(line, i)
}

// parseShare parses the fifth field, which is eight wide and blank if the function took
// no time, and the source.
func (r *row) parseShare(line []byte, i int) bool {
	const width = 1 + 8
	r.share = -1
	if blank(line, i, i+width) {
		r.source = tail(line, i+width+2)
		return true
	}
	n, end, ok := parseNumber(line, skipBlanks(line, i))
	if !ok || n.value > 100+2*halfDecimal {
		return false
	}
	r.share = n.value
	from := end
	for from < len(line) && from < end+2 && line[from] == ' ' {
		from++
	}
	r.source = tail(line, from)
	return true
}

// complete reports whether an unterminated last line has all its digits: it goes on
// after its last field, or that field has its decimal.
func (r *row) complete(line []byte) bool {
	if len(r.source) > 0 || !r.ran {
		return len(r.source) > 0
	}
	n := len(line)
	return r.share >= 0 && n > 1 && line[n-2] == '.'
}

// sameShape reports whether a line has the prefix except for other digits, such as time
// stamps of log lines.
func (c *columns) sameShape(line []byte) bool {
	digits := false
	for i, p := range c.prefix {
		if isDigit(p) != isDigit(line[i]) || !isDigit(p) && p != line[i] {
			return false
		}
		digits = digits || isDigit(p)
	}
	return digits
}

// parseNumber parses a number that ends at a blank or the line's end. One too large for
// a float64 becomes infinite.
func parseNumber(line []byte, i int) (n number, end int, ok bool) {
	if i < len(line) && line[i] == '-' {
		n.negative = true
		i++
	}
	for end = i; end < len(line) && line[end] != ' ' && line[end] != '\t'; end++ {
		switch c := line[end]; {
		case isDigit(c):
		case end == i: // no digit, such as inf
			return n, end, false
		case c == '.':
			n.point = true
		case c == 'e' || c == 'E':
			n.scientific = true
		case c != '+' && c != '-':
			return n, end, false
		}
	}
	var err error
	n.value, err = strconv.ParseFloat(string(line[i:end]), 64)
	return n, end, err == nil || errors.Is(err, strconv.ErrRange)
}

// isDigit reports whether a byte is an ASCII digit; smaller bytes wrap around.
func isDigit(b byte) bool { return b-'0' <= 9 }

// skipBlanks returns the index of the first byte from i on that is not blank, the
// line's length if there is none.
func skipBlanks(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}

// blank reports whether bytes i to end are blank, or missing.
func blank(line []byte, i, end int) bool {
	for ; i < end && i < len(line); i++ {
		if line[i] != ' ' {
			return false
		}
	}
	return true
}

// tail returns the line from i on, without trailing blanks.
func tail(line []byte, i int) []byte {
	if i >= len(line) {
		return nil
	}
	return bytes.TrimRight(line[i:], " \t\r")
}
