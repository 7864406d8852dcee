// What waits is counted in the icon of the tab, and in the title of one that is hidden. If the reader chose so in this
// browser: a notification while the tab is hidden, a tone while nobody looks. Nothing while somebody does.
(() => {
  "use strict";

  const ASIDE = 1000; // ms in which another tab of the same browser may say that it was told, or is looked at
  const KEY = "clearance.arrivals.";
  const dialog = document.getElementById("arrivals");
  const icon = document.querySelector('link[rel="icon"]');
  const plain = icon.href;
  const looking = () => !document.hidden && document.hasFocus();

  // A browser may refuse to keep anything; then nothing is chosen.
  const store = {
    read(name) { try { return localStorage.getItem(KEY + name); } catch { return null; } },
    write(name, value) { try { localStorage.setItem(KEY + name, value); } catch { /* not kept */ } },
  };
  const chosen = (name) => store.read(name) === "yes";

  // -- Counts ------------------------------------------------------------------------------------------------------

  const counted = () => parseInt(document.querySelector('.nav [data-count="mine"]')?.textContent.replace(",", ""), 10) || 0;
  let last = counted();
  let came = 0; // since the tab was looked at last

  function showIcon(count) {
    const name = count > 9 ? "many" : String(count);
    const wanted = count ? new URL(`count/${name}.svg`, plain).href : plain;
    if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
  }

  function showTitle() {
    const bare = document.title.replace(/^\(\d+ new\) /, "");
    const wanted = came && document.hidden ? `(${came} new) ${bare}` : bare;
    if (document.title !== wanted) document.title = wanted;
  }
  new MutationObserver(showTitle).observe(document.querySelector("title"), { childList: true });

  // -- Telling -----------------------------------------------------------------------------------------------------

  const tone = () => new Audio(dialog.dataset.sound).play().catch(() => {}); // a browser may want a click first

  function notify(count) {
    const words = count === 1 ? "1 new proposal waits for you" : `${count} new proposals wait for you`;
    const shown = new Notification(words, { tag: "clearance-arrivals", icon: dialog.dataset.icon, silent: true });
    shown.addEventListener("click", () => {
      window.focus();
      shown.close();
    });
  }

  function tell() {
    if (looking() || Date.now() - Number(store.read("told")) < 2 * ASIDE) return;
    store.write("told", String(Date.now()));
    if (document.hidden && chosen("notify") && window.Notification?.permission === "granted") notify(came);
    if (chosen("sound")) tone();
  }

  document.addEventListener("clearance:counts", () => {
    const count = counted();
    const more = count - last;
    last = count;
    showIcon(count);
    if (more <= 0) return;
    if (looking()) {
      store.write("told", String(Date.now())); // whoever looks at one tab needs no word from the others
      return;
    }
    came += more;
    showTitle();
    setTimeout(tell, ASIDE);
  });

  for (const [target, name] of [[document, "visibilitychange"], [window, "focus"]]) {
    target.addEventListener(name, () => {
      if (!looking()) return;
      came = 0;
      showTitle();
    });
  }

  // -- Choosing ----------------------------------------------------------------------------------------------------

  const box = (name) => dialog.querySelector(`[data-set="${name}"]`);
  const refused = dialog.querySelector("[data-refused]");

  function choose(name, yes) {
    store.write(name, yes ? "yes" : "no");
    box(name).checked = yes;
  }

  box("notify").checked = chosen("notify") && window.Notification?.permission === "granted";
  box("sound").checked = chosen("sound");
  // Asked for here and nowhere else: by a click on the setting.
  box("notify").addEventListener("change", async (event) => {
    refused.hidden = true;
    if (!event.target.checked) {
      choose("notify", false);
      return;
    }
    const answer = window.Notification ? await Notification.requestPermission() : "denied";
    choose("notify", answer === "granted");
    refused.hidden = answer === "granted";
  });
  box("sound").addEventListener("change", (event) => {
    choose("sound", event.target.checked);
    if (event.target.checked) tone();
  });

  showIcon(last);
})();
