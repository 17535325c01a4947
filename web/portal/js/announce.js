// Tells screen readers what has changed, in the live region of the page.

let timer = 0;

/** @param {string} text said once what is being said has ended */
export function announce(text) {
  const region = document.getElementById("anuncios");
  if (!region) return;
  clearTimeout(timer);
  region.textContent = "";
  // An emptied region that is filled in the same breath is not announced when the words are the same as before.
  timer = setTimeout(() => (region.textContent = text), 50);
}
