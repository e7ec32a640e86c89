"use strict";
(function () {
  const source = document.getElementById("figures_data");
  if (!source) return;
  const figures = JSON.parse(source.textContent);
  const options = {
    // Without a pointer that hovers the tools would always cover the legend.
    displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false,
    responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg" },
  };
  // Ink and grid come from the page's style, so that one place knows what is light and what is dark.
  function inks(layout) {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    const changes = { "font.color": of("--ink") };
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(key)) {
        changes[key + ".gridcolor"] = of("--grid");
        changes[key + ".linecolor"] = of("--line");
        changes[key + ".tickcolor"] = of("--line");
        changes[key + ".zerolinecolor"] = of("--dim");
      }
    }
    changes["modebar.bgcolor"] = "rgba(0,0,0,0)";
    changes["modebar.color"] = of("--dim");
    changes["modebar.activecolor"] = of("--accent");
    changes["hoverlabel.bgcolor"] = of("--raised");
    changes["hoverlabel.bordercolor"] = of("--line");
    changes["hoverlabel.font.color"] = of("--ink");
    return changes;
  }
  function assign(layout, changes) {
    for (const [path, value] of Object.entries(changes)) {
      const keys = path.split(".");
      let at = layout;
      for (const key of keys.slice(0, -1)) at = at[key] = at[key] || {};
      at[keys[keys.length - 1]] = value;
    }
  }

  // Figures with the same clock show the same stretch of it: zoom one, and all follow.
  const stretches = {};
  const clock = (layout) => (layout.meta || {}).clock;
  function spread(layout, range) {
    const changes = {};
    for (const key of Object.keys(layout)) {
      if (/^xaxis\d*$/.test(key)) {
        changes[key + ".range"] = range.slice();
        changes[key + ".autorange"] = false;
      }
    }
    return changes;
  }
  function followed(place, event) {
    if (!Object.keys(event || {}).some((key) => /^xaxis\d*\.(range|autorange)/.test(key))) return;
    const mine = clock(place.layout);
    const whole = Object.keys(event).some((key) => /^xaxis\d*\.autorange/.test(key) && event[key] === true);
    const range = whole ? mine.span : place._fullLayout.xaxis.range;
    if (String(range) === stretches[mine.name] && !whole) return;
    stretches[mine.name] = String(range);
    mine.shown = range.slice();
    for (const [other, layout] of drawn) {
      const theirs = clock(layout);
      if (!theirs || theirs.name !== mine.name || (other === place && !whole)) continue;
      theirs.shown = range.slice();
      Plotly.relayout(other, spread(other.layout, range));
    }
    for (const figure of waiting.values()) {
      const theirs = clock(figure.layout);
      if (theirs && theirs.name === mine.name) assign(figure.layout, spread(figure.layout, range));
    }
  }

  // A figure is drawn when it is about to be seen, and the rest while the reader looks at the first ones.
  const drawn = [], waiting = new Map();
  for (const figure of figures) waiting.set(document.getElementById(figure.id), figure);
  function draw(place) {
    const figure = waiting.get(place);
    if (!figure) return;
    waiting.delete(place);
    assign(figure.layout, inks(figure.layout));
    const timed = clock(figure.layout);
    if (place.clientWidth < 480) assign(figure.layout, { "margin.r": 8, "font.size": 11, ...(timed ? { "margin.l": 70 } : {}) });
    if (timed) Reading.prepare(figure);
    Plotly.newPlot(place, figure.data, figure.layout, options);
    drawn.push([place, figure.layout]);
    if (timed) {
      Reading.add(place);
      place.on("plotly_relayout", (event) => followed(place, event));
    }
    document.documentElement.dataset.drawn = drawn.length;
  }
  function drawAll() {
    for (const place of [...waiting.keys()]) draw(place);
  }
  const near = new IntersectionObserver((seen) => {
    for (const entry of seen) if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target); }
  }, { rootMargin: "200px" });
  for (const place of waiting.keys()) near.observe(place);
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 50));
  function rest() {
    const next = waiting.keys().next();
    if (next.done) return;
    draw(next.value);
    idle(rest);
  }
  addEventListener("load", () => setTimeout(() => idle(rest), 300));
  for (const details of document.querySelectorAll("details")) {  // what was drawn while it was folded had no width
    details.addEventListener("toggle", () => { for (const [place] of drawn) if (details.contains(place)) Plotly.Plots.resize(place); });
  }

  function repaint() {
    for (const [place, layout] of drawn) {
      Plotly.relayout(place, inks(layout));
      Plotly.Plots.resize(place);
    }
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", repaint);
  addEventListener("beforeprint", function () {
    for (const details of document.querySelectorAll("details")) details.open = true;
    drawAll();
    repaint();
  });
})();
