"use strict";
// Figures over time are read together: a line at the pointer in all of them, and what held there, also in the middle of a step.
// eslint-disable-next-line no-unused-vars
const Reading = (function () {
  const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const clock = (place) => (place.layout.meta || {}).clock;
  const wide = (place) => place._fullLayout;

  function words(when, moment) {
    if (when.unit === "date") return new Date(moment).toISOString().slice(0, 16).replace("T", " ") + " UTC";
    let left = Math.round(moment * when.seconds);
    if (left < 60) return digits.format(moment * when.seconds) + " s";
    const parts = [];
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
      if (left >= size && parts.length < 2) parts.push(Math.floor(left / size) + " " + unit);
      left %= size;
    }
    return parts.join(" ");
  }
  // The place of the last entry that is not beyond a value, or -1.
  function before(values, value) {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] <= value) low = middle + 1; else high = middle;
    }
    return low - 1;
  }
  function at(trace, moment) {
    const last = before(trace.x, moment);
    if ((trace.line || {}).shape === "hv") return last < 0 || moment > trace.x[trace.x.length - 1] ? -1 : last;
    const next = Math.min(last + 1, trace.x.length - 1);
    return last < 0 || Math.abs(trace.x[next] - moment) < Math.abs(trace.x[last] - moment) ? next : last;
  }
  const lines = (trace) => trace.type === "scatter" && trace.visible === true && trace.hoverinfo !== "skip";
  function rows(place, moment) {
    const said = [], full = wide(place);
    place._fullData.forEach((trace, i) => {
      if (!lines(trace) || !trace.name) return;
      const axis = full["yaxis" + trace.yaxis.slice(1)];
      const unit = (/\[([^\]]+)\]\s*$/.exec((axis.title || {}).text || "") || [])[1] || "";
      if (!trace.mode.includes("lines")) {  // single marks are told where the pointer is on them
        const near = at(trace, moment), on = near >= 0 && Math.abs(full.xaxis.c2p(trace.x[near]) - full.xaxis.c2p(moment)) < 7;
        if (on && trace.customdata) said.push([trace.marker.color, trace.name, String(trace.customdata[near])]);
        return;
      }
      const k = at(trace, moment), value = k < 0 ? NaN : trace.y[k];
      if (value === null || !isFinite(value)) return;
      const band = place._fullData[i - 1];
      let text = digits.format(value) + (unit ? " " + unit : "");
      if (band && band.fill === "toself" && band.yaxis === trace.yaxis && band.y.length === 2 * trace.y.length) {
        text += ` (${digits.format(band.y[2 * trace.y.length - 1 - k])} to ${digits.format(band.y[k])})`;
      }
      said.push([trace.line.color, trace.name, text]);
    });
    return said;
  }

  const places = [];
  function clear() {
    for (const place of places) { place.ruler.hidden = true; place.label.hidden = true; }
  }
  function rule(place, moment) {
    const full = wide(place), x = full.xaxis.c2p(moment);
    place.ruler.hidden = !(x >= 0 && x <= full.xaxis._length);
    place.ruler.style.cssText = `left:${full.xaxis._offset + x}px;top:${full._size.t}px;height:${full._size.h}px`;
  }
  function label(place, moment, said, event, box) {
    place.label.textContent = "";
    const title = document.createElement("b");
    title.textContent = words(clock(place), moment);
    place.label.append(title);
    for (const [colour, name, text] of said) {
      const row = document.createElement("div"), dot = document.createElement("i"), value = document.createElement("span");
      dot.style.background = colour;
      value.textContent = text;
      row.append(dot, new DOMParser().parseFromString(name, "text/html").documentElement.textContent + " ", value);
      place.label.append(row);
    }
    place.label.hidden = false;
    const x = event.clientX - box.left, right = x + 14 + place.label.offsetWidth > box.width;
    place.label.style.left = Math.max(0, right ? x - 14 - place.label.offsetWidth : x + 14) + "px";
    place.label.style.top = Math.max(0, event.clientY - box.top - 10 - place.label.offsetHeight / 2) + "px";
  }
  function moved(place, event) {
    const full = wide(place), box = place.getBoundingClientRect();
    const x = event.clientX - box.left - full.xaxis._offset, y = event.clientY - box.top;
    const cell = Object.keys(full).filter((key) => /^yaxis\d*$/.test(key)).map((key) => full[key])
      .find((axis) => y >= axis._offset && y <= axis._offset + axis._length);
    clear();
    if (!cell || x < 0 || x > full.xaxis._length) return;
    const moment = full.xaxis.p2c(x), group = clock(place).name;
    for (const other of places) if (clock(other).name === group) rule(other, moment);
    // Over a Gantt the job under the pointer is told instead.
    if (!place._fullData.some((trace) => lines(trace) && trace.yaxis === cell._id)) return;
    const said = rows(place, moment);
    if (said.length) label(place, moment, said, event, box);
  }

  // Before it is drawn: the labels of plotly.js are for what is not a line.
  function prepare(figure) {
    figure.layout.hovermode = "closest";
    for (const trace of figure.data) if (trace.type === "scatter" && trace.hoverinfo !== "skip") trace.hoverinfo = "none";
    for (const trace of figure.data) if (trace.type === "scatter") delete trace.hovertemplate;
  }
  function add(place) {
    for (const part of ["ruler", "label"]) {
      place[part] = document.createElement("div");
      place[part].className = part;
      place[part].hidden = true;
      place.append(place[part]);
    }
    places.push(place);
    for (const kind of ["pointermove", "pointerdown"]) place.addEventListener(kind, (event) => moved(place, event), true);
    place.addEventListener("pointerleave", clear);
  }
  return { prepare, add };
})();
