// Tells the server in which zone this person reads times (used where their account has none of its own).
document.querySelectorAll('input[name="zone"]').forEach((field) => {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
});
