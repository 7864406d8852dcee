// Passkeys: fetches what to ask from the server, asks the browser, and puts the answer into the form. The server judges.
(() => {
  "use strict";

  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  // Written out, because not every browser of the last years reads and writes these as JSON by itself.
  function asked(options) {
    const known = (list) => (list || []).map((one) => ({ ...one, id: bytes(one.id) }));
    const made = { ...options, challenge: bytes(options.challenge) };
    if (options.user) made.user = { ...options.user, id: bytes(options.user.id) };
    if (options.excludeCredentials) made.excludeCredentials = known(options.excludeCredentials);
    if (options.allowCredentials) made.allowCredentials = known(options.allowCredentials);
    return made;
  }

  function answered(credential) {
    const response = {};
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[name]) response[name] = text(credential.response[name]);
    }
    return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response, clientExtensionResults: {} });
  }

  function why(error) {
    if (error.name === "NotAllowedError") return "The device was not asked to its end, or it took too long. Nothing was recorded; try again.";
    if (error.name === "InvalidStateError") return "This device has a passkey here already.";
    if (error.name === "SecurityError") return "This address cannot use passkeys. Open the page under the name that the installation is set up with.";
    return `The passkey could not be used (${error.message || error.name}). Nothing was recorded.`;
  }

  // Resolves with the answer as text, or throws an Error whose message is a sentence.
  async function ask(kind, address, body, origin) {
    if (!window.PublicKeyCredential) throw new Error("This browser knows no passkeys, or the page is not served by https.");
    if (origin && origin !== location.origin) throw new Error(`Passkeys belong to ${origin}. This page was opened as ${location.origin}: open it there.`);
    const sent = await fetch(address, { method: "POST", body, credentials: "same-origin" });
    const options = await sent.json().catch(() => ({}));
    if (!sent.ok) throw new Error(options.message || "The server did not answer. Nothing was recorded; try again.");
    if (!options.publicKey) throw new Error("The server did not ask for a passkey; your session may have ended. Load the page again.");
    let credential;
    try {
      credential = await navigator.credentials[kind]({ publicKey: asked(options.publicKey) });
    } catch (error) {
      throw new Error(why(error));
    }
    return { answer: answered(credential), options };
  }

  window.ClearancePasskey = { ask };

  document.querySelectorAll("[data-passkey]").forEach((button) => {
    const form = button.closest("form");
    const says = form.querySelector("[data-passkey-says]");
    form.querySelector("[data-passkey-none]").hidden = true;
    button.hidden = false;
    // Enter in a field of this form means the button, not a form without an answer.
    form.addEventListener("submit", (event) => {
      if (form.elements.response.value || event.submitter) return;
      event.preventDefault();
      button.click();
    });
    button.addEventListener("click", async () => {
      button.disabled = true;
      says.textContent = "Your device asks you now.";
      try {
        const body = new FormData();
        body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
        form.elements.response.value = (await ask(button.dataset.passkey, button.dataset.options, body, button.dataset.origin)).answer;
        form.submit();
      } catch (error) {
        says.textContent = error.message;
        button.disabled = false;
      }
    });
  });
})();
