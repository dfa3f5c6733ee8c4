package cmd

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// inspect is a page that shows others in frames of several widths, with and without
// scripts, and says what it finds there. A frame without scripts can be inspected.
const inspect = `<!doctype html><meta charset="utf-8"><body>%s<pre id="found"></pre><script>
addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument, root = page.documentElement, wide = [], small = [], bare = [];
    for (const e of page.querySelectorAll("body *")) {
      if (e.closest(".table, pre, svg") && !e.matches(".table, pre, caption") || e.closest(".skip")) continue;
      if (e.getBoundingClientRect().right > frame.clientWidth + 1) wide.push(e.outerHTML.slice(0, 80));
      if (e.textContent.trim() && parseFloat(frame.contentWindow.getComputedStyle(e).fontSize) < 11) small.push(e.tagName);
    }
    for (const f of page.querySelectorAll("figure")) {
      if (f.textContent.includes("Not drawn: the page would be too large")) continue;
      const drawing = f.querySelector("svg[role=img]");
      if (!drawing || drawing.querySelectorAll("rect, path, circle").length < 2 || drawing.getBoundingClientRect().height < 20 || !f.querySelector("details table tbody tr")) bare.push(f.innerText.slice(0, 80));
      if (!drawing) continue;
      for (const text of drawing.querySelectorAll("text")) if (parseFloat(frame.contentWindow.getComputedStyle(text).fontSize) < 11) small.push("text");
      for (const id of drawing.getAttribute("aria-labelledby").split(" ")) if (!page.getElementById(id).textContent) bare.push(id);
    }
    const zoom = page.querySelector(".tools button"), inner = page.querySelector("svg.zoom");
    if (zoom) zoom.click();
    return {
      wide, small, bare, figures: [...page.querySelectorAll("figcaption")].map((c) => c.textContent), tables: page.querySelectorAll("table").length, headings: page.querySelectorAll("h2").length,
      requests: frame.contentWindow.performance.getEntriesByType("resource").length, scroll: root.scrollWidth, text: page.querySelector("main").innerText.length,
      zoomed: zoom ? inner.getAttribute("width") : "", injected: page.querySelectorAll("img, iframe, object, link[rel=stylesheet], script").length, title: page.title,
    };
  });
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>`

// inspected is what is found in a frame.
type inspected struct {
	Wide, Small, Bare, Figures                         []string
	Tables, Headings, Requests, Scroll, Text, Injected int
	Zoomed, Title                                      string
}

// makeHostile copies an export and makes names in it what a browser would obey.
func makeHostile(t *testing.T, from, to, text string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", to)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		"UPDATE StringIds SET value = value || ? WHERE value NOT LIKE 'cu%'",
		"UPDATE NVTX_EVENTS SET text = text || ? WHERE text IS NOT NULL",
	} {
		if _, err := db.Exec(query, text); err != nil {
			t.Fatal(err)
		}
	}
}

// page is a page, and how the captions of its figures begin.
type page struct {
	name    string
	figures []string
}

// few are the first of pages, all with HOSTBOUND_ALL.
func few(pages []page, some int) []page { return pages[:cases.Few(some, some, len(pages))] }

// pages are those that are looked at, and how the captions of their figures begin.
var pages = []page{
	{"verdict", []string{"Metrics against their limits", "Metrics against their limits", "Metrics against their limits", "Steps over time", "Ranks compared", medianStep, contextStep, slowest, nextSlowest}},
	{"hostile", gapsFigures},
	{"gaps", gapsFigures},
	{"diff", []string{"From baseline to target", "Wall time of steps over time", "Baseline, a generation step", "Target, a generation step"}},
}

// looked are the pages of which colours are looked at, and that are listened to: also those
// of other answers.
var looked = []page{pages[0], pages[2], pages[3], {"no", pages[0].figures}, {"inconclusive", nil}, {"doctor", nil}}

const (
	medianStep  = "A generation step of median length"
	contextStep = "A context step of median length"
	slowest     = "The slowest step"
	nextSlowest = "The next slowest step"
)

var gapsFigures = []string{
	"Steps over time: GPU work, idle time by cause and waits in collectives", "Ranks compared: GPU work, idle time by cause and waits in collectives", "Time idle or waiting by rank, phase, cause, and where it arises",
	medianStep, contextStep, slowest, nextSlowest,
}

// TestPagesInBrowser opens the pages of all reports in Chromium, some of them without
// HOSTBOUND_ALL.
func TestPagesInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes longer than all else")
	}
	chromium := openBrowser(t)
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name+".html") }
	trace, hostile := filepath.Join(root, "testdata", "llama_tp2.sqlite"), filepath.Join(dir, "hostile.sqlite")
	makeHostile(t, trace, hostile, `"'><img src=`+server.URL+` onerror=alert(1)></title></style><script>document.title="pwned"</script>]]>--><svg onload=alert(2)>`+"\x1b[31m")
	for name, args := range map[string][]string{"verdict": {"verdict", trace}, "gaps": {"gaps", trace}, "diff": {"diff", trace, hostile}, "hostile": {"gaps", hostile},
		"no":           {"verdict", trace, "--threshold", "gpu_idle_ratio=1", "--threshold", "gpu_utilization=0", "--threshold", "host_prep_exposed_ratio=1", "--threshold", "host_prep_perf_impact=1"},
		"inconclusive": {"verdict", generate(t, "--mode", "eager", "--ranks", "1", "--steps", "10", "--layers", "2", "--markers", "none")}, "doctor": {"nsys2arrow", "--doctor", trace}} {
		must(t, nil, args[0], append(args[1:], "-o", at(name))...)
		if page, err := os.ReadFile(at(name)); err != nil || len(page) > 1_000_000 || !bytes.Equal(page, must(t, nil, args[0], append(args[1:], "--format", "html")...)) {
			t.Errorf("%s: %d bytes, %v, or another page from the same input", name, len(page), err)
		}
	}
	t.Run("frames", func(t *testing.T) { lookAtFrames(t, chromium, dir) })
	t.Run("colours", func(t *testing.T) { lookAtColours(t, chromium, dir) })
	t.Run("keys", func(t *testing.T) { lookAtKeys(t, chromium, dir) })
	t.Run("screen reader", func(t *testing.T) { listen(t, chromium, dir) })
	t.Run("paper", func(t *testing.T) { lookAtPaper(t, chromium, dir) })
	if said := chromium.complaints(); len(said) > 0 {
		t.Errorf("console: %s", said)
	}
	if hits.Load() > 0 {
		t.Errorf("%d requests left the pages", hits.Load())
	}
}

// lookAtFrames looks at the pages wide, narrow and without scripts: nothing is wider than
// the window, nothing leaves, figures have marks, and names do nothing.
func lookAtFrames(t *testing.T, chromium *browser, dir string) {
	frames, pages := "", few(pages, 2)
	for _, p := range pages {
		for _, look := range []string{`width="380"`, `width="1600"`, `width="380" sandbox="allow-same-origin"`} {
			frames += fmt.Sprintf(`<iframe src="%s.html" height="900" style="border:0" %s></iframe>`, p.name, look)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "inspect.html"), fmt.Appendf(nil, inspect, frames), 0o644); err != nil {
		t.Fatal(err)
	}
	chromium.open(t, filepath.Join(dir, "inspect.html"))
	var found []inspected
	if chromium.eval(t, `JSON.parse(document.getElementById("found").textContent)`, &found); len(found) != 3*len(pages) {
		t.Fatalf("%d frames were found", len(found))
	}
	for i, f := range found {
		p, width := pages[i/3], []int{380, 1600, 380}[i%3]
		name := fmt.Sprintf("%s at %d", p.name, width)
		if i%3 == 2 {
			name += " without scripts"
		}
		if len(f.Wide) > 0 || f.Scroll > width {
			t.Errorf("%s: scrolls over %d pixels: %q", name, f.Scroll, f.Wide)
		}
		if len(f.Small) > 0 {
			t.Errorf("%s: text is too small: %q", name, f.Small)
		}
		if !slices.EqualFunc(f.Figures, p.figures, strings.HasPrefix) || len(f.Bare) > 0 || f.Tables < len(f.Figures) || f.Headings < 3 || f.Text < 1000 {
			t.Errorf("%s: %+v", name, f)
		}
		if f.Requests > 0 || f.Injected != 1 || f.Title == "pwned" {
			t.Errorf("%s: %d requests, %d elements that should not be there, title %q", name, f.Requests, f.Injected-1, f.Title)
		}
		if want := map[bool]string{true: "200.0000%", false: ""}[i%3 < 2]; f.Zoomed != want {
			t.Errorf("%s: zoomed to %q, want %q", name, f.Zoomed, want)
		}
	}
}
