import { el, replace } from "../dom.js";

export function deliveryScreen(_portal, place) {
  place.title("Entrega");
  replace(place.root, el("h1", {}, "Entrega"));
}
