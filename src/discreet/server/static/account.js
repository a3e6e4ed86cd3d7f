// Passkeys: the browser asks the device, the server checks.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const status = document.getElementById("passkey-status");
  const token = document.querySelector('meta[name="csrf-token"]');
  if (!status || !token) return;
  const send = async (address, body) => {
    const headers = {"X-CSRF-Token": token.content, "Content-Type": "application/json"};
    const reply = await fetch(address, {method: "POST", headers, body: body === undefined ? "" : JSON.stringify(body)});
    if (!reply.ok) throw new Error((await reply.json()).title);
    return reply;
  };
  const ways = {
    register: async () => {
      const options = await (await send("/passkeys/options")).json();
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
      await send("/passkeys", (await navigator.credentials.create({publicKey})).toJSON());
      status.textContent = "The passkey was added.";
    },
    confirm: async () => {
      const options = await (await send("/sign-in/passkey/options")).json();
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
      await send("/sign-in/passkey", (await navigator.credentials.get({publicKey})).toJSON());
      location.reload();
    },
  };
  for (const button of document.querySelectorAll("[data-passkey]")) {
    button.addEventListener("click", async () => {
      status.textContent = "Waiting for your device …";
      try {
        await ways[button.dataset.passkey]();
      } catch (error) {
        status.textContent = `It did not work: ${error.message}`;
      }
    });
  }
});
