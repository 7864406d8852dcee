// The keys of the list and of a proposal; "?" tells them. Never inside a field or a dialog, and on a proposal only while
// it has the focus and has not just appeared or moved: a key that was meant for something else decides nothing.
(() => {
  "use strict";

  const typing = (place) => place.closest("input, textarea, select, [contenteditable], dialog");
  const card = () => document.querySelector('main[data-live="proposal"]');
  const links = () => [...document.querySelectorAll("#rows a.strip")].filter((link) => link.checkVisibility());

  function open(name) {
    const dialog = document.getElementById(name);
    if (dialog && !dialog.open) dialog.showModal();
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-opens]");
    if (button) open(button.dataset.opens);
  });

  // From row to row; on a proposal to the one before or behind it in the order of the list it was opened from.
  function step(forward) {
    const here = card();
    if (here) {
      here.querySelector(`#p-turn a[rel="${forward ? "next" : "prev"}"]`)?.click();
      return;
    }
    const rows = links();
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    const next = at < 0 ? rows[forward ? 0 : rows.length - 1] : rows[at + (forward ? 1 : -1)];
    next?.focus();
  }

  const keys = {
    j: () => step(true),
    k: () => step(false),
    "/": () => document.getElementById("q")?.focus(),
    "?": () => open("keys"),
    a: () => focused("#p-approve:enabled"),
    r: () => {
      const reason = document.getElementById("p-reason");
      focused(reason && reason.value.trim() ? "#p-reject" : "#p-reason");
    },
  };

  // Moves the focus, and does no more: what decides is Enter on a button that is seen to have it.
  function focused(what) {
    const here = card();
    if (!here || !here.contains(document.activeElement) || window.Clearance.isFresh()) return false;
    const place = here.querySelector(what);
    place?.focus();
    return Boolean(place);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target)) return;
    const arrow = { ArrowDown: true, ArrowUp: false }[event.key];
    if (arrow !== undefined) {
      if (!event.target.closest("#rows")) return; // elsewhere arrows scroll
      event.preventDefault();
      if (links().includes(document.activeElement)) {
        const rows = links();
        rows[rows.indexOf(document.activeElement) + (arrow ? 1 : -1)]?.focus();
      }
      return;
    }
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : ""];
    if (!act) return;
    if (act() !== false) event.preventDefault();
  });
})();
