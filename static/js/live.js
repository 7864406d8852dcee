// WebSockets of live pages, on top of htmx's extension: who connects says what it has, silence is noticed, and a page
// that is not live says so. Elements with ws-connect carry data-live: inbox, proposal, run, runs.
(() => {
  "use strict";

  const { sync, time } = window.Clearance;
  const SILENCE = 45000; // the server beats every 20 s
  const SIGNED_OUT = 4401;
  const GONE = 4404;
  const hellos = {}; // kind → (element) → what to send when the socket opens
  const sockets = new Map(); // element → {socket, wrapper, heard, cutAt}

  function say(text) {
    const place = document.getElementById("say");
    if (place && place.textContent !== text) place.textContent = text;
  }

  // The mark may stand in a part that is exchanged, so what it says is kept with the socket and said again.
  function pulse(element, state, text, link) {
    const entry = sockets.get(element);
    if (entry) entry.pulse = [state, text, link];
    const place = element.querySelector("[data-pulse]");
    if (!place) return;
    place.classList.toggle("is-live", state === "live");
    place.classList.toggle("is-cut", state === "cut");
    const word = place.querySelector("[data-word]");
    word.textContent = text;
    if (link) {
      const anchor = document.createElement("a");
      anchor.href = link;
      anchor.textContent = "Sign in";
      word.append(" ", anchor);
    }
  }

  function repulse(element) {
    const entry = sockets.get(element);
    if (entry && entry.pulse) pulse(element, ...entry.pulse);
  }

  function cut(element, entry) {
    if (!entry.cutAt) {
      entry.cutAt = new Date();
      say("The page is not live any more; trying to connect again.");
    }
    pulse(element, "cut", `Not live since ${time(entry.cutAt)}, reconnecting`);
  }

  function hello(element) {
    const entry = sockets.get(element);
    const make = hellos[element.dataset.live];
    if (entry && entry.open && make) entry.wrapper.send(JSON.stringify(make(element)), element);
  }

  htmx.config.wsReconnectDelay = (tries) => 200 + Math.random() * Math.min(8000, 400 * 2 ** tries);

  // Something was stopped or let go; a little apart, so that many pages do not ask in one instant.
  function askForStops() {
    if (document.getElementById("stopped")) htmx.trigger("#stopped", "look");
  }

  // The banner of what is stopped asks for itself: an error page has no place in it, and what it says stays.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.target.id === "stopped" && event.detail.xhr.status !== 200) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:wsOpen", (event) => {
    const element = event.target;
    const entry = { ...(sockets.get(element) || {}), socket: event.detail.event.target, wrapper: event.detail.socketWrapper, heard: Date.now(), open: true };
    if (entry.cutAt) say("The page is live again.");
    entry.cutAt = null;
    sockets.set(element, entry);
    pulse(element, "live", "Live");
    hello(element);
  });

  document.addEventListener("htmx:wsClose", (event) => {
    const element = event.target;
    const entry = sockets.get(element) || {};
    const closed = event.detail.event;
    if (entry.socket && entry.socket !== closed.target) return; // an older socket that was replaced
    entry.open = false;
    sockets.set(element, entry);
    if (closed.code === SIGNED_OUT) {
      pulse(element, "cut", "Not live: you are signed out.", `/sign-in/?next=${encodeURIComponent(location.pathname + location.search)}`);
      say("You are signed out.");
    } else if (closed.code === GONE) {
      pulse(element, "cut", "Not live: this is not here for you any more.");
    } else {
      cut(element, entry);
      // The extension reconnects after a break of its own list only.
      if (![1006, 1011, 1012, 1013].includes(closed.code) && element.isConnected && entry.wrapper) {
        setTimeout(() => element.isConnected && entry.wrapper.reconnect(), htmx.config.wsReconnectDelay(0));
      }
    }
  });

  document.addEventListener("htmx:wsError", (event) => {
    const entry = sockets.get(event.target) || {};
    sockets.set(event.target, entry);
    if (!entry.open) cut(event.target, entry);
  });

  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    const entry = sockets.get(event.target);
    if (entry) entry.heard = Date.now();
    const told = /data-now="([^"]+)"/.exec(event.detail.message.slice(0, 400));
    if (told) sync(told[1]);
    if (event.detail.message.startsWith("<template data-beat data-stops")) setTimeout(askForStops, Math.random() * 300);
    if (event.detail.message.startsWith("<template data-beat")) event.preventDefault();
  });

  document.addEventListener("htmx:wsAfterMessage", (event) => repulse(event.target));
  document.addEventListener("htmx:afterSettle", (event) => {
    const element = event.target.closest("[data-live]");
    if (element) repulse(element);
  });

  // A cable pulled out closes nothing: after long silence the socket counts as cut.
  setInterval(() => {
    sockets.forEach((entry, element) => {
      if (!element.isConnected) sockets.delete(element);
      else if (entry.open && Date.now() - entry.heard > SILENCE) {
        entry.open = false;
        cut(element, entry);
        entry.socket = null;
        entry.wrapper.reconnect();
      }
    });
  }, 5000);

  // Parts that say the same as before stay untouched: no flicker, no lost focus, nothing typed is lost.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const next = event.detail.fragment.firstElementChild;
    if (next && next.dataset.sig && next.dataset.sig === event.detail.target.dataset.sig) event.detail.shouldSwap = false;
  });

  Object.assign(window.Clearance, { hellos, hello, say, repulse });
})();
