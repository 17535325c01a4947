"""The documents are true to each other and to the sources: links, citations, messages, the example of a signature."""
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
    """Of its headings, as GitHub makes them: lower case, nothing but letters, digits, _ and -, blanks as hyphens."""
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
    links = [(document, *link) for document in files() if document.suffix == ".md"
             for link in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", document.read_text())]
    assert len(links) > 100
    assert [(str(document.relative_to(ROOT)), path, anchor) for document, path, anchor in links
            if leads_nowhere(document.parent / path if path else document, anchor)] == []


def test_every_document_and_heading_that_a_source_cites_exists():
    cited = [(file, *citation) for file in files() if file != Path(__file__)
             for citation in re.findall(r"\b(docs/[\w./-]+\.md)(?:#([\w-]+))?", file.read_text(errors="ignore"))]
    assert len(cited) > 50
    assert [(str(file.relative_to(ROOT)), path, anchor) for file, path, anchor in cited
            if leads_nowhere(ROOT / path, anchor)] == []


# What the documents quote: «text», with {…} for what changes.

def quoted(document: str) -> list[str]:
    return re.findall("«([^»]+)»", (ROOT / document).read_text())


def literals(*paths: str) -> list[str]:
    """The string literals of sources, those side by side as the one that they are."""
    text = "\n".join((ROOT / path).read_text() for path in paths)
    runs = re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text)
    return ["".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run)).replace('\\"', '"') for run in runs]


NGINX_MESSAGES = "nginx/snippets/apientidades-error-messages.conf"
URL_RULES = "lib/webhook/target_url.cpp"
SOURCES = [NGINX_MESSAGES, URL_RULES, "fcgi-app/errors.hpp", "fcgi-app/service.cpp", "fcgi-app/query.cpp", "fcgi-app/cursor.cpp",
           *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("fcgi-app/handlers/*.?pp"))), "lib/webhook/registration.cpp",
           "lib/webhook/json.cpp", "lib/webhook/notification_body.cpp", "lib/webhook/event_data.cpp", "lib/webhook/registration.hpp",
           "dispatcher/intake/fan_out.cpp", "lib/store/notifications/quarantine.cpp"]


@pytest.mark.parametrize("document", ["docs/api.md", "docs/notificacion.md", "docs/table.md"])
def test_every_message_it_quotes_is_in_the_sources(document):
    known = "\n".join(literals(*SOURCES))
    messages = quoted(document)
    assert messages
    # A program puts some of them together from parts.
    assert [message for message in messages for part in re.split(r"\{[^}]*\}|: |; ", message)
            if part.strip() not in known] == []


def test_the_reference_of_the_api_has_every_message_about_a_url_and_every_one_of_nginx():
    expected = [text for text in literals(URL_RULES) if text.startswith("url: ")]
    expected += [text for text in literals(NGINX_MESSAGES) if re.match(r"[A-ZÁÉÍÓÚ]\w+ ", text)]
    assert len(expected) > 20
    assert [text for text in expected if text not in quoted("docs/api.md")] == []


def test_the_events_are_the_same_in_both_languages():
    types = {"entero": "int", "cadena": "string", "número": "number", "fecha": "date", "fecha y hora": "date-time",
             "fecha o fecha y hora": "date or date-time"}

    def events(document: str) -> list[tuple[str, list[list[str]]]]:
        rows = re.findall(r"^\| `([a-z]+\.[a-z_]+)` \| [^|]+ \| (.+) \|$", (ROOT / document).read_text(), re.M)
        return [(event, [list(field) for field in re.findall(r"`(\w+)` ([^,]+)", fields)]) for event, fields in rows]

    english, spanish = events("docs/events.md"), events("docs/notificacion.md")
    assert len(english) == 11
    assert [(event, [[name, types[kind]] for name, kind in fields]) for event, fields in spanish] == english


def test_the_signatures_of_two_secrets_are_those_of_the_example():
    text = (ROOT / "docs/notificacion.md").read_text()
    body = re.search(r"```http\nPOST .*?\n\n(.*?)\n```", text, re.S).group(1).encode()
    old, new = re.search(r'secreto = "(.*)"', text).group(1), re.search(r"mientras `(whsec_.*?)`", text).group(1)
    shown = re.search(r"```http\n(X-Webhook-Signature: .*?)\n```", text, re.S).group(1)
    standard = " ".join(verify.standard_signature(one, "msg_1795168800083_42", "1795168801", body) for one in (new, old))
    assert shown.splitlines() == [f"X-Webhook-Signature: {verify.hub_signature(old, body)}", f"webhook-signature: {standard}",
                                  f"X-Webhook-Signature-Nueva: {verify.hub_signature(new, body)}"]


def test_the_example_of_a_notification_is_signed_as_it_says():
    text = (ROOT / "docs/notificacion.md").read_text()
    head, body = re.search(r"```http\nPOST .*?\n(.*?)\n\n(.*?)\n```", text, re.S).groups()
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head.splitlines())}
    secret = re.search(r'secreto = "(.*)"', text).group(1)
    assert verify.problems(headers, body.encode(), secret, now=int(headers["webhook-timestamp"])) == []
    exec(compile(re.search(r"```python\n(.*?)```", text, re.S).group(1), "docs/notificacion.md", "exec"), {})
