// Tells the server in which zone this person reads times (used where their account has none of its own), and offers it
// where a zone is chosen.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
document.querySelectorAll('input[name="zone"]').forEach((field) => {
  field.value = zone;
});
document.querySelectorAll("[data-zone-offer]").forEach((offer) => {
  const choice = document.querySelector('select[name="time_zone"]');
  const known = [...choice.options].some((option) => option.value === zone);
  if (!known || choice.value === zone) return;
  offer.querySelector("b").textContent = zone;
  offer.querySelector("button").addEventListener("click", () => {
    choice.value = zone;
    choice.focus();
  });
  offer.hidden = false;
});
