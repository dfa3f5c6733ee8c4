package report

import (
	"fmt"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Tone is how a reader should take a statement. Renderers with colours use them for it;
// a tone alone never carries information.
type Tone int8

// The tones.
const (
	Neutral Tone = iota // no judgement
	Good                // nothing to do here
	Warn                // worth a look
	Bad                 // what is wrong
)

// style is the role of a span.
type style int8

const (
	plain  style = iota
	strong       // the subject of the sentence
	name         // from a trace: shortened, and never markup
	code         // a command, flag or key to type
)

// Span is a piece of text with one style and tone.
type Span struct {
	text  string
	style style
	tone  Tone
}

// Text is text with one or more styles. It is one line: line breaks are shown as
// spaces.
type Text []Span

// Plain returns text without emphasis.
func Plain(s string) Text { return Text{{text: s}} }

// Counted returns a number and what it counts, in the plural unless it is 1: "2 steps".
func Counted[N int | int32 | int64](n N, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ch"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Strong returns the emphasised part of a sentence.
func Strong(s string) Span { return Span{text: s, style: strong} }

// Toned is Strong with a tone.
func Toned(t Tone, s string) Span { return Span{text: s, style: strong, tone: t} }

// Name returns a name from a trace: hostile, and possibly long.
func Name(s string) Span { return Span{text: s, style: name} }

// Command returns something to type: a command, a flag, a key.
func Command(s string) Span { return Span{text: s, style: code} }

// Textf is like fmt.Sprintf, but arguments may be a Span or a Text, which keep their
// style. The verb for these is %s. Widths given by arguments and argument indexes are
// not supported.
func Textf(format string, args ...any) Text {
	var t Text
	next := 0
	for format != "" {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			return t.add(Span{text: format})
		}
		end := at + 1
		for end < len(format) && strings.IndexByte("+-# 0123456789.", format[end]) >= 0 {
			end++
		}
		t = t.add(Span{text: format[:at]})
		if end < len(format) {
			end++
		}
		verb := format[at:end]
		format = format[end:]
		if verb == "%%" {
			t = t.add(Span{text: "%"})
			continue
		}
		if next == len(args) {
			return t.add(Span{text: verb + "(MISSING)"})
		}
		switch a := args[next].(type) {
		case Span:
			t = t.add(a)
		case Text:
			for _, s := range a {
				t = t.add(s)
			}
		default:
			t = t.add(Span{text: fmt.Sprintf(verb, a)})
		}
		next++
	}
	return t
}

// add appends a span, merging it into the last one if both are plain and of one tone.
func (t Text) add(s Span) Text {
	if s.text == "" {
		return t
	}
	if n := len(t); n > 0 && s.style == plain && t[n-1].style == plain && s.tone == t[n-1].tone {
		t[n-1].text += s.text
		return t
	}
	return append(t, s)
}

// String returns the text without styles, safe for any terminal.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(printable(s.text))
	}
	return b.String()
}

// printable removes from a text what a terminal or a page would obey.
func printable(s string) string { return table.Printable(s) }

// Capital returns a text with a capital first letter.
func Capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
