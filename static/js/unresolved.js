// Unknown outcomes, live: the page says which state it shows and gets the parts of another one. Parts that say the same
// stay untouched (live.js), so that nothing typed is lost; a part with the focus in a field waits for its next chance.
(() => {
  "use strict";

  const { hellos, sync } = window.Clearance;
  const state = () => document.querySelector('[data-live="unresolved"] [data-state]');

  hellos.unresolved = () => ({ seen: state().dataset.state });

  // The choices are not exchanged under somebody's hands: what is refused then is told in words.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const place = event.detail.target;
    if (place.id !== "u-choices") return;
    const typing = place.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
    const typed = [...place.querySelectorAll("textarea, input:not([type=hidden])")].some((field) => field.value !== field.defaultValue);
    const next = event.detail.fragment.firstElementChild;
    const over = next && next.hidden;
    if ((typing || typed) && !over) event.detail.shouldSwap = false;
  });

  document.addEventListener("htmx:wsAfterMessage", () => {
    const place = state();
    if (!place) return;
    sync(place.dataset.now);
    if (place.dataset.title) document.title = place.dataset.title;
    if (place.dataset.total !== undefined) {
      document.querySelectorAll('[data-count="unresolved"]').forEach((count) => { count.textContent = place.dataset.total; });
    }
  });
})();
