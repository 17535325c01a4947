"""Diagnoses of the receivers of examples/, and of copies of them with one mistake each: the diagnosis names the mistake."""
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.diagnosis import diagnose, not_good
from support.example_receivers import COMMANDS, PROGRAMS, require, running

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

SECRET = "contraseña 🔑 de España"
LITERAL = {"nombre": "no_hecha"}  # host_overrides gives the address, so there is no lookup to check
AFTER = dict.fromkeys(["firma_incorrecta", "sin_firma", "fecha_antigua", "repetida", "cuerpo_grande", "tipo_contenido",
                       "cabeceras_mayusculas", "segunda_firma", "evento_desconocido"], "no_hecha")
REWRITES = {"autentica": "mal", **AFTER}


@pytest.mark.parametrize("language", COMMANDS)
def test_a_receiver_of_the_examples_is_good(language, stack, entity):
    require(language)
    with running(language, stack, SECRET) as receiver:
        assert not_good(diagnose(entity, entity.register(secret=SECRET, port=receiver.port))) == LITERAL


@dataclass
class Mistake:
    language: str
    right: str  # the text of the example that `wrong` replaces
    wrong: str
    found: dict[str, str]
    refusal: int = 401  # the answer to an unsigned request


MISTAKES = {
    "verifies JSON.stringify": Mistake(
        "javascript", "webhook.verify(cuerpo, ", "webhook.verify(JSON.stringify(JSON.parse(cuerpo)), ", REWRITES),
    "verifies json_encode": Mistake(
        "php", "file_get_contents('php://input');", "json_encode(json_decode(file_get_contents('php://input')));", REWRITES),
    "verifies what Gson writes": Mistake(
        "java", "new String(bytes, StandardCharsets.UTF_8);", "JsonParser.parseString(new String(bytes, StandardCharsets.UTF_8)).toString();",
        REWRITES),
    "verifies what Express has parsed": Mistake(
        "express", "webhook.verify(peticion.body, ", "webhook.verify(JSON.stringify(JSON.parse(peticion.body)), ", REWRITES),
    "takes any signature": Mistake(
        "php", "!esAutentico($cuerpo)", "!isset($_SERVER['HTTP_X_WEBHOOK_SIGNATURE'])", {"firma_incorrecta": "mal"}),
    "verifies only where there is a signature": Mistake(
        "python", "if not es_autentico", 'if "webhook-signature" in self.headers and not es_autentico', {"sin_firma": "mal"}, 204),
    "takes an old date": Mistake("php", " || !esDeAhora()", "", {"fecha_antigua": "aviso"}),
    "refuses a repetition": Mistake(
        "python", '        guardar(self.headers["webhook-id"], cuerpo)',
        '        if self.headers["webhook-id"] in vistos:\n            return self.responder(409)\n'
        '        guardar(self.headers["webhook-id"], cuerpo)', {"repetida": "aviso"}),
    "takes 10 KB": Mistake("python", "MAXIMO = 1_000_000", "MAXIMO = 10_000", {"cuerpo_grande": "aviso"}),
    "answers late": Mistake(  # delivery.timeout of the shared stack is 2 s
        "python", '        guardar(self.headers["webhook-id"], cuerpo)',
        '        threading.Event().wait(1)\n        guardar(self.headers["webhook-id"], cuerpo)', {"tiempo": "aviso"}),
    "compares Content-Type": Mistake(
        "javascript", '    guardar(peticion.headers["webhook-id"], cuerpo);',
        '    if (peticion.headers["content-type"] !== "application/json") return respuesta.writeHead(415).end();\n'
        '    guardar(peticion.headers["webhook-id"], cuerpo);', {"tipo_contenido": "aviso"}),
    "knows the names of headers in one case": Mistake(
        "javascript", "if (!esAutentico(", 'if (!peticion.rawHeaders.includes("webhook-id") || !esAutentico(', {"cabeceras_mayusculas": "aviso"}),
    "verifies the first signature alone": Mistake(
        "java", "if (!esAutentico(cuerpo, peticion.getRequestHeaders())) {",
        "var primera = new java.util.HashMap<String, List<String>>(peticion.getRequestHeaders());\n"
        '        primera.computeIfPresent("Webhook-signature", (nombre, valores) -> List.of(valores.get(0).split(" ")[0]));\n'
        "        if (!esAutentico(cuerpo, primera)) {", {"segunda_firma": "aviso"}),
    "refuses an event that it does not know": Mistake(
        "java", "        guardar(peticion", '        if (!cuerpo.contains("\\"evento\\":\\"evaluacion.")) {\n            return 400;\n        }\n'
        "        guardar(peticion", {"evento_desconocido": "aviso"}),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_and_has_a_remedy(name, stack, entity):
    mistake = MISTAKES[name]
    require(mistake.language)
    program = PROGRAMS[mistake.language]
    text = program.read_text()
    assert text.count(mistake.right) == 1
    with tempfile.TemporaryDirectory(prefix="apie-example-") as folder:
        copy = Path(folder, program.name)
        copy.write_text(text.replace(mistake.right, mistake.wrong))
        copy.chmod(0o644)
        copy.parent.chmod(0o755)
        with running(mistake.language, stack, SECRET, program=copy, refusal=mistake.refusal) as receiver:
            found = diagnose(entity, entity.register(secret=SECRET, port=receiver.port))
    found.pop("conexion_mantenida")  # a refusal may close the connection
    assert not_good(found) == LITERAL | mistake.found
    if mistake.found == REWRITES:
        assert "la misma, como la escribe" in found["autentica"]["detalle"]
        assert "los bytes recibidos, antes de interpretar el JSON" in found["autentica"]["remedio"]
