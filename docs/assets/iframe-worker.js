// Browsers refuse workers to pages that are opened from disk. There, the search runs in a hidden frame instead, which
// answers to the same calls. On a server nothing is changed.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      this.frame = frame;
      window.addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow) return;
        const copy = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(copy);
        if (this.onmessage) this.onmessage(copy);
      });
      this.loaded = new Promise((done) => { frame.onload = done; });
      const setUp =
        'self.postMessage = (data) => parent.postMessage(data, "*");' +
        "self.importScripts = async (...all) => { for (const one of all) await new Promise((done) => {" +
        "  const script = document.createElement('script'); script.src = one; script.onload = done;" +
        "  document.body.append(script); }); };";
      const page = frame.contentDocument;
      page.open();
      page.write(`<body><script>${setUp}<\/script><script src="${new URL(address, location.href)}"><\/script>`);
      page.close();
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
