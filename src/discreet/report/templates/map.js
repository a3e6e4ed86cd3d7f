// Draws the map anew when other axes are chosen. Without scripts the image of the default axes stays.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("map-data").textContent);
  const chooser = document.querySelector(".chooser");
  const drawing = document.querySelector(".riskmap .drawing");
  const caption = document.querySelector(".riskmap figcaption");
  const axes = Object.fromEntries(data.axes.map((axis) => [axis.name, axis]));
  const W = 860, H = 460, LEFT = 80, RIGHT = 30, TOP = 20, BOTTOM = 64;
  const SVG = "http://www.w3.org/2000/svg";
  const add = (parent, tag, attributes, text) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  };
  // As in the tables: four digits that count, and never an exponent.
  const plain = (x) =>
    x === 0 ? "0" : Math.abs(x) < 0.0001 ? "< 0.0001"
      : Math.abs(x) >= 1000 ? x.toLocaleString("en", { maximumFractionDigits: 0 })
        : Number(x.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
  const said = (axis, x) =>
    !axis.share ? plain(x) : x === 0 ? "0 %" : x < 0.00005 ? "< 0.01 %" : (100 * x).toFixed(2) + " %";
  const roundStep = (most) => {
    const power = 10 ** Math.floor(Math.log10(most / 5));
    return [1, 2, 5, 10].map((k) => k * power).find((step) => most / step <= 6);
  };

  function draw() {
    const [risk, loss] = ["risk", "loss"].map((side) => axes[chooser.querySelector(`[data-side=${side}]`).value]);
    const points = data.points.filter((point) => risk.name in point.spots && loss.name in point.spots);
    const at = (point) => [point.spots[risk.name], point.spots[loss.name]];
    const beaten = (point) => points.some((other) => {
      const [[a], [b]] = at(other), [[x], [y]] = at(point);
      return a <= x && b <= y && (a < x || b < y);
    });
    const best = points.filter((point) => !beaten(point)).sort((p, q) => at(p)[0][0] - at(q)[0][0] || at(p)[1][0] - at(q)[1][0]);
    // Where all methods have nothing, the axis has one end and one number on it: zero.
    const largest = [0, 1].map((k) => Math.max(...points.map((point) => at(point)[k][2]), 0));
    const most = largest.map((end) => 1.08 * (end || 1));
    const place = [(x) => LEFT + (W - LEFT - RIGHT) * x / most[0], (y) => H - BOTTOM - (H - TOP - BOTTOM) * y / most[1]];

    drawing.replaceChildren();
    const svg = add(drawing, "svg", { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": "Risk and loss of methods" });
    const axisColour = { stroke: "currentColor", "stroke-width": 1 };
    add(svg, "path", { d: `M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}`, fill: "none", ...axisColour });
    [risk, loss].forEach((axis, k) => {
      const step = largest[k] ? roundStep(most[k]) : 2 * most[k];
      for (let i = 0; i * step <= most[k]; i++) {
        const p = place[k](i * step);
        const text = Number(((axis.share ? 100 : 1) * i * step).toPrecision(4)).toLocaleString("en") + (axis.share ? " %" : "");
        if (k === 0) {
          add(svg, "path", { d: `M${p} ${H - BOTTOM}v5`, ...axisColour });
          add(svg, "text", { x: p, y: H - BOTTOM + 19, "text-anchor": "middle", "font-size": 12 }, text);
        } else {
          add(svg, "path", { d: `M${LEFT - 5} ${p}h5`, ...axisColour });
          add(svg, "text", { x: LEFT - 9, y: p + 4, "text-anchor": "end", "font-size": 12 }, text);
        }
      }
    });
    add(svg, "text", { x: (LEFT + W - RIGHT) / 2, y: H - 18, "text-anchor": "middle", "font-size": 13 }, `risk: ${risk.words}`);
    add(svg, "text", { x: 16, y: (H - BOTTOM) / 2, "text-anchor": "middle", "font-size": 13, transform: `rotate(-90 16 ${(H - BOTTOM) / 2})` }, `loss: ${loss.words}`);
    const line = best.map((point, i) => {
      const [[x], [y]] = at(point);
      return i ? `H${place[0](x)}V${place[1](y)}` : `M${place[0](x)} ${place[1](y)}`;
    }).join("");
    if (line) add(svg, "path", { d: line, class: "front" });

    const taken = [];
    for (const point of points) {
      const [x, y] = at(point), [px, py] = [place[0](x[0]), place[1](y[0])];
      const words = `${point.name}${best.includes(point) ? " (on the frontier)" : ""}\n` +
        [[risk, x], [loss, y]].map(([axis, s]) => `${axis.words}: ${said(axis, s[0])}` +
          (s[1] !== s[2] ? ` (${said(axis, s[1])} to ${said(axis, s[2])})` : "")).join("\n") +
        (point.flag ? `\nBeware: ${point.flag}` : "");
      const group = add(svg, "g", { class: best.includes(point) ? "spot best" : "spot", tabindex: 0, role: "img", "aria-label": words });
      add(group, "title", {}, words);
      if (x[1] !== x[2]) add(group, "path", { class: "range", d: `M${place[0](x[1])} ${py}H${place[0](x[2])}` });
      if (y[1] !== y[2]) add(group, "path", { class: "range", d: `M${px} ${place[1](y[1])}V${place[1](y[2])}` });
      add(group, "circle", { cx: px, cy: py, r: best.includes(point) ? 8 : 6 });
      const near = taken.find(([a, b]) => Math.abs(a - px) < 20 && Math.abs(b - py) < 16);
      if (near) near[2].textContent += ", " + point.letter;
      else taken.push([px, py, add(svg, "text", { x: px + 11, y: py - 8, "font-size": 14, "font-weight": 600 }, point.letter)]);
    }
    caption.textContent = best.length
      ? `Nobody beats ${best.map((point) => point.name).join(", ")} on both axes; smaller is better. Bars are intervals of 95 % of the runs.`
      : "No method has both measures.";
  }

  if (chooser && chooser.querySelectorAll("option").length) {
    chooser.hidden = false;
    chooser.addEventListener("change", draw);
    draw();
  }
})();
