package sim

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxTextLine is the longest line that ParseText accepts, in bytes.
const maxTextLine = 1 << 20

// ParseText parses the text form of a trace (package comment), and returns it with how to
// write it. Errors name the line.
func ParseText(r io.Reader) (*Trace, Options, error) {
	p := textParser{t: &Trace{}, opt: Options{Schema: Schema3_25_0}, process: -1, pids: make(map[uint32]int32)}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTextLine)
	n := 0
	for lines.Scan() {
		n++
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		l, err := splitTextLine(text)
		if err == nil {
			p.statement(l)
			err = l.end()
		}
		if err != nil {
			return nil, Options{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, Options{}, fmt.Errorf("line %d: %w", n+1, err)
	}
	return p.t, p.opt, nil
}

// textParser is the state between lines.
type textParser struct {
	t       *Trace
	opt     Options
	process int32 // index of the current process, -1 before the first
	pids    map[uint32]int32
}

// textLine is one statement. Methods remove what they take; the first error is kept.
type textLine struct {
	words   []string
	options map[string]string
	err     error
}

// splitTextLine splits a line into words and options.
func splitTextLine(s string) (*textLine, error) {
	l := &textLine{options: make(map[string]string)}
	for s != "" {
		key, rest := optionKey(s)
		var value string
		var err error
		if value, s, err = cutWord(rest); err != nil {
			return nil, err
		}
		if key == "" {
			l.words = append(l.words, value)
			continue
		}
		if _, twice := l.options[key]; twice {
			return nil, fmt.Errorf("%s= is there twice", key)
		}
		l.options[key] = value
	}
	return l, nil
}

// optionKey splits off the key of an option; key is "" for a word.
func optionKey(s string) (key, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
	if i > 0 && s[i] == '=' {
		return s[:i], s[i+1:]
	}
	return "", s
}

// cutWord splits off the first word, quoted or not, and the spaces after it.
func cutWord(s string) (word, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, " \t")
		if i < 0 {
			return s, "", nil
		}
		return s[:i], strings.TrimLeft(s[i:], " \t"), nil
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", fmt.Errorf("%s: the quotes do not close", s)
	}
	if word, err = strconv.Unquote(quoted); err != nil {
		return "", "", fmt.Errorf("%s: %w", quoted, err)
	}
	rest = s[len(quoted):]
	if trimmed := strings.TrimLeft(rest, " \t"); trimmed == "" || len(trimmed) < len(rest) {
		return word, trimmed, nil
	}
	return "", "", fmt.Errorf("%s: no space after the quotes", quoted)
}

// fail keeps the first error of a line; later ones result from it.
func (l *textLine) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// word takes the next word; what names it in errors.
func (l *textLine) word(what string) string {
	if len(l.words) == 0 {
		l.fail("the %s is missing", what)
		return ""
	}
	w := l.words[0]
	l.words = l.words[1:]
	return w
}

// flag takes an optional word, and reports whether it was there.
func (l *textLine) flag(name string) bool {
	i := slices.Index(l.words, name)
	if i < 0 {
		return false
	}
	l.words = slices.Delete(l.words, i, i+1)
	return true
}

// option takes an optional key=value, with a default.
func (l *textLine) option(name, missing string) string {
	v, ok := l.options[name]
	if !ok {
		return missing
	}
	delete(l.options, name)
	return v
}

// id takes an option that is an unsigned number of at most the given bits, with a
// default.
func (l *textLine) id(name string, bits int, missing uint64) uint64 {
	v, ok := l.options[name]
	if !ok {
		return missing
	}
	delete(l.options, name)
	return l.number(v, name, bits)
}

// number parses an unsigned number of at most the given bits; what names it in errors.
func (l *textLine) number(s, what string, bits int) uint64 {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		l.fail("%s %q is not a number of at most %d bits", what, s, bits)
	}
	return n
}

// signed takes an option that is a signed number of at most the given bits, 0 by default.
func (l *textLine) signed(name string, bits int) int64 {
	s := l.option(name, "0")
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		l.fail("%s %q is not a number of at most %d bits", name, s, bits)
	}
	return n
}

// time takes a time, in ns.
func (l *textLine) time(what string) int64 { return l.duration(l.word(what), what) }

// duration parses a time with its unit, of any sign, and returns ns.
func (l *textLine) duration(s, what string) int64 {
	d, err := time.ParseDuration(s)
	if err != nil && l.err == nil {
		l.fail("%s %q is not a time like 15us", what, s)
	}
	return int64(d)
}

// end returns the first error of the line; anything that was not taken is one.
func (l *textLine) end() error {
	if l.err == nil && len(l.words) > 0 {
		l.fail("%q is too much", l.words[0])
	}
	if l.err == nil && len(l.options) > 0 {
		l.fail("%s= is not an option here", slices.Min(slices.Collect(maps.Keys(l.options))))
	}
	return l.err
}
