package report

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a page with what a file of testdata says it is.
func golden(t *testing.T, file, page string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if page != string(want) {
		t.Errorf("%s (-update writes it):\n%s\nwant\n%s", file, page, want)
	}
}

// The same document in each rendering, as it is read.
func TestGolden(t *testing.T) {
	golden(t, "wide.md", render(t, Markdown, wideDocument(), Options{}))
	for _, wide := range []int{80, 120, 200} {
		golden(t, fmt.Sprintf("wide.%d.txt", wide), render(t, Terminal, wideDocument(), Options{Width: wide}))
	}
	golden(t, "hostile.md", render(t, Markdown, hostileDocument("a|b <script> `x` **y** @z \x1b[31m\u202e"), Options{}))
	golden(t, "hostile.txt", render(t, Terminal, hostileDocument("a|b <script> `x` **y** @z \x1b[31m\u202e"), Options{Width: 80}))
}
