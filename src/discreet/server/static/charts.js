// Bars of a table, drawn by Observable Plot. They are made in a document of their own, because the policy of the page
// allows no inline styles, and what Plot writes as such is taken out; server.css has what is needed.
"use strict";
window.drawBars = (figure) => {
  const bars = JSON.parse(figure.dataset.bars).map(([row, column, value]) => ({row, column, value}));
  const place = figure.querySelector(".drawing");
  if (!bars.length) return;
  const rows = [...new Set(bars.map((bar) => bar.row))];
  const columns = [...new Set(bars.map((bar) => bar.column))];
  const several = columns.length > 1;
  const longest = Math.max(...rows.map((row) => row.length));
  const colours = columns.map((_, k) => `var(--c${k})`);
  const options = {
    document: document.implementation.createHTMLDocument(""),
    className: "bars",
    width: Math.max(320, place.clientWidth),
    height: 60 + rows.length * Math.max(18, several ? 11 * columns.length + 8 : 18),
    marginLeft: Math.min(240, 24 + 7 * longest),
    x: {label: figure.dataset.unit || null, grid: true, tickFormat: "s", nice: true},
    color: {domain: columns, range: colours},
    ariaLabel: "Bars; the table beside has their numbers",
    marks: [],
  };
  const common = {x: "value", fill: several ? "column" : "var(--c0)", title: (bar) => `${bar.row} ${bar.column}: ${bar.value.toLocaleString("en")}`};
  if (several) {
    Object.assign(options, {y: {axis: null, domain: columns}, fy: {label: null, axis: "left", domain: rows, padding: .2}});
    options.marks.push(Plot.barX(bars, {...common, y: "column", fy: "row"}));
  } else {
    options.y = {label: null, domain: rows};
    options.marks.push(Plot.barX(bars, {...common, y: "row"}));
  }
  options.marks.push(Plot.ruleX([0]));
  const drawn = Plot.plot(options);
  for (const style of drawn.querySelectorAll("style")) style.remove();
  for (const part of drawn.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  drawn.setAttribute("role", "img");
  place.replaceChildren(document.adoptNode(drawn));
  if (several) {
    const key = document.createElement("ul");
    key.className = "boxes";
    columns.forEach((column, k) => {
      const item = document.createElement("li");
      const box = document.createElement("span");
      box.className = `box c${k}`;
      item.append(box, column);
      key.append(item);
    });
    place.append(key);
  }
};
