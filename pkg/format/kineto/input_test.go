package kineto

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// zipped returns text as the members of a gzip file.
func zipped(parts ...string) string {
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		z.Write([]byte(p))
		z.Close()
	}
	return b.String()
}

// utf16Text returns text in UTF-16, with the high or the low byte first.
func utf16Text(text string, high int) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(u >> (8 * high)))
		b.WriteByte(byte(u >> (8 - 8*high)))
	}
	return b.String()
}

// TestInputs gives a document in the wrappings and states in which real ones are
// found: what says the same is read, and everything else is refused with what is
// wrong with it.
func TestInputs(t *testing.T) {
	text, _ := simulated(t, sim.KinetoOptions{}, nil)
	whole, plain := readBytes(t, text, Options{}), string(text)
	gz, mark := zipped(plain), "\ufeff"
	for name, test := range map[string]struct {
		text, want string // "": it is read
	}{
		"mark":                   {mark + plain, ""},
		"mark in gzip":           {zipped(mark + plain), ""},
		"white space first":      {" \r\n\t" + plain, ""},
		"members":                {zipped(plain[:1], plain[1:5000], "", plain[5000:]), ""},
		"UTF-16":                 {utf16Text(mark+plain, 0), "text in UTF-16"},
		"UTF-16, high first":     {utf16Text(mark+plain, 1), "text in UTF-16"},
		"UTF-16 without mark":    {utf16Text("\n"+plain, 0), "text in UTF-16"},
		"gzip in gzip":           {zipped(gz), "it is compressed twice"},
		"UTF-16 in gzip":         {zipped(utf16Text(mark+plain, 0)), "text in UTF-16"},
		"white space":            {" \n\t\n", "no text in it"},
		"white space in gzip":    {zipped(" \n"), "no text in it"},
		"mark alone":             {mark, "no text in it"},
		"nothing in gzip":        {zipped(""), "no text in it"},
		"NULs alone":             {strings.Repeat("\x00", 4096), "begins with NUL bytes"},
		"NULs after it":          {plain + strings.Repeat("\x00", 4096), "NUL bytes follow the trace"},
		"NULs after gzip":        {gz + strings.Repeat("\x00", 4096), "NUL bytes follow the compressed data"},
		"garbage after gzip":     {gz + "garbage", "something else follows the compressed data"},
		"a second trace":         {plain + plain, "something else follows the trace"},
		"a second trace in gzip": {zipped(plain, plain), "something else follows the trace"},
		"cut gzip":               {gz[:len(gz)/2], "file is truncated after"},
		"gzip without its end":   {gz[:len(gz)-4], "file is truncated after"},
		"gzip of five bytes":     {gz[:5], "file is truncated before its first event"},
		"cut second member":      {gz + gz[:5], "file is truncated after"},
		"wrong checksum":         {gz[:len(gz)-8] + "\x01\x02\x03\x04" + gz[len(gz)-4:], "compressed data is damaged"},
		"damaged gzip":           {gz[:20] + strings.Repeat("\xff", 64) + gz[84:], "compressed data is damaged"},
		"text":                   {"hello", "no JSON: it begins with 'h'"},
		"archive":                {zipped("rank0.json" + strings.Repeat("\x00", 247) + "ustar" + strings.Repeat("\x00", 250)), "an archive of tar"},
	} {
		got := readBytes(t, []byte(test.text), Options{})
		switch {
		case test.want == "" && (got.err != nil || got.rows != whole.rows):
			t.Errorf("%s: %d of %d rows, %v", name, got.rows, whole.rows, got.err)
		case test.want == "":
		case got.err == nil || !strings.Contains(got.err.Error(), test.want):
			t.Errorf("%s: %v, want %q", name, got.err, test.want)
		default:
			if hint, ok := got.err.(interface{ Hint() string }); !ok || hint.Hint() == "" {
				t.Errorf("%s: %v has no hint", name, got.err)
			}
		}
		if !Recognise([]byte(test.text)[:min(512, len(test.text))]) && name != "text" && name != "NULs alone" {
			t.Errorf("%s: is taken for something else", name)
		}
	}
}
