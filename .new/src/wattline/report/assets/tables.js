"use strict";
// Every table can be searched, and saved as CSV: numbers in SI units, as the header says, not as they are rounded on the page.
(function () {
  const text = (cell) => (cell ? cell.textContent.trim() : "");
  // 12,345 is a number with groups; what a spreadsheet would run as a formula is marked as text.
  function field(value) {
    if (/^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(value)) return value.replace(/,/g, "");
    if (/^[=+\-@\t\r]/.test(value) && isNaN(value)) value = "'" + value;
    return /[",\n\r]/.test(value) ? '"' + value.replace(/"/g, '""') + '"' : value;
  }
  const raw = (cell) => (cell.dataset.v === undefined ? text(cell) : cell.dataset.v === "nan" ? "" : cell.dataset.v);
  function csv(table) {
    const header = [...table.tHead.rows[0].cells].map(text);
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells]);
    const unit = (cell) => (cell && cell.dataset.v !== undefined ? cell.dataset.u || "" : null);
    const kinds = header.map((_, i) => new Set(rows.map((row) => unit(row[i])).filter((kind) => kind !== null)));
    const mixed = kinds.some((kind) => kind.size > 1);  // rows of different units say theirs at the end
    const named = header.map((name, i) => (!mixed && [...kinds[i]].join("") ? `${name} [${[...kinds[i]][0]}]` : name));
    const lines = rows.map((row) => {
      const units = new Set(row.map(unit).filter(Boolean));
      return row.map((cell) => field(raw(cell))).concat(mixed ? [[...units].join(" ")] : []).join(",");
    });
    return [named.concat(mixed ? ["unit"] : []).map(field).join(","), ...lines].join("\r\n") + "\r\n";
  }
  function above(table) {
    let at = table.closest(".scroll") || table;
    const folded = at.closest("details");
    if (folded) return text(folded.querySelector("summary"));
    for (; at; at = at.previousElementSibling || at.parentElement) if (/^H[1-3]$/.test(at.tagName)) return at.firstChild.textContent;
    return document.title;
  }
  function save(table) {
    const name = (text(table.caption) || above(table)).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + csv(table)], { type: "text/csv" }));
    link.download = (name || "table") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  for (const table of document.querySelectorAll("main table")) {
    if (!table.tHead || !table.tBodies.length) continue;
    const rows = [...table.tBodies[0].rows];
    const bar = document.createElement("div");
    bar.className = "tools";
    const found = document.createElement("span");
    if (rows.length > 1) {
      const search = document.createElement("input");
      search.type = "search";
      search.placeholder = "search";
      search.setAttribute("aria-label", "show only rows with these words");
      search.addEventListener("input", () => {
        const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
        const left = rows.filter((row) => !row.hidden).length;
        found.textContent = words.length ? `${left} of ${rows.length} rows` : "";
      });
      bar.append(found, search);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "CSV";
    button.title = "save these rows as a CSV file; times in s, power in W, energy in J";
    button.addEventListener("click", () => save(table));
    bar.append(button);
    (table.closest(".scroll") || table).before(bar);
    table.csv = () => csv(table);
  }
})();
