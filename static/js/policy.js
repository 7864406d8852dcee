// The text of a draft: line numbers beside it, a finding's place at a click, and a word before unsaved text is left.
(() => {
  const source = document.getElementById("source");
  if (!source) return;
  const gutter = document.createElement("pre");
  gutter.className = "gutter";
  gutter.setAttribute("aria-hidden", "true");
  source.before(gutter);
  let shown = 0;
  const number = () => {
    const count = source.value.split("\n").length;
    if (count !== shown) gutter.textContent = Array.from({ length: count }, (_, at) => at + 1).join("\n");
    shown = count;
    gutter.scrollTop = source.scrollTop;
  };
  source.addEventListener("input", number);
  source.addEventListener("scroll", () => { gutter.scrollTop = source.scrollTop; });
  number();

  document.addEventListener("click", (event) => {
    const place = event.target.closest("[data-line]");
    if (!place) return;
    event.preventDefault();
    const lines = source.value.split("\n");
    const line = Math.min(Number(place.dataset.line), lines.length);
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    source.focus();
    // Columns count characters, selections their halves too.
    const before = Array.from(lines[line - 1]).slice(0, Number(place.dataset.column) - 1).join("").length;
    source.setSelectionRange(start + before, start + lines[line - 1].length);
    source.scrollTop = Math.max(0, (line - 4) * (source.scrollHeight / lines.length));
  });

  const unsaved = document.getElementById("unsaved");
  let dirty = unsaved ? unsaved.textContent.trim() !== "" : false;
  source.addEventListener("input", () => { dirty = true; });
  source.form.addEventListener("submit", () => { dirty = false; });
  window.addEventListener("beforeunload", (event) => { if (dirty) event.preventDefault(); });
})();
