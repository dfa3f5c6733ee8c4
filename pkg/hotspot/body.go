package hotspot

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
)

// body is a profiled function with the detectors of waste. Each part has one task and
// uses the parts above it.
type body struct {
	*code
	*kinds  // what names hold
	pace    // how often statements run
	tensors // small tensor operations
	flow    // who makes, reads and changes what
}

func bodyOf(c *code) *body {
	k, p := &kinds{code: c}, pace{c}
	return &body{c, k, p, tensors{c, k}, flow{c, k, p}}
}

// code is a function as statements with their times.
type code struct {
	fn      *lineprof.Function
	stmts   []stmt
	at      []int    // statement of each line of fn, -1 if none
	entries int64    // times that fn was entered, 0 if unknown
	words   []string // words of the function's and its file's names

	overBy map[string][]int // statements that iterate over a collection, by the collection's text
	readBy map[string][]int // statements that read a name
	setBy  map[string][]int // statements that assign a path

	changedBy map[string][]int // statements that assign a path or something below it, or call something that changes it
}

// stmt is a statement with what was recorded on its lines.
type stmt struct {
	Statement
	ns     int64
	timed  bool     // some line of it has a time
	hits   int64    // executions: corrected for with statements and statements of several lines
	raw    int64    // hits of the line with most of the time
	line   int      // index of that line
	over   []string // what its loops iterate over: see collections
	parent int      // enclosing compound statement, -1 if none
	loop   int      // innermost enclosing for or while, -1 if none

	// Cached results: see the methods of the same names.
	run *run // chained
}

// isLoop reports whether a statement is a loop's header.
func (s *stmt) isLoop() bool { return s.Keyword == "for" || s.Keyword == "while" }

// newCode parses a function's source. Lines without source become empty statements. The
// order of passes matters: first statements, then who reads and sets what, then times,
// then nesting, which needs loops, then hits, which need nesting.
func newCode(fn *lineprof.Function) *code {
	b := &code{fn: fn, at: make([]int, len(fn.Lines))}
	b.words = append(words(fn.Name), words(strings.TrimSuffix(fn.File, ".py"))...)
	lines := make([]string, len(fn.Lines))
	for i, l := range fn.Lines {
		lines[i], b.at[i] = l.Source, -1
	}
	for _, s := range Statements(lines) {
		b.stmts = append(b.stmts, stmt{Statement: s})
		for i := s.First; i <= s.Last; i++ {
			b.at[i] = len(b.stmts) - 1
		}
	}
	for i, l := range fn.Lines {
		if b.at[i] < 0 && l.Hits > 0 {
			b.at[i] = len(b.stmts)
			b.stmts = append(b.stmts, stmt{Statement: Statement{First: i, Last: i, Indent: -1}})
		}
	}
	b.index()
	b.time()
	b.nest()
	for i := range b.stmts { // a with statement is also hit on leaving
		s := &b.stmts[i]
		if s.Keyword != "with" {
			continue
		}
		if inner := b.firstInside(i); inner >= 0 && s.hits == 2*b.stmts[inner].hits {
			s.hits /= 2
		}
	}
	b.entries = b.countEntries()
	return b
}

// index finds the statements that read, set and iterate over each name. A statement is
// listed once per name; lists are in statement order.
func (b *code) index() {
	b.overBy, b.readBy, b.setBy, b.changedBy = map[string][]int{}, map[string][]int{}, map[string][]int{}, map[string][]int{}
	for i := range b.stmts {
		s := &b.stmts[i]
		for _, l := range s.Loops {
			s.over = append(s.over, collections(l.tokens)...)
		}
		for in, names := range map[*map[string][]int][]string{&b.overBy: s.over, &b.readBy: s.Names, &b.setBy: s.Targets, &b.changedBy: s.changes()} {
			for _, name := range names {
				if at := (*in)[name]; len(at) == 0 || at[len(at)-1] != i {
					(*in)[name] = append(at, i)
				}
			}
		}
	}
}

// changes returns the names and paths whose values a statement changes: what it
// assigns, the first names of those paths except self, its loops' targets, and the
// receivers of calls that change them.
func (s *stmt) changes() []string {
	all := slices.Clone(s.Targets)
	for _, c := range s.Calls {
		if onList("unrepeatable", c.Name()) {
			all = append(all, c.Receiver())
		}
	}
	for i := range all {
		if root, _ := splitRoot(all[i]); root != "self" && root != "" {
			all = append(all, root)
		}
	}
	for _, l := range s.Loops {
		all = append(all, l.Targets...)
	}
	return all
}

// time adds up the lines of each statement. CPython traces lines, not statements: each
// line of a statement has hits. Their minimum is the number of executions, since a line
// is entered again after a call on another line.
func (b *code) time() {
	for i := range b.stmts {
		s := &b.stmts[i]
		most := int64(-1)
		s.line = s.First
		for at := s.First; at <= s.Last; at++ {
			l := b.fn.Lines[at]
			if l.Hits == 0 || b.at[at] != i {
				continue
			}
			s.ns = lineprof.Add(s.ns, l.Ns)
			s.timed = s.timed || l.Time != lineprof.NoTime
			if s.hits == 0 || l.Hits < s.hits {
				s.hits = l.Hits
			}
			if l.Ns > most {
				most, s.line, s.raw = l.Ns, at, l.Hits
			}
		}
	}
}

// nest derives nesting from indentation. Statements without source have no indentation,
// and are in nothing.
func (b *code) nest() {
	var open []int
	for i := range b.stmts {
		s := &b.stmts[i]
		s.parent, s.loop = -1, -1
		if s.Indent < 0 {
			continue
		}
		for len(open) > 0 && b.stmts[open[len(open)-1]].Indent >= s.Indent {
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 {
			s.parent = open[n-1]
			p := &b.stmts[s.parent]
			s.loop = p.loop
			if p.isLoop() {
				s.loop = s.parent
			}
		}
		if onList("compound", s.Keyword) && len(open) < maxNested {
			open = append(open, i)
		}
	}
}

// firstInside returns the first statement directly inside statement i that ran, -1 if
// none.
func (b *code) firstInside(i int) int {
	for j := i + 1; j < len(b.stmts) && b.stmts[j].Indent > b.stmts[i].Indent; j++ {
		if b.stmts[j].parent == i && b.stmts[j].hits > 0 {
			return j
		}
	}
	return -1
}

// inside reports whether statement i is in the block of statement outer.
func (b *code) inside(i, outer int) bool {
	for i >= 0 {
		if i = b.stmts[i].parent; i == outer {
			return true
		}
	}
	return false
}

// usPerHit returns a statement's time per execution in us, -1 if unknown.
func (s *stmt) usPerHit() float64 {
	if !s.timed || s.hits == 0 {
		return -1
	}
	return float64(s.ns) / 1e3 / float64(s.hits)
}

// timesEntered returns how often execution came to a statement from above: the hits of
// what precedes it in its block, or of the block. For a statement directly in a loop,
// the loop's header was hit once more than it has iterations each time it was entered,
// which is subtracted. If nothing above is known, it is how often the function was
// entered.
func (b *code) timesEntered(i int) int64 {
	s := &b.stmts[i]
	for j := i - 1; j >= 0 && j != s.parent; j-- {
		if p := &b.stmts[j]; p.parent == s.parent && p.hits > 0 && !onList("compound", p.Keyword) {
			return p.hits
		}
	}
	if s.parent >= 0 {
		p := &b.stmts[s.parent]
		switch {
		case p.Keyword == "def" || p.Keyword == "class" || p.hits == 0:
		case p.isLoop():
			return max(1, p.hits-b.timesEntered(s.parent))
		default:
			return p.hits
		}
	}
	return max(1, b.entries)
}

// countEntries returns how often the function was entered, 0 if unknown: as the profile
// states, or the hits of the first statement that ran. If that is a loop, its header
// was hit for each iteration; then the number of its ends counts, or the most hits of a
// statement outside loops.
func (b *code) countEntries() int64 {
	if b.fn.Calls >= 0 {
		return b.fn.Calls
	}
	first, most := true, int64(0)
	for i := range b.stmts {
		s := &b.stmts[i]
		if s.hits == 0 || s.loop >= 0 {
			continue
		}
		switch {
		case !s.isLoop() && first:
			return s.hits
		case !s.isLoop():
			most = max(most, s.hits)
		default:
			if inner := b.firstInside(i); inner >= 0 {
				most = max(most, s.hits-b.stmts[inner].hits)
			} else { // the loop had nothing to iterate over
				most = max(most, s.hits)
			}
		}
		first = false
	}
	return most
}

// iterations returns how many items a for or while iterates over each time, -1 if
// unknown. A header is counted once per item and once at the end, so items are hits
// minus times entered. If the first statement in the loop ran as often as the header,
// there was no hit at the end (Python 3.11), or the loop is left early.
func (b *code) iterations(i int) float64 {
	s := &b.stmts[i]
	if s.hits == 0 {
		return -1
	}
	entered := max(1, b.timesEntered(i))
	if entered >= s.hits {
		// Only the header's hits are available.
		if inner := b.firstInside(i); inner >= 0 && s.hits > b.stmts[inner].hits {
			entered = s.hits - b.stmts[inner].hits
		} else {
			return 1
		}
	}
	if inner := b.firstInside(i); inner >= 0 && b.stmts[inner].hits >= s.hits {
		return float64(s.hits) / float64(entered)
	}
	return float64(s.hits-entered) / float64(entered)
}

// words splits a name into its parts, in lower case: "getKVCache_np" is get, kv, cache,
// np. A run of capitals is one part, except for its last letter if a lower-case letter
// follows.
func words(name string) []string {
	var all []string
	start := 0
	flush := func(end int) {
		if end > start {
			all = append(all, strings.ToLower(name[start:end]))
		}
	}
	upper := func(i int) bool { return name[i] >= 'A' && name[i] <= 'Z' }
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c != '_' && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80):
		case upper(i):
			if i > start && (!upper(i-1) || i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z') {
				flush(i)
				start = i
			}
		default:
			flush(i)
			start = i + 1
		}
	}
	flush(len(name))
	return all
}
