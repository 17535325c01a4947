import { el, replace } from "../dom.js";
import { link } from "../router.js";

export function missingScreen(_portal, place) {
  place.title("No existe");
  replace(place.root, el("h1", {}, "Esta página no existe"), el("p", {}, "La dirección no lleva a ninguna parte del portal. ", el("a", { href: link("/") }, "Ir al resumen")));
}
