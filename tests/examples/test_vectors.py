"""Checks examples/vectores/vectores.json: the script vectores.py in the same folder writes exactly this file, and the tests' own
verifier (tests/fakes/verify.py) gives the verdicts that the file expects."""
import json
import subprocess

import pytest

from fakes import verify
from support.stack import ROOT

FOLDER = ROOT / "examples/vectores"
FILE = json.loads((FOLDER / "vectores.json").read_text())
VECTORS = FILE["vectores"]


def script(*options: str) -> bytes:
    return subprocess.run(["/usr/bin/python3", "-I", FOLDER / "vectores.py", *options], capture_output=True, check=True, timeout=30).stdout


def test_the_file_is_what_the_script_writes_byte_for_byte():
    assert script() == (FOLDER / "vectores.json").read_bytes()


def test_vectors_of_another_time_have_the_same_cases():
    later = json.loads(script("--ahora", "1900000000"))
    assert later["ahora"] == 1900000000
    assert [(v["nombre"], v["esperado"], v["cuerpo"]) for v in later["vectores"]] == [(v["nombre"], v["esperado"], v["cuerpo"]) for v in VECTORS]
    assert judge(later) == judge(FILE)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["nombre"])
def test_the_verifier_takes_and_refuses_what_it_says(vector):
    assert taken(vector, FILE["ahora"]) == vector["esperado"]


def judge(file: dict) -> list:
    return [taken(vector, file["ahora"]) for vector in file["vectores"]]


def taken(vector: dict, now: int) -> dict:
    """For each of the two signatures, the verdict of a receiver that checks only that signature."""
    headers, body = {name.lower(): value for name, value in vector["cabeceras"].items()}, vector["cuerpo"].encode()
    new = {**headers, "x-webhook-signature": headers.get("x-webhook-signature-nueva", headers.get("x-webhook-signature", ""))}
    found = [set(verify.problems(those, body, secret, now)) for secret in vector["secretos"] for those in (headers, new)]
    other = {"webhook-signature": "x-webhook-signature does not match", "X-Webhook-Signature": "webhook-signature does not match"}
    return {name: "aceptar" if any(problems <= {passed_over} for problems in found) else "rechazar" for name, passed_over in other.items()}


def test_they_cover_what_receivers_get_wrong():
    texts = " ".join(secret for vector in VECTORS for secret in vector["secretos"])
    assert "whsec_" in texts and "ñ" in texts and "🔑" in texts
    assert {tuple(vector["esperado"].values()) for vector in VECTORS} >= {("aceptar", "aceptar"), ("rechazar", "rechazar"), ("rechazar", "aceptar")}
    assert all(vector["porque"] and vector["nombre"] for vector in VECTORS) and len({v["nombre"] for v in VECTORS}) == len(VECTORS)
    assert len({vector["cabeceras"].get("webhook-id") for vector in VECTORS}) >= len(VECTORS) - 1, "none is taken for a repetition"
