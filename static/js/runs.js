// The list of runs: what is stuck stands first and follows while one looks, but never moves under the pointer.
(() => {
  "use strict";

  const AGAIN = 1500; // ms

  function exchange(next) {
    const old = document.getElementById("stuck");
    if (!old || old.dataset.sig === next.dataset.sig) return;
    if (old.matches(":hover") || old.contains(document.activeElement)) {
      clearTimeout(exchange.later);
      exchange.later = setTimeout(exchange, AGAIN, next);
      return;
    }
    old.replaceWith(next);
    const rows = document.querySelector("#rows > [data-id], #stuck [data-id]");
    document.getElementById("rows-empty").hidden = Boolean(rows);
  }

  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    if (!event.target.matches('[data-live="runs"]')) return;
    const box = document.createElement("template");
    box.innerHTML = event.detail.message;
    const next = box.content.getElementById("stuck");
    if (next) exchange(next);
  });
})();
