import { el, replace } from "../dom.js";

export function summaryScreen(_portal, place) {
  place.title("Resumen");
  replace(place.root, el("h1", {}, "Resumen"));
}
