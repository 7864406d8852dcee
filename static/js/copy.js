// "Copy" beside a secret that is shown once. Without the right to the clipboard the text is selected, to be copied by hand.
document.querySelectorAll("[data-copy]").forEach((button) => {
  const word = button.querySelector("[data-word]");
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      word.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      word.textContent = "Selected: copy it";
    }
    const say = document.getElementById("say");
    if (say) say.textContent = word.textContent;
  });
});
