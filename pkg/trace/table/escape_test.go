package table

import (
	"encoding/json"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestEscapeJSON(t *testing.T) {
	for s, want := range map[string]string{
		"größe ☃ 你好 😀":              `"größe ☃ 你好 😀"`,
		"a\u202eb\u2066c\u061c":     `"a\u202eb\u2066c\u061c"`,
		"\u009b31m\u200f":           `"\u009b31m\u200f"`,
		"tag \U000e0041 and \ufeff": `"tag \udb40\udc41 and \ufeff"`,
	} {
		text, err := json.Marshal(s)
		if got := string(EscapeJSON(text)); err != nil || got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

// The value of any text stays as it is, and nothing is left that a terminal would obey.
func TestEscapeJSONKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(text)
		var before, after string
		if json.Unmarshal(text, &before) != nil || json.Unmarshal(escaped, &after) != nil || before != after {
			t.Fatalf("%q became %q", before, after)
		}
		for _, r := range string(escaped) {
			if r > '~' && !unicode.IsPrint(r) {
				t.Fatalf("%U is in %s", r, escaped)
			}
		}
	})
}
