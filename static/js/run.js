// A run's history, windowed: blocks of a hundred events, of which only those near the view hold their rows, so that ten
// thousand scroll like ten. What happens meanwhile arrives in order and without a gap: the page says which event it has
// last, after every reconnect and whenever a message does not fit (S43). New rows come in above only while the reader
// stands at the top and points at none of them; otherwise a word says how many there are.
(() => {
  "use strict";

  const { hellos, hello, say, sync } = window.Clearance;
  const BLOCK = 100;
  const NEAR = 1200; // px around the view that are filled
  const SETTLE = 60; // ms of rest before what is near is asked for
  const ROW = 34; // px, until rows were measured

  const page = () => document.querySelector('[data-live="run"]');
  const box = document.getElementById("timeline");
  const arriving = document.getElementById("arriving");
  const news = document.getElementById("news");
  const last = () => Number(box.dataset.last);
  const number = (block, name) => Number(block.dataset[name]);
  const blocks = () => [...box.children];
  const near = new Set();
  const asked = new Map(); // block → AbortController
  let pending = []; // [first, last, count] of what is new and not shown, oldest first
  let height = ROW;
  let settling = 0;

  hellos.run = () => ({ after: last(), kind: box.dataset.kind, call: box.dataset.call });

  function parts(base, names) {
    const query = new URLSearchParams(names);
    if (box.dataset.kind) query.set("kind", box.dataset.kind);
    if (box.dataset.call) query.set("call", box.dataset.call);
    return `${base}?${query}`;
  }

  // -- blocks --------------------------------------------------------------------------------------------------------

  function made(first, to, count) {
    const block = document.createElement("ol");
    block.className = "timeline";
    block.reversed = true;
    Object.assign(block.dataset, { first, last: to, count, empty: "yes" });
    block.style.height = `${count * height}px`;
    watch.observe(block);
    return block;
  }

  function measure(block) {
    const count = number(block, "count");
    if (count > 9 && block.offsetHeight) height = Math.max(20, block.offsetHeight / count);
  }

  async function fill(block) {
    if (!block.dataset.empty || asked.has(block)) return;
    const stop = new AbortController();
    asked.set(block, stop);
    try {
      const answer = await fetch(parts(box.dataset.events, { first: block.dataset.first, last: block.dataset.last }), { signal: stop.signal, headers: { "HX-Request": "true" } });
      if (!answer.ok) throw new Error(String(answer.status));
      put(block, await answer.text());
    } catch (error) {
      if (error.name !== "AbortError") trouble(block);
    } finally {
      if (asked.get(block) === stop) asked.delete(block);
    }
  }

  function put(block, html) {
    block.innerHTML = html;
    block.style.height = "";
    delete block.dataset.empty;
    stay();
    block.dispatchEvent(new CustomEvent("clearance:filled", { bubbles: true }));
  }

  function trouble(block) {
    const row = document.createElement("li");
    row.className = "more";
    const again = document.createElement("button");
    again.type = "button";
    again.className = "small";
    again.textContent = `Events ${block.dataset.first} to ${block.dataset.last} could not be loaded. Try again`;
    again.addEventListener("click", () => { block.replaceChildren(); fill(block); });
    row.append(again);
    block.replaceChildren(row);
  }

  function leave(block) {
    asked.get(block)?.abort();
    if (block.dataset.empty || block.contains(document.activeElement) || block.querySelector("details[open]")) return;
    measure(block);
    block.style.height = `${block.offsetHeight}px`;
    block.replaceChildren();
    block.dataset.empty = "yes";
  }

  const watch = new IntersectionObserver((entries) => {
    entries.forEach(({ target, isIntersecting }) => {
      if (isIntersecting) near.add(target);
      else {
        near.delete(target);
        if (target.isConnected) leave(target);
      }
    });
    clearTimeout(settling);
    settling = setTimeout(() => { settling = 0; near.forEach(fill); }, SETTLE);
  }, { root: box, rootMargin: `${NEAR}px 0px` });

  function begin() {
    const shown = box.querySelector(".timeline");
    const place = JSON.parse(box.dataset.blocks);
    shown.dataset.count = String((place.find(([first]) => first === number(shown, "first")) || [0, 0, 0])[2]);
    measure(shown);
    let above = true;
    place.forEach(([first, to, count]) => {
      if (first === number(shown, "first")) above = false;
      else if (!count) return;
      else if (above) shown.before(made(first, to, count));
      else box.append(made(first, to, count));
    });
    watch.observe(shown);
  }

  // -- going to a place ------------------------------------------------------------------------------------------------

  // Where the reader asked to be ("newest", "oldest" or a row) they stay until what lies there has come in, whatever
  // arrives, leaves or still scrolls meanwhile; or until they move themselves.
  let at = null;
  let resting = 0;

  function stay(where = at) {
    at = where instanceof Element && !where.isConnected ? null : where;
    if (!at) return;
    const by = off();
    if (by) box.scrollTop += by;
    if (at instanceof Element) intoView(at);
    // A busy machine draws late, and only what was drawn shows which blocks are near and how high its rows are.
    const mine = ++resting;
    requestAnimationFrame(() => setTimeout(() => {
      if (mine !== resting) return;
      if (asked.size || settling || off()) stay();
      else at = null;
    }, 10 * SETTLE));
  }

  // How far the list is from where the reader asked to be, in px, as far as it can be scrolled.
  function off() {
    const end = box.scrollHeight - box.clientHeight;
    let wanted = at === "newest" ? 0 : end;
    if (at instanceof Element) {
      const view = box.getBoundingClientRect();
      const here = at.getBoundingClientRect();
      wanted = box.scrollTop + here.top - view.top - (view.height - here.height) / 2;
    }
    const by = Math.min(Math.max(wanted, 0), end) - box.scrollTop;
    return Math.abs(by) > 1 ? by : 0;
  }

  box.addEventListener("scroll", () => stay(), { passive: true });
  ["wheel", "touchmove", "pointerdown", "keydown", "focusin"].forEach((name) => box.addEventListener(name, () => { at = null; }, { passive: true }));

  const told = (text) => { document.getElementById("jump-said").textContent = text; };

  function go(seq) {
    const whole = new URL(location.href);
    told("");
    at = null;
    if (seq < 1 || seq > last()) return told(`There are events 1 to ${last()}.`);
    if (pending.length && seq >= pending[0][0]) show();
    const block = blocks().find((one) => number(one, "first") <= seq && seq <= number(one, "last"));
    if (!block) return told(`Event ${seq} is not among these.`);
    const arrive = () => {
      const row = document.getElementById(`event-${seq}`);
      if (!row) {
        whole.search = "";
        whole.hash = `event-${seq}`;
        told(`Event ${seq} is not among these. `);
        const link = document.createElement("a");
        link.href = whole.href;
        link.textContent = "Show it among all";
        document.getElementById("jump-said").append(link);
        return;
      }
      box.querySelector(".is-here")?.classList.remove("is-here");
      row.classList.add("is-here");
      row.querySelector(".seq").focus({ preventScroll: true });
      stay(row);
    };
    block.scrollIntoView({ block: "nearest" });
    if (!block.dataset.empty) return arrive();
    block.addEventListener("clearance:filled", arrive, { once: true });
    box.scrollTop = block.offsetTop - box.offsetTop;
    fill(block);
  }

  function intoView(row) {
    const view = box.getBoundingClientRect();
    const here = row.getBoundingClientRect();
    if (view.bottom < 0 || view.top > innerHeight || here.top > innerHeight) box.scrollIntoView({ block: "nearest" });
  }

  const linked = () => Number((/^#event-(\d{1,15})$/.exec(location.hash) || [])[1]);

  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#event-"]');
    if (link && link.hash === location.hash) {
      event.preventDefault();
      go(linked());
    }
    const way = event.target.closest("#jump [data-to]");
    if (way) {
      const newest = way.dataset.to === "newest";
      if (newest && pending.length) show();
      stay(way.dataset.to);
    }
    if (event.target.closest("#news button")) {
      show();
      box.focus({ preventScroll: true });
      stay("newest");
    }
  });
  document.getElementById("jump").addEventListener("submit", (event) => {
    event.preventDefault();
    const seq = Number(document.getElementById("jump-to").value);
    if (!seq) return told("Type the number of an event.");
    if (linked() === seq) go(seq);
    else location.hash = `event-${seq}`;
  });
  window.addEventListener("hashchange", () => { if (linked()) go(linked()); });

  // The event as it is stored, when somebody wants to see it.
  box.addEventListener("toggle", async (event) => {
    const details = event.target;
    if (!details.open || details.querySelector("pre")) return;
    const seq = details.closest("li").value;
    const answer = await fetch(`${box.dataset.raw}?seq=${seq}`, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (details.querySelector("pre")) return;
    if (answer && answer.ok) details.insertAdjacentHTML("beforeend", await answer.text());
    else {
      details.open = false;
      told(`Event ${seq} could not be loaded. Try again.`);
    }
  }, true);

  // -- what is new -------------------------------------------------------------------------------------------------------

  const atTop = () => box.scrollTop < 8 && !box.querySelector("ol.timeline:hover") && !box.contains(document.activeElement.closest("li"));

  function word() {
    const count = pending.reduce((sum, [, , more]) => sum + more, 0);
    news.hidden = !count;
    news.querySelector("[data-word]").textContent = `${count} new above`;
  }

  function show() {
    pending.forEach(([first, to, count]) => { box.prepend(made(first, to, count)); });
    pending = [];
    word();
  }

  function take(first, to, rows) {
    document.getElementById("timeline-empty").hidden = Boolean(rows.length) || document.getElementById("timeline-empty").hidden;
    if (pending.length || !atTop()) {
      const open = pending.at(-1);
      if (open && open[2] + rows.length <= BLOCK) {
        open[1] = to;
        open[2] += rows.length;
      } else pending.push([first, to, rows.length]);
      if (news.hidden && rows.length) say(`${rows.length} new`);
      return word();
    }
    let top = box.firstElementChild;
    if (top.dataset.empty || number(top, "count") + rows.length > BLOCK) {
      top = made(first, to, 0);
      top.style.height = "";
      delete top.dataset.empty;
      box.prepend(top);
    }
    top.dataset.last = to;
    top.dataset.count = number(top, "count") + rows.length;
    top.prepend(...rows);
    box.scrollTop = 0;
  }

  let message = null;

  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    if (event.target !== page() || event.defaultPrevented) return;
    const held = document.createElement("template");
    held.innerHTML = event.detail.message;
    const rows = held.content.querySelector("[data-from]");
    if (!rows) return;
    if (Number(rows.dataset.from) !== last() + 1) {
      event.preventDefault();
      hello(page());
      return;
    }
    sync(rows.dataset.now);
    box.dataset.last = rows.dataset.to;
    const top = box.getBoundingClientRect().top;
    message = { first: Number(rows.dataset.from), to: Number(rows.dataset.to), groups: JSON.parse(rows.dataset.groups), top };
  });

  document.addEventListener("htmx:wsAfterMessage", (event) => {
    if (event.target !== page() || !message) return;
    const { first, to, groups, top } = message;
    message = null;
    const rows = [...arriving.children];
    arriving.replaceChildren();
    take(first, to, rows);
    // Parts above may have become higher or lower; what is pointed at stays under the pointer as far as the page goes.
    if (box.matches(":hover")) window.scrollBy(0, box.getBoundingClientRect().top - top);
    for (const [key, count] of Object.entries(groups)) {
      document.querySelectorAll(`[data-group="${key}"]`).forEach((place) => { place.textContent = count; });
    }
    document.getElementById("jump").hidden = to < 30;
    const head = document.getElementById("run-head");
    if (head && head.dataset.title) document.title = head.dataset.title;
  });

  begin();
  // Behind the browser's own way to the fragment, which takes the focus back.
  if (linked()) window.addEventListener("load", () => setTimeout(go, 0, linked()));
})();
