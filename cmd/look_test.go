package cmd

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// contrasts is a function of a page: by how much texts, and marks of figures, differ from
// what is behind them, as WCAG 2 counts it. What is behind a text in a drawing is its halo,
// or else the bars drawn before it that it begins on.
const contrasts = `(() => {
  const colour = (c, opacity = 1) => { const n = c.match(/[\d.]+/g).map(Number); return [n[0], n[1], n[2], (n[3] ?? 1) * opacity]; };
  const over = (low, top) => [0, 1, 2].map((k) => low[k] * (1 - top[3]) + top[k] * top[3]);
  const bright = (c) => { const [r, g, b] = c.slice(0, 3).map((x) => (x /= 255, x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const x = bright(a), y = bright(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const behind = (e) => e ? over(behind(e.parentElement), colour(getComputedStyle(e).backgroundColor)) : [255, 255, 255];
  const bars = new Map(), texts = {}, marks = {};
  const least = (into, key, value) => { if (!(into[key] <= value)) into[key] = value; };
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  document.querySelectorAll(".plot").forEach((p) => bars.set(p, [...p.querySelectorAll("rect")].map((e) => {
    const s = getComputedStyle(e);
    return { e, box: e.getBoundingClientRect(), fill: s.fill === "none" ? [0, 0, 0, 0] : colour(s.fill, s.fillOpacity) };
  })));
  for (const e of document.querySelectorAll("body *")) {
    if (e.matches("script, title, desc") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility()) continue;
    const s = getComputedStyle(e), plot = e.closest(".plot"), at = e.getBoundingClientRect(), x = at.left + 1, y = (at.top + at.bottom) / 2;
    let low = behind(e);
    if (plot && s.paintOrder.startsWith("stroke") && s.stroke !== "none") low = colour(s.stroke);
    else if (plot) for (const b of bars.get(plot)) {
      if (b.box.left <= x && x <= b.box.right && b.box.top <= y && y <= b.box.bottom && b.e.compareDocumentPosition(e) & 4) low = over(low, b.fill);
    }
    least(texts, e.tagName + "." + (e.getAttribute("class") || "") + (e.closest(".node") ? e.previousElementSibling.getAttribute("class") : ""), ratio(over(low, colour(plot ? s.fill : s.color)), low));
  }
  for (const e of document.querySelectorAll(".plot [class^=k], .legend [class^=k]")) {
    const s = getComputedStyle(e), low = behind(e);
    least(marks, e.getAttribute("class"), ratio(over(low, s.fill !== "none" ? colour(s.fill, s.fillOpacity) : colour(s.stroke)), low));
  }
  return { texts, marks, paper: bright(behind(document.body)) };
})()`

// lookAtColours wants text to stand out from what is behind it in both schemes, and marks
// to be seen: their colours are those that differ for everybody, and all of them are also in
// a table, so that less will do.
func lookAtColours(t *testing.T, chromium *browser, dir string) {
	for _, p := range few(looked, 1) {
		chromium.open(t, filepath.Join(dir, p.name+".html"))
		for _, scheme := range []string{"light", "dark"} {
			chromium.media(t, "screen", scheme)
			var found struct {
				Texts, Marks map[string]float64
				Paper        float64
			}
			if chromium.eval(t, contrasts, &found); scheme == "light" && found.Paper < 0.9 || scheme == "dark" && found.Paper > 0.02 || len(found.Texts) < 8 || len(p.figures) > 0 && len(found.Marks) < 10 {
				t.Errorf("%s, %s: paper of brightness %.3f, %d kinds of text, %d of marks", p.name, scheme, found.Paper, len(found.Texts), len(found.Marks))
			}
			for kind, ratio := range found.Texts {
				if ratio < 4.5 {
					t.Errorf("%s, %s: text %s has a contrast of %.2f", p.name, scheme, kind, ratio)
				}
			}
			for kind, ratio := range found.Marks {
				least := 2.2
				if strings.Contains(kind, "pale") || strings.Contains(kind, "faint") || strings.Contains(kind, "veil") {
					least = 1.3 // of what has an edge, or a text in it
				}
				if ratio < least {
					t.Errorf("%s, %s: marks %s have a contrast of %.2f", p.name, scheme, kind, ratio)
				}
			}
		}
	}
	chromium.media(t, "screen", "light")
}

// lookAtKeys wants the tab key to come by all that can be clicked, in order and visibly,
// and keys to do what clicks do.
func lookAtKeys(t *testing.T, chromium *browser, dir string) {
	chromium.open(t, filepath.Join(dir, "gaps.html"))
	var controls int
	chromium.eval(t, `(window.controls = [...document.querySelectorAll("a, button, input, summary, [tabindex]")].filter((e) => e.checkVisibility())).length`, &controls)
	for k := range controls {
		chromium.press(t, "Tab")
		var on struct {
			Index, Outline, Top, Bottom, Height float64
			Shape                               string
		}
		chromium.eval(t, `(() => { const e = document.activeElement, s = getComputedStyle(e), box = e.getBoundingClientRect();
			return { index: controls.indexOf(e), outline: parseFloat(s.outlineWidth), shape: s.outlineStyle, top: box.top, bottom: box.bottom, height: innerHeight }; })()`, &on)
		if int(on.Index) != k || on.Shape != "solid" || on.Outline < 2 || on.Bottom < 0 || on.Top > on.Height {
			t.Fatalf("control %d of %d: %+v", k, controls, on)
		}
	}
	const first = `const plot = [...document.querySelectorAll(".plot[role=group]")].find((p) => p.classList.contains("flame") === FLAME), inner = plot.querySelector("svg.zoom"), figure = plot.closest("figure");`
	for _, flame := range []string{"true", "false"} {
		first := "(() => {" + strings.ReplaceAll(first, "FLAME", flame)
		var view string
		after := func(want string, keys ...string) {
			t.Helper()
			for _, key := range keys {
				chromium.press(t, key)
			}
			if chromium.eval(t, first+`return inner.getAttribute("x") + " " + inner.getAttribute("width") + " " + figure.querySelector("details").open; })()`, &view); view != want {
				t.Errorf("flame %s: %q shows %s, want %s", flame, keys, view, want)
			}
		}
		chromium.eval(t, first+`figure.querySelector("[aria-label='Zoom in']").focus(); })()`, nil)
		after("-50.0000% 200.0000% false", "Enter")
		after("-150.0000% 400.0000% false", " ")
		after("-50.0000% 200.0000% false", "Tab", "Enter")
		after("0.0000% 200.0000% false", "Tab", "Enter", "Enter")
		after("-25.0000% 200.0000% false", "Tab", " ")
		after("0.0000% 100.0000% false", "Tab", "Enter")
		after("-50.0000% 200.0000% false", "Tab", "+")
		after("-60.0000% 200.0000% false", "ArrowRight")
		after("-50.0000% 200.0000% false", "ArrowLeft")
		after("0.0000% 100.0000% false", "0")
		after("0.0000% 100.0000% false", "+", "-")
		after("0.0000% 100.0000% false", "+", "Escape")
		after("0.0000% 100.0000% true", "Tab", "Enter")
		after("0.0000% 100.0000% false", " ")
	}
	chromium.eval(t, `document.querySelector(".skip").focus()`, nil)
	chromium.press(t, "Enter")
	var hash string
	if chromium.eval(t, `location.hash`, &hash); hash != "#report" {
		t.Errorf("the link past the contents leads to %q", hash)
	}
}

// axNode is a node of what a screen reader is told.
type axNode struct {
	NodeID     string
	Ignored    bool
	Role, Name struct{ Value any }
	Properties []struct {
		Name  string
		Value struct{ Value any }
	}
	ChildIDs []string
}

func (n *axNode) role() string { s, _ := n.Role.Value.(string); return s }
func (n *axNode) name() string { s, _ := n.Name.Value.(string); return strings.TrimSpace(s) }
func (n *axNode) property(name string) any {
	for _, p := range n.Properties {
		if p.Name == name {
			return p.Value.Value
		}
	}
	return nil
}

// named are the roles of which each node has a name.
var named = []string{"image", "figure", "button", "link", "DisclosureTriangle", "region", "navigation", "heading", "columnheader", "rowheader"}

// listen wants a screen reader to be told of headings in order, of names of all that is
// drawn and can be focused, and of what each row and column of a table is about.
func listen(t *testing.T, chromium *browser, dir string) {
	for _, p := range few(looked, 1) {
		chromium.open(t, filepath.Join(dir, p.name+".html"))
		chromium.eval(t, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil)
		var tree struct{ Nodes []axNode }
		chromium.call(t, "Accessibility.getFullAXTree", `{}`, &tree)
		nodes, count, level := map[string]*axNode{}, map[string]int{}, 0.0
		for i := range tree.Nodes {
			nodes[tree.Nodes[i].NodeID] = &tree.Nodes[i]
		}
		var below func(n *axNode, role string) bool
		below = func(n *axNode, role string) bool {
			return n != nil && (n.role() == role || slices.ContainsFunc(n.ChildIDs, func(id string) bool { return below(nodes[id], role) }))
		}
		for i := range tree.Nodes {
			n := &tree.Nodes[i]
			if n.Ignored {
				continue
			}
			count[n.role()]++
			if n.name() == "" && (slices.Contains(named, n.role()) || n.property("focusable") == true) {
				t.Errorf("%s: a %s without a name: %+v", p.name, n.role(), n)
			}
			if n.role() == "table" && !(below(n, "columnheader") && below(n, "rowheader")) {
				t.Errorf("%s: table %q has no headers", p.name, n.name())
			}
			if now, heading := n.property("level").(float64); heading && n.role() == "heading" {
				if now > level+1 || now == 1 && level > 0 {
					t.Errorf("%s: heading %q of level %v after one of %v", p.name, n.name(), now, level)
				}
				level = now
			}
		}
		if count["figure"] < len(p.figures) || count["image"] != count["figure"] || count["table"] < count["figure"] || count["main"] != 1 || count["banner"] != 1 || count["navigation"] != 1 || count["heading"] < 4 {
			t.Errorf("%s: %v", p.name, count)
		}
	}
}
