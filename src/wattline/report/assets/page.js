"use strict";
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
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
  const drawn = [];
  for (const figure of figures) {
    const place = document.getElementById(figure.id);
    assign(figure.layout, inks(figure.layout));
    if (place.clientWidth < 480) assign(figure.layout, { "margin.r": 8, "font.size": 11 });
    Plotly.newPlot(place, figure.data, figure.layout, options);
    drawn.push([place, figure.layout]);
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
    repaint();
  });
})();
