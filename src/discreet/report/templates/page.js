// Lets readers search and sort tables, and turns rows into cards on narrow screens. Without scripts all of it can be read.
"use strict";
(() => {
  const SORTED = 4, SEARCHED = 15;
  const number = (text) => {
    const plain = text.replace(/[,\u00a0 %]/g, "").replace("\u2212", "-").replace(/^[<>]/, "");
    return plain !== "" && !isNaN(plain) ? Number(plain) : null;
  };
  const compare = (a, b) => {
    const [x, y] = [number(a), number(b)];
    if (x !== null && y !== null) return x - y;
    return x !== null ? -1 : y !== null ? 1 : a.localeCompare(b, "en", { numeric: true });
  };

  function sortable(table, body) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [row.cells[k].textContent.trim(), row]);
        rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  function searchable(table, body) {
    const label = document.createElement("label");
    const field = document.createElement("input");
    const found = document.createElement("span");
    label.className = "search";
    field.type = "search";
    found.setAttribute("role", "status");
    label.append("Search ", field, found);
    table.parentElement.before(label);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      found.textContent = words.length ? ` ${shown} of ${body.rows.length} rows` : "";
    });
  }

  for (const table of document.querySelectorAll("table")) {
    if (!table.tHead) continue;
    const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
    for (const body of table.tBodies) for (const row of body.rows) {
      if (row.cells.length === heads.length) [...row.cells].forEach((cell, k) => { cell.dataset.head = heads[k]; });
    }
    const body = table.tBodies[0];
    if (table.tBodies.length > 1 || [...body.rows].some((row) => row.cells.length !== heads.length)) continue;
    if (body.rows.length >= SORTED) sortable(table, body);
    if (body.rows.length >= SEARCHED) searchable(table, body);
  }

  for (const image of document.querySelectorAll("svg.heat[data-kinds]")) {
    const [down, across, kinds] = ["down", "across", "kinds"].map((name) => JSON.parse(image.dataset[name]));
    const names = [...image.closest("figure").querySelectorAll(".boxes li")].map((entry) => entry.textContent.trim());
    const tip = document.createElement("p");
    tip.className = "tip";
    tip.textContent = "Point at a cell to see what it is.";
    image.closest("figure").querySelector(".boxes").before(tip);
    image.addEventListener("pointermove", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      const box = row.getBoundingClientRect();
      const x = Math.min(Math.floor(across.length * (event.clientX - box.left) / box.width), across.length - 1);
      const y = Number(row.getAttribute("y"));
      tip.textContent = [down[y], across[x]].filter(Boolean).join(" × ") + ": " + names[kinds[y][x]];
    });
  }

  // Rows become cards only where a column would be off the screen; closed parts have no width until they are opened.
  const narrow = matchMedia("(max-width: 48rem)");
  const fit = () => document.querySelectorAll(".scroll > table").forEach((table) => {
    table.classList.remove("cards");
    const box = table.parentElement;
    if (narrow.matches && table.tHead && box.scrollWidth > box.clientWidth) table.classList.add("cards");
  });
  addEventListener("resize", fit);
  document.querySelectorAll("details").forEach((part) => part.addEventListener("toggle", fit));
  fit();

  // Printed pages show everything.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
})();
