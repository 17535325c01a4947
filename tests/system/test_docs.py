"""The documents agree with each other and with the sources: links, citations, messages, the example of a signature."""
import os
import re
from functools import cache
from pathlib import Path

import pytest

from fakes import verify
from support.stack import ROOT

NOT_OURS = {"build", "__pycache__", "node_modules"}


def files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS and (not name.startswith(".") or name == ".ci")]
        yield from (Path(folder, name) for name in names)


@cache
def anchors(document: Path) -> set[str]:
    """The anchors of the document's headings as GitHub makes them: lower case, only letters, digits, _ and -, blanks as hyphens."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.M | re.S)
    seen, result = {}, set()
    for heading in re.findall(r"^#{1,6} +(.*?)\s*$", text, re.M):
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        seen[anchor] = seen.get(anchor, -1) + 1
        result.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
    return result


def leads_nowhere(target: Path, anchor: str) -> bool:
    return not target.exists() or bool(anchor) and anchor not in anchors(target)


def test_every_link_in_a_document_leads_somewhere():
    """Links that begin with / are left out, because they lead to what nginx serves. scripts/build_site.py checks the
    site's links, too."""
    links = [(document, *link) for document in files() if document.suffix == ".md"
             for link in re.findall(r"\]\((?!\w+:|/)([^)#\s]*)(?:#([^)\s]+))?\)", document.read_text())]
    assert len(links) > 100
    assert [(str(document.relative_to(ROOT)), path, anchor) for document, path, anchor in links
            if leads_nowhere(document.parent / path if path else document, anchor)] == []


def test_every_document_and_heading_that_a_source_cites_exists():
    cited = [(file, *citation) for file in files() if file != Path(__file__)
             for citation in re.findall(r"(?<![\w/])((?:web/)?docs/[\w./-]+\.md)(?:#([\w-]+))?", file.read_text(errors="ignore"))]
    assert len(cited) > 50
    assert [(str(file.relative_to(ROOT)), path, anchor) for file, path, anchor in cited
            if leads_nowhere(ROOT / path, anchor)] == []


# Quotations in the documents: «text», with {…} for variable parts.

def quoted(*documents: str) -> list[str]:
    return [text for document in documents for text in re.findall("«([^»]+)»", (ROOT / document).read_text())]


# Marks of a Spanish sentence, which no name, SQL or English log line has.
SPANISH = re.compile(r"(^| )(el|la|los|las|del?|se|es|que|una?|debe|puede|con|por|en|tiene) .* |[áéíóúñ]", re.I)
# The pages that quote the API's messages.
API_PAGES = [f"web/docs/{name}.md" for name in ("errores", "webhooks", "cambiar-el-secreto", "entregas", "diagnostico", "alertas-por-correo")]


def literals(*paths: str) -> list[str]:
    """The string literals of sources; adjacent ones are joined, as the compiler joins them."""
    text = "\n".join((ROOT / path).read_text() for path in paths)
    runs = re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text)
    return ["".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run)).replace('\\"', '"') for run in runs]


NGINX_MESSAGES = "nginx/snippets/apientidades-error-messages.conf"
URL_RULES = "lib/webhook/target_url.cpp"
API_SOURCES = [NGINX_MESSAGES, URL_RULES, "fcgi-app/http/errors.hpp", "fcgi-app/service.cpp", "fcgi-app/http/query.cpp", "fcgi-app/handlers/cursor.cpp", "fcgi-app/over_quota.cpp",
               *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("fcgi-app/handlers/*.?pp"))), "lib/webhook/request_bodies.cpp", "lib/contacts/bodies.cpp",
               "lib/json/json.cpp", "lib/webhook/notification_body.cpp", "lib/webhook/request_bodies.hpp"]
HEALTH = "El servicio está disponible"  # only load balancers read it
SOURCES = [*API_SOURCES, "lib/webhook/event_data.cpp", "dispatcher/fan_out/fan_out_plan.cpp", "lib/store/notifications/rejection.cpp"]
# The texts that `ultimoError` may have.
FAILURES = ["lib/delivery/failure_text.cpp", "lib/delivery/classify.cpp"]
FAILURES_IN_SQL = ["lib/store/maintenance/held.cpp", "lib/store/deliveries/lease_candidates.cpp", "lib/store/cancelled.hpp"]


@pytest.mark.parametrize("document", [*API_PAGES, "web/docs/que-llega.md", "docs/table.md"])
def test_every_message_it_quotes_is_in_the_sources(document):
    known = "\n".join(literals(*SOURCES, *FAILURES))
    messages = quoted(document)
    assert messages
    # Programs compose some messages of parts.
    assert [message for message in messages for part in re.split(r"\{[^}]*\}|: |; ", message)
            if part.strip() not in known] == []


def test_the_reference_of_the_api_has_every_message_about_a_url_and_every_one_of_nginx():
    expected = [text for text in literals(URL_RULES) if text.startswith("url: ")]
    expected += [text for text in literals(NGINX_MESSAGES) if re.match(r"[A-ZÁÉÍÓÚ]\w+ ", text)]
    assert len(expected) > 20
    assert [text for text in expected if text not in quoted(*API_PAGES)] == []


def test_the_pages_have_every_message_of_the_api():
    """The messages of the API and of nginx to clients: errors and confirmations."""
    told = "\n".join(file.read_text() for file in (ROOT / "web/docs").glob("*.md"))
    sentences = [text for text in literals(*API_SOURCES) if SPANISH.search(text)]
    assert len(sentences) > 100
    assert [text for text in sentences if text.strip(" '") not in told and text != HEALTH] == []


def ultimo_error_of_the_programs() -> list[str]:
    texts = [text for text in literals(*FAILURES) if SPANISH.search(text)]
    return texts + [text for path in FAILURES_IN_SQL for text in re.findall(r"'([A-Z][^']{20,})'", (ROOT / path).read_text())]


def without(text: str, parts: list[str]) -> str:
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part.strip(), "")
    return text


def test_the_pages_have_every_ultimo_error_and_what_to_do():
    """Programs compose some messages from parts. Every part is in a message on the page, and the messages on the page consist
    only of such parts, of {…} and of the status 410."""
    section = page("errores").partition("## Errores de la API")[0]
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", section, re.M))
    told = [text for text in rows if text != "`ultimoError`" and not set(text) <= set("-|")]
    parts = ultimo_error_of_the_programs()
    assert len(parts) > 20
    assert [part for part in parts if not any(part.strip() in text for text in told)] == []
    assert [text for text in told if re.sub(r"\{\w+\}|410", "", without(text, parts)).strip()] == []
    assert all(len(remedy) > 3 for remedy in rows.values())


def test_the_operators_page_has_the_same_texts_of_ultimo_error():
    section = (ROOT / "docs/receivers.md").read_text().partition("## What counts as an answer")[0]
    english = {re.sub(r"\b5s\b|\b15s\b", "{tiempo}", text) for text in re.findall(r"^\| .+? \| ([A-Z].+) \|$", section, re.M)}
    assert len(english) > 20
    shown = page("errores")
    variable = {"{puerto}": "25", "{estado}": "500"}
    for name, value in variable.items():
        shown = shown.replace(name, value)
    assert [text for text in english if text.replace("302", "500") not in shown] == []


# The times and limits on the pages are the programs' defaults.

DEFAULTS = [
    ("limits.requests_per_token", "600", "limites", "600 con un token"), ("limits.test_requests_per_token", "30", "limites", "30 de ellas"),
    ("limits.requests_per_address", "1800", "limites", "1800 desde una dirección"),
    ("limits.concurrent_requests_per_address", "100", "limites", "simultáneas desde una dirección | 100"),
    ("limits.pending_test_deliveries", "50", "limites", "sin terminar | 50"), ("limits.test_bytes", "64MiB", "limites", "en un día | 64 MiB"),
    ("limits.replayed", "10000", "limites", "24 horas | 10.000"), ("limits.replay_requests", "60", "limites", "pide una organización en una hora | 60"),
    ("limits.diagnostics", "6", "limites", "pide una organización en una hora | 6 |"),
    ("limits.registrations", "60", "limites", "cambios que hace en ellos y en las alertas por correo | 60"),
    ("limits.contact_codes", "5", "limites", "una organización en un día | 5 |"), ("delivery.timeout", "15s", "limites", "15 segundos"),
    ("delivery.connect_timeout", "5s", "limites", "de ellos 5 para conectar"), ("delivery.max_in_flight_per_webhook", "10", "limites", "hacia un webhook | 10"),
    ("delivery.max_in_flight_per_host", "50", "limites", "sean de quien sean | 50"), ("delivery.max_response", "64KiB", "limites", "su respuesta | 64 KiB"),
    ("delivery.retry_schedule", "5s,5m,30m,2h,5h,10h,14h,20h,24h", "que-llega",
     "5 segundos. Si falla otra vez, 5 minutos después; y luego a los 30 minutos, 2 horas, 5 horas, 10 horas, 14 horas, 20 horas y 24 horas"),
    ("delivery.retry_jitter", "0.2", "que-llega", "un 20 %"), ("delivery.retry_after_max", "24h", "que-llega", "un máximo de 24 horas"),
    ("delivery.probe_interval", "15m", "que-llega", "cada 15 minutos"), ("delivery.disable_after", "5d", "que-llega", "Tras 5 días"),
    ("delivery.disable_after", "5d", "webhooks", "durante 5 días"), ("retention.delivered", "30d", "entregas", "30 días desde que terminan"),
    ("retention.failed", "90d", "entregas", "las fallidas 90 días"), ("retention.tests", "2d", "entregas", "las de prueba, 2 días"),
    ("retention.delivered", "30d", "datos", "terminaron bien, o canceladas | entregarlos y poder reenviarlos | 30 días"),
    ("retention.failed", "90d", "datos", "las demás del mismo aviso | lo mismo | 90 días"),
    ("retention.rejected", "90d", "datos", "que el operador pueda corregirlos | 90 días"),
    ("retention.held", "90d", "datos", "entregarlas si se reactiva | 90 días"), ("retention.tests", "2d", "datos", "que vea cómo llegaron | 2 días"),
    ("retention.audit", "90d", "datos", "poder averiguarlo | 90 días"),
]


@pytest.mark.parametrize("key, default, name, words", DEFAULTS)
def test_times_and_limits_are_the_programs(key, default, name, words):
    assert f"| `{key}` | `{default}` |" in (ROOT / "docs/configuration.md").read_text()
    assert words in page(name)


def test_every_retention_is_told():
    keys = set(re.findall(r"^\| `(retention\.\w+)`", (ROOT / "docs/configuration.md").read_text(), re.M))
    assert keys == {key for key, _, name, _ in DEFAULTS if name == "datos"}


# The signature of the example of a notification.

def page(name: str) -> str:
    return (ROOT / "web/docs" / f"{name}.md").read_text()


def example() -> tuple[str, str]:
    return re.search(r"```http\nPOST .*?\n(.*?)\n\n(.*?)\n```", page("que-llega"), re.S).groups()


def example_secret() -> str:
    return re.search(r'secreto = "(.*)"', page("verificar-la-firma")).group(1)


def test_the_signatures_of_two_secrets_are_those_of_the_example():
    text, body, old = page("cambiar-el-secreto"), example()[1].encode(), example_secret()
    new = re.search(r"mientras `(whsec_.*?)`", text).group(1)
    shown = re.search(r"```http\n(X-Webhook-Signature: .*?)\n```", text, re.S).group(1)
    standard = " ".join(verify.standard_signature(one, "msg_1795168800083_42", "1795168801", body) for one in (new, old))
    assert shown.splitlines() == [f"X-Webhook-Signature: {verify.hub_signature(old, body)}", f"webhook-signature: {standard}",
                                  f"X-Webhook-Signature-Nueva: {verify.hub_signature(new, body)}"]


def test_the_example_of_a_notification_is_signed_as_it_says():
    head, body = example()
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head.splitlines())}
    assert verify.problems(headers, body.encode(), example_secret(), now=int(headers["webhook-timestamp"])) == []
    program = re.search(r"```python\n(.*?)```", page("verificar-la-firma"), re.S).group(1)
    assert body in program and all(headers[name] in program for name in headers if "signature" in name)
    exec(compile(program, "verificar-la-firma.md", "exec"), {})
