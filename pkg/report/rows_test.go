package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestRows writes blocks of rows, later ones wider, and names that would do harm.
func TestRows(t *testing.T) {
	columns := []Column{{Title: "name", Kind: Names}, {Title: "n", Right: true}}
	for want, blocks := range map[string][][][]string{
		"name  n\n": nil,
		"name  n\nx     1\nlonger  2\ny       345\n": {{{"x", "1"}}, {{"longer", "2"}}, {{"y", "345"}}},
		"name        n\n�[31mred ☃  -\n":             {{{"\x1b[31mred ☃", "-"}}},
	} {
		var b bytes.Buffer
		r := NewRows(&b, columns)
		for _, block := range blocks {
			if err := r.Write(block); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil || b.String() != want {
			t.Errorf("%q, %v, not %q", b.String(), err, want)
		}
	}
	var b bytes.Buffer
	r := NewRows(&b, columns[:1])
	if r.Write([][]string{{strings.Repeat("ä", 200)}}); r.Close() != nil || !strings.Contains(b.String(), "ä…ä") {
		t.Errorf("%q is not shortened in the middle", b.String())
	}
}
