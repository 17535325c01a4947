// Tells screen readers what has changed, in the live region of the page.
import { visible } from "./visible.js";

let timer = 0;

/** @param {string} text said once the screen reader has finished what it is saying */
export function announce(text) {
  const region = document.getElementById("anuncios");
  if (!region) return;
  clearTimeout(timer);
  region.textContent = "";
  // If the region is emptied and filled at once, screen readers ignore words that are the same as before.
  timer = setTimeout(() => (region.textContent = visible(text)), 50);
}
