// What all pages need: the token of forms on requests that scripts send, and words for what went wrong.
"use strict";
document.addEventListener("htmx:configRequest", (event) => {
  const token = document.querySelector('meta[name="csrf-token"]');
  if (token && event.detail.verb !== "get") event.detail.headers["X-CSRF-Token"] = token.content;
});
const showCopies = () => {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
};
document.addEventListener("DOMContentLoaded", showCopies);
document.addEventListener("htmx:afterSwap", showCopies);
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
});
