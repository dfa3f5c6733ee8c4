package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// printed is what is to be on paper: what belongs together, which are figures and the first
// rows of tables, each with its caption first, and the table of the figure that was opened;
// and what has no place there.
const printed = `(() => {
  document.querySelector("figure details").open = true;
  const shown = (e) => e.checkVisibility();
  const said = (e) => [...e.childNodes].filter((n) => n.nodeName !== "title").map((n) => n.textContent).join("");
  const together = { FIGCAPTION: ".tick, .name, .value", CAPTION: "thead th, tbody tr:first-child > *" };
  return {
    blocks: [...document.querySelectorAll("figcaption, caption")].filter(shown).map((c) => [c, ...c.parentElement.querySelectorAll(together[c.tagName])].filter(shown).map(said)),
    cells: [...document.querySelectorAll("figure details[open] td")].map(said),
    controls: [...document.querySelectorAll("button, summary, output, nav, .skip")].filter(shown).map((e) => e.outerHTML),
  };
})()`

// squeezed is a text without what a line may be broken at.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u200b' {
			return -1
		}
		return r
	}, strings.NewReplacer("ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff").Replace(s))
}

// lookAtPaper prints the pages and reads what came out: each figure is on one page, with
// its colours on white where the screen is dark, too, and a table that was open follows.
func lookAtPaper(t *testing.T, chromium *browser, dir string) {
	for _, tool := range []string{"pdftotext", "pdftoppm"} {
		program(t, tool)
	}
	for _, p := range few(looked[:3], 1) {
		chromium.open(t, filepath.Join(dir, p.name+".html"))
		chromium.media(t, "print", "dark")
		var want struct {
			Blocks          [][]string
			Cells, Controls []string
		}
		if chromium.eval(t, printed, &want); len(want.Controls) > 0 || len(want.Blocks) < len(p.figures) || len(want.Cells) < 8 {
			t.Errorf("%s: %d figures and tables, one of %d cells, and to be clicked: %q", p.name, len(want.Blocks), len(want.Cells), want.Controls)
		}
		var pdf struct{ Data []byte }
		chromium.call(t, "Page.printToPDF", `{"paperWidth": 8.27, "paperHeight": 11.69}`, &pdf)
		file := filepath.Join(dir, p.name+".pdf")
		if err := os.WriteFile(file, pdf.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		text, err := exec.Command("pdftotext", "-raw", file, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		sheets := strings.Split(strings.TrimSuffix(string(text), "\f"), "\f")
		for i := range sheets {
			sheets[i] = squeezed(sheets[i])
		}
		if len(sheets) < 2 || len(sheets) > 20 {
			t.Errorf("%s: %d sheets", p.name, len(sheets))
		}
		sheet, rest := 0, sheets[0]
		for _, block := range want.Blocks {
			caption := squeezed(block[0])
			for !strings.Contains(rest, caption) && sheet+1 < len(sheets) {
				sheet++
				rest = sheets[sheet]
			}
			_, rest, _ = strings.Cut(rest, caption)
			for _, text := range block {
				if !strings.Contains(sheets[sheet], squeezed(text)) {
					t.Errorf("%s: sheet %d has no %q of %q", p.name, sheet+1, text, block[0])
				}
			}
		}
		for _, cell := range want.Cells {
			if !strings.Contains(strings.Join(sheets, ""), squeezed(cell)) {
				t.Errorf("%s: no cell %q of the table that was open", p.name, cell)
			}
		}
		white, coloured := inked(t, file)
		if white < 0.7 || coloured < 0.002 {
			t.Errorf("%s: %.2f of the paper is white, %.5f of it coloured", p.name, white, coloured)
		}
	}
	chromium.media(t, "screen", "light")
}

// inked draws what was printed, and returns how much of it is white and how much has the
// strong colours of marks.
func inked(t *testing.T, pdf string) (white, coloured float64) {
	drawn, err := exec.Command("pdftoppm", "-r", "40", pdf).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all float64
	for sheet := range bytes.SplitSeq(drawn, []byte("P6\n")) {
		_, pixels, _ := bytes.Cut(sheet, []byte("\n255\n"))
		for ; len(pixels) >= 3; pixels = pixels[3:] {
			all++
			switch high, low := max(pixels[0], pixels[1], pixels[2]), min(pixels[0], pixels[1], pixels[2]); {
			case low == 255:
				white++
			case high-low > 100:
				coloured++
			}
		}
	}
	return white / all, coloured / all
}
