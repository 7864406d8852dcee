// Rows of the list that are chosen to be decided together: how many, and what they come to. The server judges anew.
(() => {
  "use strict";

  const bar = document.getElementById("chosen-bar");
  if (!bar) return;
  const word = bar.querySelector("[data-word]");
  const boxes = () => [...document.querySelectorAll('#rows input[name="id"]')];

  // Whole minor units are added up as they are; the point is put in as text.
  function told(minor, digits, currency) {
    const text = String(minor).padStart(digits + 1, "0");
    const whole = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    return `${whole}${digits ? `.${text.slice(-digits)}` : ""} ${currency}`;
  }

  function tell() {
    const chosen = boxes().filter((box) => box.checked);
    bar.hidden = chosen.length === 0;
    const sums = new Map();
    for (const { dataset } of chosen) {
      if (!dataset.minor) continue;
      const before = sums.get(dataset.currency);
      sums.set(dataset.currency, { digits: Number(dataset.digits), minor: (before ? before.minor : 0n) + BigInt(dataset.minor) });
    }
    const amounts = [...sums].map(([currency, sum]) => told(sum.minor, sum.digits, currency));
    const tools = new Set(chosen.map((box) => box.dataset.tool));
    word.textContent = `${chosen.length} chosen${amounts.length ? `: ${amounts.join(" and ")}` : ""}`;
    bar.querySelector("button").disabled = tools.size > 1;
    bar.querySelector("[data-differ]").hidden = tools.size < 2;
  }

  document.addEventListener("change", (event) => { if (event.target.name === "id") tell(); });
  for (const name of ["htmx:afterSettle", "clearance:counts"]) document.addEventListener(name, tell);
  bar.querySelector("[data-none]").addEventListener("click", () => {
    boxes().forEach((box) => { box.checked = false; });
    tell();
  });
  addEventListener("pageshow", tell);
  tell();
})();
