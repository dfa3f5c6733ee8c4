package lineprof

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// textReader reads the lines of a text that may contain line_profiler's tables.
type textReader struct {
	profile *Profile
	found   bool // some line was a profiler's
	timers  int  // functions of TensorRT-LLM's timer table
	line    int  // of the input, from 1

	unit  float64           // of the last "Timer unit", 0 if there was none
	ahead preamble          // lines before the next table
	table *table            // the current one, nil if none
	spare table             // the last one, for its memory
	timer bool              // within TensorRT-LLM's table of functions
	run   map[identity]bool // functions of the current run
	sums  []summary         // lines of summaries

	cut, contradicting, negative, huge, many int // counts of rows; see warnAll
	firstContradicting                       int // line of the input
	short                                    int // tables that lack more than a sixth of their time
	firstShort                               string
	inferred                                 []float64
}

// preamble is what precedes a table, in any order.
type preamble struct {
	total        float64 // seconds, -1 if not seen
	path, name   string
	line         int
	named, filed bool
}

// summary is a line of the summary at the end of a text.
type summary struct {
	seconds    float64
	path, name string
	line       int
	run        int
}

// table is the table of one function while its rows are read.
type table struct {
	columns
	fn      *Function
	total   float64 // seconds, -1 if unknown
	last    int     // number of the last row
	gap     bool    // followed by a blank line
	figures []row
	source  []byte // of all rows
	ends    []int  // in source, end of each row
}

// add reads one line without its end. last says that the line is not terminated,
// because the input ends there.
func (t *textReader) add(line []byte, last bool) {
	t.line++
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = ansi.ReplaceAll(line, nil)
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if t.table != nil && t.addRow(line, last) {
		return
	}
	if t.timer && t.addTimer(line) {
		return
	}
	t.addOther(line, last)
}

// addRow reads a line as a row of the current table. It returns false for a line that
// ends the table: not a row, or a row whose number is not greater. Blank lines do not
// end it, as source has some; after one, only the very next number continues the table.
// An unterminated last line may be half a row: it is counted as cut unless its figures
// are complete.
func (t *textReader) addRow(line []byte, last bool) bool {
	b := t.table
	if len(bytes.TrimSpace(line)) == 0 || len(b.prefix) > 0 && bytes.Equal(bytes.TrimSpace(line), b.prefix) {
		b.gap = len(b.figures) > 0
		return true
	}
	r, ok := b.parse(line)
	if !ok || len(b.figures) > 0 && (r.number <= b.last || b.gap && r.number != b.last+1) {
		return !last && len(b.figures) == 0 && isRule(line, b.prefix)
	}
	if last && !r.complete(line) {
		t.cut++
		return true
	}
	if r.hits.value > most {
		t.many++
	}
	b.add(r)
	return true
}

// add stores a row. It copies the source, since the line belongs to the reader.
func (b *table) add(r row) {
	if len(b.figures) == 0 && b.fn.Line == 0 {
		b.fn.Line = r.number
	}
	b.last, b.gap = r.number, false
	l := Line{Number: r.number}
	if r.ran {
		l.Hits = int64(min(r.hits.value, most))
	}
	b.fn.Lines = append(b.fn.Lines, l)
	b.source = append(b.source, r.source...)
	b.ends = append(b.ends, len(b.source))
	r.source = nil // shares the line's memory
	b.figures = append(b.figures, r)
}

// isRule reports whether a line only underlines the header.
func isRule(line, prefix []byte) bool {
	return len(bytes.Trim(bytes.TrimPrefix(line, prefix), "=- \t")) == 0
}

var (
	unitLine    = regexp.MustCompile(`Timer unit: ([0-9.eE+-]+) s\s*$`)
	totalLine   = regexp.MustCompile(`Total time: (-?[0-9.eE+-]+) s\s*$`)
	nameLine    = regexp.MustCompile(`Function: (.+) at line ([0-9]{1,9})\s*$`)
	missingLine = regexp.MustCompile(`Could not find file (.+?)\s*$`)
	sumLine     = regexp.MustCompile(`([0-9]+\.[0-9]{2}) seconds - (.+):([0-9]{1,9}) - (.+?)\s*$`)
	linkMark    = regexp.MustCompile(`\[/?link[^\]]*\]`)
)

// addOther reads a line that is not a row. It is recognised by a phrase anywhere in the
// line, since logs put times and names before it. The phrase counts only if the rest of
// the line is as line_profiler writes it. Any other line is ignored.
func (t *textReader) addOther(line []byte, last bool) {
	if c, ok := parseHeader(line); ok {
		t.begin(c)
		return
	}
	if last { // it may be incomplete
		t.cutLine(line)
		return
	}
	switch {
	case bytes.Contains(line, []byte("Timer unit:")): // ends a table, and is valid until the next one
		if m := unitLine.FindSubmatch(line); m != nil {
			if u, err := strconv.ParseFloat(string(m[1]), 64); err == nil && u > 0 && u <= 1e6 {
				t.end()
				t.found, t.unit, t.timer = true, u, false
			}
		}
	case bytes.Contains(line, []byte("Total time:")):
		if m := totalLine.FindSubmatch(line); m != nil {
			if s, err := strconv.ParseFloat(string(m[1]), 64); err == nil && !math.IsInf(s, 0) && !math.IsNaN(s) {
				t.end()
				t.found, t.ahead.total = true, s
			}
		}
	case bytes.Contains(line, []byte("Function: ")):
		if m := nameLine.FindSubmatch(line); m != nil {
			t.end()
			t.ahead.name, t.ahead.line, t.ahead.named = clean(m[1]), atoi(m[2]), true
		}
	case bytes.Contains(line, []byte("File: ")):
		t.addFile(line)
	case bytes.Contains(line, []byte("Could not find file ")):
		if m := missingLine.FindSubmatch(line); m != nil {
			t.ahead.path, t.ahead.filed = string(m[1]), true
		}
	case bytes.Contains(line, []byte(" seconds - ")):
		t.addSummary(line)
	case bytes.Contains(line, timerTitle):
		t.end()
		t.found, t.timer = true, true
	}
}

// cutLine counts an unterminated last line that belongs to a profile.
func (t *textReader) cutLine(line []byte) {
	for _, begin := range []string{"Timer unit:", "Total time:", "Function: ", "File: ", "Line #"} {
		if bytes.Contains(line, []byte(begin)) {
			t.cut++
			return
		}
	}
	if m := sumLine.FindSubmatch(line); m != nil {
		t.addSummary(line)
	}
}

// addFile reads a "File: " at the beginning of a line, after comment marks if any.
func (t *textReader) addFile(line []byte) {
	before, after, _ := bytes.Cut(line, []byte("File: "))
	if bytes.ContainsFunc(before, isWordRune) && !(t.ahead.total >= 0 || t.ahead.named || t.ahead.filed) {
		return
	}
	t.end()
	t.ahead.path, t.ahead.filed = strings.TrimSpace(string(after)), true
}

// isWordRune reports whether a rune is part of a word, and thus not a comment mark.
func isWordRune(r rune) bool { return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'z' }

// addSummary reads a line of the summary, which rich terminals print with links.
func (t *textReader) addSummary(line []byte) {
	m := sumLine.FindSubmatch(linkMark.ReplaceAll(line, nil))
	if m == nil {
		return
	}
	t.end()
	t.found = true
	s, _ := strconv.ParseFloat(string(m[1]), 64)
	t.sums = append(t.sums, summary{seconds: s, path: string(m[2]), line: atoi(m[3]), name: clean(m[4]), run: t.profile.Runs})
}

// begin starts the table whose header was read. It consumes the preamble, which
// describes the function: the next table has its own, or none. It reuses the memory of
// the last table.
func (t *textReader) begin(c columns) {
	t.end()
	t.found, t.timer = true, false
	a := t.ahead
	t.ahead = preamble{total: -1}
	fn := &Function{Name: a.name, Line: a.line, path: a.path, File: Reduce(a.path), SelfNs: -1, Calls: -1}
	old := t.spare
	t.spare = table{}
	t.table = &table{columns: c, fn: fn, total: a.total, figures: old.figures[:0], source: old.source[:0], ends: old.ends[:0]}
}

// end ends the current table. Only now are times known: without a stated unit, the unit
// follows from the table's total and shares. The source strings of all lines share one
// allocation.
func (t *textReader) end() {
	b := t.table
	if b == nil {
		return
	}
	t.table = nil
	t.addFunction(b.fn)
	unit := t.unit
	if unit == 0 && b.total > 0 {
		if unit = inferUnit(b.figures, b.total); unit > 0 {
			t.inferred = append(t.inferred, unit)
		}
	}
	t.profile.Unit = unit
	t.fill(b, unit)
	source, from := string(b.source), 0
	for i, end := range b.ends {
		b.fn.Lines[i].Source = source[from:end]
		from = end
	}
	t.check(b)
	t.spare = *b
}

// fill sets the times of a finished table. unit is in seconds, 0 if unknown. The
// function's time is "Total time", or else the sum of its lines. Shares decide if the
// printed time was rounded so far that it contradicts them (row.outvoted).
func (t *textReader) fill(b *table, unit float64) {
	scale := scaleOf(unit)
	totalNs := max(0, b.total) * 1e9
	sum := int64(0)
	for i := range b.figures {
		f := &b.figures[i]
		l := &b.fn.Lines[i]
		l.Ns, l.Time = f.lineTime(unit, scale, totalNs)
		sum = Add(sum, l.Ns)
		if f.ran && f.time.negative {
			t.negative++
		}
		if l.Ns == most {
			t.huge++
		}
		if f.outvoted(scale, totalNs) {
			l.Ns, l.Time = roundNs(f.share/100*totalNs), FromShare
		}
		if f.contradicts(scale, totalNs) {
			if t.contradicting == 0 {
				t.firstContradicting = t.line - len(b.figures) + i
			}
			t.contradicting++
		}
	}
	b.fn.Ns = roundNs(totalNs)
	if b.total < 0 {
		b.fn.Ns = sum
	}
}

// check counts a table that lacks much of its time.
func (t *textReader) check(b *table) {
	shares, seen, ran := 0.0, false, false
	for _, f := range b.figures {
		ran = ran || f.ran
		if f.ran && f.share >= 0 {
			shares, seen = shares+f.share, true
		}
	}
	if b.total > 0 && (!ran || seen && shares < 100*wholeTable) {
		if t.short == 0 {
			t.firstShort = fmt.Sprintf("%s (%s:%d), has lines for %.0f %% of its time only", cmp.Or(b.fn.Name, "a function"), base(b.fn.File), b.fn.Line, shares)
		}
		t.short++
	}
}

// addFunction adds a function to the current run. If the run has it already, it begins
// another run: the profiler prints a function once per run, and engines may print
// several times. Which run counts is decided elsewhere.
func (t *textReader) addFunction(fn *Function) {
	p := t.profile
	p.Runs = cmp.Or(p.Runs, 1)
	id := identity{fn.path, fn.Line, fn.Name}
	if t.run[id] {
		p.Runs++
		clear(t.run)
	}
	fn.Run = p.Runs - 1
	t.run[id] = true
	p.Functions = append(p.Functions, fn)
}

// identity identifies a function within a run.
type identity struct {
	path string
	line int
	name string
}

// clean returns a match without surrounding blanks.
func clean(b []byte) string { return strings.TrimSpace(string(b)) }

// atoi returns a number that a pattern matched, of at most 9 digits.
func atoi(b []byte) int {
	n, _ := strconv.Atoi(string(b))
	return n
}

// ansi matches terminal colours and links.
var ansi = regexp.MustCompile(`\x1b(\[[0-9;?]*[A-Za-z]|\][^\x1b\x07]*(\x1b\\|\x07))`)
