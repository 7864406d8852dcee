// One proposal: the decision bar. Nothing here decides anything; the server asks for digest, round, time and rights.
(() => {
  "use strict";

  const { hellos, repulse, say } = window.Clearance;
  const FRESH = 500; // a card that has just appeared or moved ignores clicks for half a second

  const page = () => document.querySelector('[data-live="proposal"]');
  const bar = () => document.getElementById("p-act");
  let freshUntil = performance.now() + FRESH;
  let wait = null; // what is kept across the exchange of the bar

  hellos.proposal = () => ({ seen: document.getElementById("p-head").dataset.state });

  // -- Long texts: Approve stays off until each was opened to its end (S13) --------------------------------------

  const unread = () => [...document.querySelectorAll(".long:not(.was-read)")];

  function arm() {
    const act = bar();
    if (!act) return;
    const box = act.querySelector("[data-read-box]");
    const approve = act.querySelector('button[value="approve"]');
    if (!box || !approve) return;
    const left = unread().length;
    box.hidden = true;
    box.querySelector("input").checked = left === 0;
    approve.disabled = left > 0;
    const note = act.querySelector("[data-read-note]");
    note.hidden = left === 0;
    note.textContent = left === 1 ? "Approve opens once the long text has been read to its end." : `Approve opens once ${left} long texts have been read to their ends.`;
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      const long = entry.target.closest(".long");
      watcher.unobserve(entry.target);
      long.classList.add("was-read");
      long.querySelector("[data-read-state]").textContent = "Read to its end.";
      arm();
    }
  });

  // -- The bar -----------------------------------------------------------------------------------------------------

  function fresh() { freshUntil = performance.now() + FRESH; }
  window.Clearance.isFresh = () => performance.now() < freshUntil;

  // A bar that moves under the pointer, because a part of the page grew or the window changed, is a new one. Its foot
  // is where the buttons are: what appears above them moves nothing.
  let foot = bar().getBoundingClientRect().bottom;
  new ResizeObserver(() => {
    const now = bar().getBoundingClientRect().bottom;
    if (Math.abs(now - foot) > 1) fresh();
    foot = now;
  }).observe(page());
  addEventListener("resize", fresh);

  // Whoever is done here is offered the next one, also where somebody else decided.
  function onward() {
    const place = bar()?.querySelector("[data-onward]");
    const words = document.querySelector("#p-turn [data-onward-words]");
    if (place && words && !place.childElementCount) place.append(words.content.cloneNode(true));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("#p-act button");
    if (!button) return;
    if (performance.now() < freshUntil) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    if (button.value === "reject") {
      const reason = bar().querySelector("textarea");
      const preset = bar().querySelector('select[name="preset"]');
      if (reason && !reason.value.trim() && !preset?.value) {
        event.preventDefault();
        event.stopImmediatePropagation();
        problem("Write why you reject it: the agent and the record need the reason.");
        reason.setAttribute("aria-invalid", "true");
        reason.focus();
      }
    }
  }, true);

  function problem(text) {
    const place = bar() && bar().querySelector("[data-problem]");
    if (!place) return;
    place.querySelector("[data-word]").textContent = text;
    place.hidden = false;
  }

  // While a decision is on its way the bar stays: the answer belongs into it, and says what became of what was typed.
  // So does the form to sign in again: somebody may be typing a password into it.
  const deciding = () => Boolean(bar()?.querySelector('form.htmx-request, input[type="password"]'));

  // What was typed survives the exchange; where no field is left for it, it is shown so that it can be copied.
  function keep(next) {
    const typed = bar()?.querySelector("textarea")?.value || "";
    wait = { id: bar()?.contains(document.activeElement) ? document.activeElement.id : "" };
    const field = next.querySelector("textarea:not([readonly])");
    if (field) { if (!field.value) field.value = typed; } else if (typed.trim() && !next.querySelector("[data-typed]")) {
      const kept = next.querySelector("[data-kept]");
      if (kept) {
        kept.hidden = false;
        kept.querySelector("textarea").value = typed;
      }
    }
  }

  function settled() {
    fresh();
    arm();
    onward();
    if (wait && wait.id) document.getElementById(wait.id)?.focus({ preventScroll: true });
    wait = null;
    // The form to sign in again tells the zone that the page was read in.
    document.querySelectorAll('#p-act input[name="zone"]').forEach((field) => { field.value = document.body.dataset.zone; });
    const head = document.getElementById("p-head");
    if (head && head.dataset.title) document.title = head.dataset.title;
  }

  // What went before stands above people and bar: it may grow, and nothing that somebody points at moves. So it waits
  // until nobody points at it or at what stands below it; the bar's foot stays unless all of the page is in view.
  let past = null;
  const pointed = () => ["p-past", "p-talk", "p-people"].some((id) => {
    const part = document.getElementById(id);
    return part && (part.matches(":hover") || part.contains(document.activeElement));
  }) || (bar()?.matches(":hover") && document.documentElement.scrollHeight <= innerHeight);
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (event.detail.target.id !== "p-past") return;
    past = null;
    if (!event.detail.shouldSwap || !pointed()) return;
    event.detail.shouldSwap = false;
    past = event.detail.fragment.firstElementChild.cloneNode(true);
  });
  for (const name of ["pointermove", "pointerdown", "focusin"]) {
    document.addEventListener(name, () => {
      if (!past || pointed()) return;
      document.getElementById("p-past").replaceWith(past);
      past = null;
    }, { passive: true });
  }

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (event.detail.target.id !== "p-act" || !event.detail.shouldSwap) return;
    if (deciding()) event.detail.shouldSwap = false;
    else keep(event.detail.fragment);
  });
  document.addEventListener("htmx:wsAfterMessage", (event) => {
    if (event.target !== page()) return;
    if (wait) settled();
    const head = document.getElementById("p-head");
    if (head && document.title !== head.dataset.title) {
      document.title = head.dataset.title;
      say(head.dataset.word);
    }
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "p-act" || event.target.closest?.("#p-act")) {
      settled();
      // After one's own click the buttons are gone: the way on has the focus, not the top of the page.
      if (document.activeElement === document.body) bar().querySelector("#p-next")?.focus({ preventScroll: true });
      say(document.getElementById("p-head").dataset.word);
    }
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      if (event.target.closest?.("#p-act")) problem("The server did not answer, so it is not certain that your decision arrived. Look at the state above before you decide again.");
    });
  }

  // The moment the time ends the page says so; the server's own word follows over the socket.
  document.addEventListener("clearance:due", (event) => {
    if (!event.target.closest("#p-head")) return;
    const over = document.getElementById("p-over");
    if (!over) return;
    const parts = over.content.cloneNode(true);
    if (deciding()) parts.getElementById("p-act")?.remove();
    else keep(parts);
    for (const part of [...parts.children]) document.getElementById(part.id)?.replaceWith(part);
    settled();
    repulse(page());
    say(document.getElementById("p-head").dataset.word);
  });

  document.querySelectorAll(".long .end").forEach((end) => watcher.observe(end));
  arm();
})();
