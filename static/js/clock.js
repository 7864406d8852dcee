// Deadlines count down by the server's clock, whatever the reader's own says, and say so themselves when they pass:
// the page tells the state at every moment without a reload (S89). The server judges; this only shows.
(() => {
  "use strict";

  const SOON = 180; // seconds
  let offset = null; // server − here, in ms; the largest seen is the one that travelled fastest

  function sync(iso) {
    const told = Date.parse(iso || "");
    if (Number.isNaN(told)) return;
    const seen = told - Date.now();
    if (offset === null || seen > offset || Math.abs(seen - offset) > 5000) offset = seen;
  }

  const now = () => Date.now() + (offset || 0);

  function words(seconds) {
    if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")} min left`;
    return `${Math.floor(seconds / 86400)} days left`;
  }

  function tick() {
    document.querySelectorAll("[data-deadline]").forEach((element) => {
      if (element.dataset.due) return;
      const left = Date.parse(element.dataset.deadline) - now();
      const holder = element.closest("[data-soon]") || element;
      if (left <= 0) {
        element.dataset.due = "yes";
        element.textContent = "time is up";
        holder.classList.remove("is-soon");
        element.dispatchEvent(new CustomEvent("clearance:due", { bubbles: true }));
        return;
      }
      const text = words(Math.ceil(left / 1000));
      if (element.textContent !== text) element.textContent = text;
      holder.classList.toggle("is-soon", left <= SOON * 1000);
    });
    // At the next full second of the nearest kind, and no later than the next deadline.
    let wait = 1000 - (now() % 1000);
    document.querySelectorAll("[data-deadline]:not([data-due])").forEach((element) => {
      const left = Date.parse(element.dataset.deadline) - now();
      if (left > 0) wait = Math.min(wait, (left % 1000) + 5);
    });
    setTimeout(tick, Math.max(20, wait));
  }

  // In the zone that the server tells times in.
  const zone = document.body.dataset.zone || undefined;
  const time = (date) => date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone });

  window.Clearance = { sync, now, time };
  sync(document.body.dataset.now);
  tick();
})();
