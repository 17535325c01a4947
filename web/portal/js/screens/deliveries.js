import { el, replace } from "../dom.js";

export function deliveriesScreen(_portal, place) {
  place.title("Entregas");
  replace(place.root, el("h1", {}, "Entregas"));
}
