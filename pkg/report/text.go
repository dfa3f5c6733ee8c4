package report

import (
	"fmt"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Tone is what a reader should feel about a statement. Renderers that have colours
// use them for it; nothing is said by a tone alone.
type Tone int8

// The tones.
const (
	Neutral Tone = iota // no judgement
	Good                // nothing to do here
	Warn                // look at this
	Bad                 // this is what is wrong
)

// style is what a span is, beyond its tone.
type style int8

const (
	plain  style = iota
	strong       // what the sentence is about
	name         // out of a trace: shortened, and never markup
	code         // a command, flag or key to be typed
)

// Span is a piece of text of one style and tone.
type Span struct {
	text  string
	style style
	tone  Tone
}

// Text is text of one or more styles. It is one line: line breaks in it are shown as
// spaces.
type Text []Span

// Plain is text without emphasis.
func Plain(s string) Text { return Text{{text: s}} }

// Counted is a number and what it counts, which is in the plural but after 1: "2 steps".
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

// Strong is the part of a sentence that it is about.
func Strong(s string) Span { return Span{text: s, style: strong} }

// Toned is Strong with a tone.
func Toned(t Tone, s string) Span { return Span{text: s, style: strong, tone: t} }

// Name is a name out of a trace: hostile, and possibly long.
func Name(s string) Span { return Span{text: s, style: name} }

// Command is something to type: a command, a flag, a key.
func Command(s string) Span { return Span{text: s, style: code} }

// Textf formats like fmt.Sprintf with arguments that may be a Span or a Text, which
// keep their style. They stand for a %s; there are neither widths given by arguments
// nor argument indexes.
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

// add appends a span, to the one before it where both are of one style.
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

// String returns the text without its styles, fit for any terminal.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(printable(s.text))
	}
	return b.String()
}

// printable is a text without what a terminal or a page would obey.
func printable(s string) string { return table.Printable(s) }

// Capital is a text that begins a sentence.
func Capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
