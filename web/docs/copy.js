// A button on each block of code, which copies it.
const status = document.getElementById("hecho");

function hiddenText(words) {
  const node = document.createElement("span");
  node.className = "hidden";
  node.textContent = words;
  return node;
}

/** @param {Element} block */
function addButton(block) {
  const scrolls = block.querySelector(".scrolls");
  const words = document.createElement("span");
  const button = document.createElement("button");
  const say = (text) => (words.textContent = text);
  say("Copiar");
  button.type = "button";
  button.append(words, hiddenText(` ${scrolls.getAttribute("aria-label")}`));
  button.addEventListener("click", async () => {
    // Without the last line's end: a terminal would run that line as soon as it is pasted.
    const done = await navigator.clipboard.writeText(scrolls.textContent.trimEnd()).then(() => true, () => false);
    say(done ? "Copiado" : "No se pudo copiar");
    status.textContent = done ? "Copiado" : "No se pudo copiar: selecciónelo a mano";
  });
  button.addEventListener("blur", () => {
    say("Copiar");
    status.textContent = "";
  });
  block.querySelector(".code-head").after(button);
}

document.querySelectorAll(".code").forEach(addButton);
