// Live lists (proposals, runs): rows change in place, new ones announce themselves, rows that no longer belong leave
// with a word. Nothing moves under the pointer: rows are added only when the reader asks, and leave only when nobody
// points at them or has the focus there.
(() => {
  "use strict";

  const { hellos, hello, say, sync } = window.Clearance;
  const LEAVES = 6000; // ms that a row stays after its last word

  const list = () => document.querySelector('[data-live="inbox"], [data-live="runs"]');
  const rowOf = (id) => document.getElementById(`row-${id}`);

  function known() {
    const body = document.getElementById("list-body");
    const rows = {};
    document.querySelectorAll("#rows > [data-id]").forEach((row) => { rows[row.dataset.id] = Number(row.dataset.version); });
    const whole = !document.querySelector("#rows > .more");
    return { view: body.dataset.view, q: body.dataset.q, query: body.dataset.query, since: body.dataset.now, rows, whole };
  }
  hellos.inbox = known;
  hellos.runs = known;

  function leave(row) {
    if (!row.isConnected) return;
    const place = row.parentElement;
    if (place.matches(":hover") || place.contains(document.activeElement)) setTimeout(leave, 1500, row);
    else {
      row.remove();
      if (!document.querySelector("#rows > [data-id]")) document.getElementById("rows-empty")?.removeAttribute("hidden");
    }
  }

  function change(next) {
    const old = rowOf(next.dataset.id);
    if (!old || Number(old.dataset.version) > Number(next.dataset.version)) return;
    const link = old.querySelector("a");
    const focused = link && link === document.activeElement;
    if (link && link.hasAttribute("aria-current")) next.querySelector("a")?.setAttribute("aria-current", "true");
    const [was, box] = [old, next].map((row) => row.querySelector('input[name="id"]'));
    if (was && box) box.checked = was.checked;
    old.replaceWith(next);
    if (focused) next.querySelector("a")?.focus({ preventScroll: true });
    if (next.dataset.in === "no") {
      next.classList.add("leaving");
      say(next.dataset.word || "");
      setTimeout(leave, LEAVES, next);
    }
  }

  function apply(message) {
    const box = document.createElement("template");
    box.innerHTML = message;
    const root = box.content.querySelector("[data-rows]");
    if (!root) return;
    sync(root.dataset.now);
    [...root.children].filter((row) => row.dataset.id).forEach(change);
    for (const [key, value] of Object.entries(JSON.parse(root.dataset.counts || "{}"))) {
      document.querySelectorAll(`[data-count="${key}"]`).forEach((place) => { place.textContent = value; });
    }
    const sums = document.getElementById("sums");
    if (sums && root.dataset.sums !== undefined) {
      sums.textContent = root.dataset.sums;
      sums.hidden = !root.dataset.sums;
    }
    if (document.title.includes("Inbox")) {
      const mine = document.querySelector('.nav [data-count="mine"]').textContent;
      document.title = `Inbox${mine !== "0" ? ` (${mine})` : ""} · Clearance`;
    }
    document.dispatchEvent(new CustomEvent("clearance:counts"));
    const news = document.getElementById("news");
    const fresh = Number(root.dataset.fresh);
    if (news) {
      if (fresh && news.hidden) say(`${fresh} new`);
      news.hidden = !fresh;
      news.querySelector("[data-word]").textContent = `${fresh} new`;
    }
  }

  // A list that could not be loaded says so, and stops saying so when it was.
  function trouble(text) {
    const place = document.getElementById("problem");
    if (!place) return;
    place.replaceChildren();
    if (!text) return;
    const banner = document.createElement("p");
    banner.className = "banner is-bad";
    banner.textContent = text;
    place.append(banner);
  }
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      if (list() && list().contains(event.target)) trouble("The server did not answer, so this list may be old. It is tried again when you ask again.");
    });
  }

  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    if (event.target !== list() || event.defaultPrevented) return;
    event.preventDefault();
    apply(event.detail.message);
  });

  // Another page of rows, a search or "3 new": the server is told what is shown now.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (list() && list().contains(event.target) && event.target.closest("#list-body, #rows")) {
      trouble("");
      hello(list());
    }
  });

  // A deadline that passes turns its row at that moment.
  document.addEventListener("clearance:due", (event) => {
    const strip = event.target.closest(".strip");
    if (!strip) return;
    strip.classList.remove("is-wait", "is-soon");
    strip.classList.add("is-bad", "is-over");
    strip.querySelector("[data-when-due]").hidden = false;
    event.target.hidden = true;
  });

  document.querySelector("#rows [aria-current]")?.scrollIntoView({ block: "nearest" });
})();
