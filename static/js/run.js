// A run's timeline: rows arrive in order and without a gap. The page says which one it has last, after every
// reconnect and whenever a message does not fit; a message that does not fit is dropped and asked for again (S43).
(() => {
  "use strict";

  const { hellos, hello, sync } = window.Clearance;
  const page = () => document.querySelector('[data-live="run"]');
  const last = () => Number(document.getElementById("timeline").dataset.last);

  hellos.run = () => ({ after: last() });

  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    if (event.target !== page() || event.defaultPrevented) return;
    const box = document.createElement("template");
    box.innerHTML = event.detail.message;
    const rows = box.content.querySelector("[data-from]");
    if (!rows) return;
    if (Number(rows.dataset.from) !== last() + 1) {
      event.preventDefault();
      hello(page());
      return;
    }
    sync(rows.dataset.now);
    document.getElementById("timeline").dataset.last = rows.dataset.to;
  });

  document.addEventListener("htmx:wsAfterMessage", (event) => {
    if (event.target !== page()) return;
    const head = document.getElementById("run-head");
    if (head && head.dataset.title) document.title = head.dataset.title;
  });
})();
