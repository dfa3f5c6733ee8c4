"use strict";
// A page says all without this script: it magnifies timelines and flame graphs, writes out
// what is pointed at, sorts tables by the column that is chosen, and finds text.
(function () {
  const svgNS = "http:\u002f\u002fwww.w3.org/2000/svg";
  const percent = (x) => (100 * x).toFixed(4) + "%";

  function duration(us, step) {
    const [unit, by] = step >= 2e5 ? ["s", 1e6] : step >= 200 ? ["ms", 1e3] : ["µs", 1];
    const digits = Math.max(0, -Math.floor(Math.log10(step / by) + 1e-9));
    return (us / by).toFixed(Math.min(digits, 3)) + " " + unit;
  }

  function ticks(inner, from, width) {
    const group = inner.querySelector("g.ticks");
    if (!group) return;
    const whole = Number(inner.dataset.us), y = Number(inner.dataset.y);
    let step = Math.pow(10, Math.floor(Math.log10(whole * width / 6)));
    step *= [1, 2, 5, 10].find((k) => k * step >= whole * width / 6) || 10;
    group.replaceChildren();
    for (let t = Math.ceil(from * whole / step) * step; t <= (from + width) * whole; t += step) {
      const at = percent(t / whole), line = document.createElementNS(svgNS, "line"), text = document.createElementNS(svgNS, "text");
      for (const [k, v] of [["class", "grid"], ["x1", at], ["x2", at], ["y1", "0"], ["y2", y]]) line.setAttribute(k, v);
      for (const [k, v] of [["class", "tick"], ["x", at], ["y", y + 15], ["text-anchor", t - from * whole < 0.03 * width * whole ? "start" : (from + width) * whole - t < 0.03 * width * whole ? "end" : "middle"]]) text.setAttribute(k, v);
      text.textContent = duration(t, step);
      group.append(line, text);
    }
  }

  function zoomable(plot) {
    const inner = plot.querySelector("svg.zoom");
    if (!inner) return;
    let from = 0, width = 1;
    const show = (f, w) => {
      width = Math.min(Math.max(w, 1e-4), 1);
      from = Math.min(Math.max(f, 0), 1 - width);
      inner.setAttribute("x", percent(-from / width));
      inner.setAttribute("width", percent(1 / width));
      ticks(inner, from, width);
    };
    const by = (k, at) => show(from + at * width * (1 - 1 / k), width / k);
    const tools = document.createElement("div"), said = document.createElement("output");
    tools.className = "tools";
    for (const [label, name, act] of [["+", "Zoom in", () => by(2, 0.5)], ["\u2212", "Zoom out", () => by(0.5, 0.5)],
      ["\u2190", "Move left", () => show(from - width / 4, width)], ["\u2192", "Move right", () => show(from + width / 4, width)], ["Show all", "Show all", () => show(0, 1)]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      if (name !== label) button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      tools.append(button);
    }
    said.textContent = plot.classList.contains("flame") ? "Click a frame to zoom." : "Zoom with Ctrl and the wheel or + and \u2212, move by dragging or with the arrow keys.";
    tools.append(said);
    plot.before(tools);
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", "Zoomable figure: plus and minus zoom, arrow keys move, 0 shows all");
    plot.addEventListener("keydown", (e) => {
      const act = { "+": () => by(2, 0.5), "=": () => by(2, 0.5), "-": () => by(0.5, 0.5), ArrowLeft: () => show(from - width / 10, width), ArrowRight: () => show(from + width / 10, width), 0: () => show(0, 1), Escape: () => show(0, 1) }[e.key];
      if (act && !e.ctrlKey && !e.metaKey && !e.altKey) {
        e.preventDefault();
        act();
      }
    });
    const at = (e) => (e.clientX - plot.getBoundingClientRect().left) / plot.clientWidth;
    plot.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.shiftKey) return;
      e.preventDefault();
      by(Math.exp(-(e.deltaY || e.deltaX) / 200), at(e));
    }, { passive: false });
    let grabbed = null;
    plot.addEventListener("pointerdown", (e) => { grabbed = { x: at(e), from: from, moved: false }; });
    window.addEventListener("pointerup", () => { setTimeout(() => { grabbed = null; }); });
    plot.addEventListener("pointermove", (e) => {
      if (!grabbed || !e.buttons || width === 1) return;
      grabbed.moved = grabbed.moved || Math.abs(at(e) - grabbed.x) > 0.005;
      if (grabbed.moved) show(grabbed.from + (grabbed.x - at(e)) * width, width);
    });
    plot.addEventListener("dblclick", (e) => by(3, at(e)));
    if (plot.classList.contains("flame")) {
      inner.addEventListener("click", (e) => {
        const node = e.target.closest("svg.node");
        if (node && !(grabbed && grabbed.moved)) show(parseFloat(node.getAttribute("x")) / 100, parseFloat(node.getAttribute("width")) / 100);
      });
    }
    plot.addEventListener("pointerover", (e) => {
      const mark = e.target.closest("svg.node") || e.target, title = mark.querySelector && mark.querySelector(":scope > title");
      if (title && mark.ownerSVGElement) said.textContent = title.textContent;
    });
  }

  const units = { ns: 1e-3, "\u00b5s": 1, us: 1, ms: 1e3, s: 1e6, kB: 1e3, MB: 1e6, GB: 1e9 };

  // The value of a cell with figures: of the first of a range, in the unit that follows.
  function figure(text) {
    const m = /([+\u2212-]?[\d,]*\.?\d+)\s*([a-zA-Z\u00b5]+)?/.exec(text);
    return m ? Number(m[1].replaceAll(",", "").replace("\u2212", "-")) * (units[m[2]] || 1) : -Infinity;
  }

  function sortable(table) {
    const body = table.tBodies[0], first = body ? [...body.rows] : [];
    if (first.length < 2) return;
    [...table.tHead.rows[0].cells].forEach((head, k) => {
      const sort = () => {
        const numbers = head.classList.contains("n"), was = head.getAttribute("aria-sort");
        const order = was === (numbers ? "descending" : "ascending") ? (numbers ? "ascending" : "descending") : was ? null : numbers ? "descending" : "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        if (!order) return body.append(...first);
        head.setAttribute("aria-sort", order);
        const key = (row) => numbers ? figure(row.cells[k].textContent) : row.cells[k].textContent;
        const sign = order === "ascending" ? 1 : -1;
        const compare = (a, b) => sign * (numbers ? a.key - b.key || 0 : a.key.localeCompare(b.key));
        body.append(...first.map((row) => ({ row, key: key(row) })).sort(compare).map((x) => x.row));
      };
      head.tabIndex = 0;
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (e) => {
        if (e.key === "Enter" || e.key === " ") {
          e.preventDefault();
          sort();
        }
      });
    });
  }

  // Rows and items without the text that is looked for are hidden, and sections without any left.
  function searchable(main) {
    if (!main.querySelector("tbody tr, li")) return;
    const box = document.createElement("div"), input = document.createElement("input"), said = document.createElement("output");
    box.className = "tools search";
    input.type = "search";
    input.placeholder = "Find in tables and lists";
    input.setAttribute("aria-label", input.placeholder);
    input.addEventListener("input", () => {
      const text = input.value.trim().toLowerCase();
      let found = 0;
      for (const part of main.querySelectorAll("tbody tr, li")) {
        const has = part.textContent.toLowerCase().includes(text);
        part.hidden = text !== "" && !has;
        if (text !== "" && has) {
          found++;
          const folded = part.closest("details");
          if (folded) folded.open = true;
        }
      }
      said.textContent = text === "" ? "" : found + " found";
    });
    box.append(input, said);
    main.before(box);
  }

  document.querySelectorAll(".plot").forEach(zoomable);
  document.querySelectorAll("main table").forEach(sortable);
  document.querySelectorAll("main").forEach(searchable);
})();
