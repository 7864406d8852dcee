// An approval that a passkey signs. The challenge comes from the server, made from the digest that this page shows; the
// answer goes into the form of the decision, and the server judges it again with everything else.
(() => {
  "use strict";

  const says = (form, text) => { const place = form.querySelector("[data-sign-says]"); if (place) place.textContent = text; };

  // Before htmx sends: it gathers the fields only when the request is issued.
  document.addEventListener("htmx:confirm", (event) => {
    const form = event.target;
    if (form.id !== "p-decide") return;
    const place = form.querySelector("[data-sign]");
    const button = event.detail.triggeringEvent?.submitter;
    if (!place || button?.value !== "approve" || button.name !== "verdict") return;
    event.preventDefault();
    const buttons = [...form.querySelectorAll("button")].filter((one) => !one.disabled);
    buttons.forEach((one) => { one.disabled = true; });
    says(form, "Your device asks you now.");
    sign(form, place.dataset.sign).then(() => {
      buttons.forEach((one) => { one.disabled = false; });
      if (!form.isConnected) return;
      says(form, "");
      event.detail.issueRequest(true);
    }, (error) => {
      buttons.forEach((one) => { one.disabled = false; });
      form.querySelectorAll("[data-sign-verdict]").forEach((one) => one.remove());
      says(form, error.message);
    });
  });

  async function sign(form, address) {
    const body = new FormData();
    for (const name of ["csrfmiddlewaretoken", "digest", "round"]) body.append(name, form.elements[name].value);
    const { answer, options } = await window.ClearancePasskey.ask("get", address, body, "");
    form.elements.nonce.value = options.nonce;
    form.elements.assertion.value = answer;
    // The device's dialogue took the focus, and with it htmx's memory of which button was pressed.
    const verdict = document.createElement("input");
    verdict.type = "hidden";
    verdict.name = "verdict";
    verdict.value = "approve";
    verdict.dataset.signVerdict = "";
    form.append(verdict);
  }
})();
