// The table builder: search in the list, drag variables, draw charts when somebody wants one. Without it links and forms
// do the same.
"use strict";
(() => {
  const showThose = (found) => {
    let many = 0;
    for (const item of document.querySelectorAll("#variables > li")) {
      item.hidden = !found(item);
      if (!item.hidden) many += 1;
    }
    document.getElementById("none-found").hidden = many > 0;
  };
  // What the page knows is found at once; labels of all codes are looked through by the server, after a short rest.
  let searches = 0;
  const search = async (text) => {
    const wanted = text.trim().toLowerCase();
    const known = (item) => item.dataset.words.toLowerCase().includes(wanted);
    const number = ++searches;
    showThose(known);
    if (wanted.length < 2) return;
    await new Promise((done) => setTimeout(done, 200));
    if (number !== searches) return;
    const base = document.getElementById("builder").dataset.base;
    const reply = await fetch(`${base}/find?words=${encodeURIComponent(wanted)}`);
    if (!reply.ok || number !== searches) return;
    const names = new Set((await reply.json()).variables);
    showThose((item) => known(item) || names.has(item.dataset.name));
  };
  const move = (name, zone, place) => {
    const builder = document.getElementById("builder");
    const query = new URLSearchParams(builder.dataset.query);
    query.delete("page");
    if (zone) query.append("put", `${name}>${zone}@${place}`);
    else query.append("out", name);
    const address = `${builder.dataset.base}?${query}`;
    htmx.ajax("GET", address, {target: "#builder", swap: "outerHTML", source: builder});
  };
  // Areas of a large map get their words when somebody first points at it: they would make the page slow to come.
  const nameAreas = (map) => {
    const areas = JSON.parse(map.dataset.areas);
    delete map.dataset.areas;
    const all = document.createElementNS(map.namespaceURI, "g");
    for (const [x, y, words] of areas) {
      const area = document.createElementNS(map.namespaceURI, "use");
      for (const [name, value] of Object.entries({href: "#h", x, y, class: "pointed"})) area.setAttribute(name, value);
      const title = document.createElementNS(map.namespaceURI, "title");
      title.textContent = words;
      area.append(title);
      all.append(area);
    }
    map.append(all);
  };
  document.addEventListener("pointerover", (event) => {
    const map = event.target.closest("svg[data-areas]");
    if (map) nameAreas(map);
  });
  const load = (address, integrity) =>
    new Promise((done, failed) => {
      if (document.querySelector(`script[src="${address}"]`)) return done();
      const script = document.createElement("script");
      Object.assign(script, {src: address, integrity, onload: done, onerror: failed});
      document.head.append(script);
    });
  const makeSortable = () => {
    if (!window.Sortable) return;
    document.getElementById("builder").dataset.drags = "yes";
    for (const list of document.querySelectorAll("#builder ul[data-zone]")) {
      const from = list.id === "variables";
      Sortable.create(list, {
        group: {name: "variables", pull: from ? "clone" : true, put: !from || "variables"},
        sort: !from,
        handle: ".grip",
        animation: 120,
        onEnd: (event) => {
          const item = list.querySelector(`[data-name="${CSS.escape(event.item.dataset.name)}"]`) || event.item;
          const name = item.dataset.name;
          const level = document.getElementById(`level-${name}`);
          const full = level ? level.value.replace(">", ":") : name;
          if (event.from === event.to && event.oldIndex === event.newIndex) return;
          move(event.to.dataset.zone ? full : name, event.to.dataset.zone, event.newIndex);
        },
      });
    }
  };
  const draw = async () => {
    const figure = document.getElementById("chart");
    if (!figure || figure.dataset.drawn) return;
    figure.dataset.drawn = "yes";
    const words = figure.dataset.scripts.trim().split(" ");
    for (let k = 0; k < words.length; k += 2) await load(words[k], words[k + 1]);
    window.drawBars(figure);
  };
  const begin = () => {
    makeSortable();
    draw();
    const find = document.getElementById("find");
    find.addEventListener("input", () => search(find.value));
    find.form.addEventListener("submit", (event) => event.preventDefault());
    if (find.value) search(find.value);
  };
  document.addEventListener("DOMContentLoaded", () => {
    begin();
    // Nobody drags before the page was painted; what that needs is loaded afterwards.
    requestAnimationFrame(() => setTimeout(async () => {
      await load(...document.getElementById("builder").dataset.sortable.split(" "));
      makeSortable();
    }));
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id !== "look") begin();  // a look changes nothing that could be dragged or searched
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status >= 400) location.assign(event.detail.xhr.responseURL);  // the whole page of the error
  });
})();
