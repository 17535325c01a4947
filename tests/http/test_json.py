"""A body that is no JSON, or that two readers might read differently, gets 400 with the reason, at once, and has no effect."""
import json
import time

import pytest

from support.actors import BASE, Entity

PATIENCE = 5  # an answer may take this many seconds on a busy machine
GOOD = b'"url": "https://example.com/", "eventos": ["evaluacion.abierta"], "evento": "evaluacion.abierta"'


def around(value: bytes) -> bytes:
    """Returns a body that POST /webhooks and POST /webhooks/test would accept if `value` were valid."""
    return b'{"datosExtra": {"x": ' + value + b"}, " + GOOD + b"}"


WHOLE = b"{" + GOOD + b"}"
SURROGATE, BIG, UTF8, DEEP, AFTER = "sustituto", "demasiado grande", "UTF-8", "32 niveles", "sobra"
REPEATED, ESCAPE, EXPECTED, OBJECT = "repite", "escape", "se esperaba", "objeto JSON"
BODIES = {
    # Depth.
    "deep lists": (around(b"[" * 30_000), DEEP), "deep objects": (around(b'{"a":' * 12_000), DEEP),
    "deep and closed": (around(b"[" * 30_000 + b"]" * 30_000), DEEP), "33 levels": (around(b"[" * 31 + b"]" * 31), DEEP),
    "only deep": (b"[" * 65_000, DEEP),
    # Names that come twice.
    "a repeated name": (around(b'{"a": 1, "a": 1}'), REPEATED), "also escaped": (around(b'{"a": 1, "\\u0061": 2}'), REPEATED),
    "at the top": (b'{"url": "https://a.example.com/", ' + GOOD + b"}", REPEATED),
    "thousands of times": (around(b"{" + b'"k":0,' * 10_000 + b'"k":0}'), REPEATED),
    # Numbers.
    "9e308": (around(b"9e308"), BIG), "-1e309": (around(b"-1e309"), BIG), "1e999999999999": (around(b"1e999999999999"), BIG),
    "an integer of 60000 digits": (around(b"9" * 60_000), BIG), "1e2147483648": (around(b"1e2147483648"), BIG),
    "01": (around(b"01"), "coma"), "+1": (around(b"+1"), EXPECTED), ".5": (around(b".5"), EXPECTED), "1.": (around(b"1."), "cifras"),
    "1e": (around(b"1e"), "exponente"), "0x1": (around(b"0x1"), "coma"), "NaN": (around(b"NaN"), EXPECTED),
    "Infinity": (around(b"Infinity"), EXPECTED), "-Infinity": (around(b"-Infinity"), EXPECTED),
    # Text.
    "a lone high surrogate": (around(b'"\\ud800"'), SURROGATE), "before a letter": (around(b'"\\ud800a"'), SURROGATE),
    "two high ones": (around(b'"\\ud800\\ud800"'), SURROGATE), "a lone low one": (around(b'"\\udc00"'), SURROGATE),
    "the wrong way round": (around(b'"\\udc00\\ud800"'), SURROGATE), "in a name": (around(b'{"\\udfff": 1}'), SURROGATE),
    "a surrogate in UTF-8": (around(b'"\xed\xa0\x80"'), UTF8), "a byte of no character": (around(b'"\xff"'), UTF8),
    "Latin-1": (around(b'"\xf1"'), UTF8), "an overlong form": (around(b'"\xc0\xaf"'), UTF8),
    "beyond Unicode": (around(b'"\xf4\x90\x80\x80"'), UTF8), "cut in a character": (b'{"url": "\xc3', UTF8),
    "a NUL": (around(b'"a\0b"'), "byte cero"), "a line break": (around(b'"a\nb"'), ESCAPE), "a tab": (around(b'"\t"'), ESCAPE),
    "\\x": (around(b'"\\x41"'), ESCAPE), "\\u12": (around(b'"\\u12"'), "hexadecimales"), "no end": (b'{"url": "a', "comilla"),
    # Encodings.
    "a byte-order mark": (b"\xef\xbb\xbf" + WHOLE, "BOM"), "UTF-16": (WHOLE.decode().encode("utf-16"), UTF8),
    "UTF-16LE": (WHOLE.decode().encode("utf-16-le"), UTF8), "UTF-16BE": (WHOLE.decode().encode("utf-16-be"), UTF8),
    "UTF-32": (WHOLE.decode().encode("utf-32"), UTF8), "UTF-32BE": (WHOLE.decode().encode("utf-32-be"), UTF8),
    # Text after the value, or missing text.
    "two values": (WHOLE + WHOLE, AFTER), "a NUL after": (WHOLE + b"\0", AFTER), "a comma after": (WHOLE + b",", AFTER),
    "a comment": (WHOLE + b"//", AFTER), "a NUL and more": (WHOLE + b"\0" + WHOLE, AFTER), "nothing": (b"", "vac"),
    "white space": (b" \r\n\t", "vac"), "a NUL alone": (b"\0", UTF8), "half": (WHOLE[:-1], "llave"), "form": (b"url=a", EXPECTED),
    "single quotes": (b"{'url': 1}", "comillas"), "a comma too many": (b"{" + GOOD + b",}", "comillas"),
    "XML": (b"<url>https://example.com/</url>", EXPECTED),
    # JSON that is not an object.
    "a list": (b"[" + WHOLE + b"]", OBJECT), "null": (b"null", OBJECT), "true": (b"true", OBJECT), "a number": (b"1e5", OBJECT),
    "a string": (json.dumps(WHOLE.decode()).encode(), OBJECT),
}


@pytest.fixture(scope="module")
def member(stack, receiver):
    member = Entity(stack, receiver)
    member.hook = member.register(["evaluacion.abierta"])
    yield member
    assert [w["id"] for w in member.api("GET", BASE).json()] == [member.hook.id], "something was registered"
    assert stack.admin("notification", "list", "--entity", member.id) == [], "something was queued"


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", [BASE, BASE + "/test"], ids=["webhooks", "test"])
def test_a_bad_body_is_400_at_once_with_the_reason(member, path, name):
    body, reason = BODIES[name]
    started = time.monotonic()
    response = member.api("POST", path, body=body)
    assert time.monotonic() - started < PATIENCE
    assert response.status == 400, response
    assert reason in response.message and len(response.message) < 200 and "example" not in response.message


def test_extra_data_too_deep_for_the_database(member):
    body = b'{"evento": "evaluacion.abierta", "datosExtra": ' + b'{"a":' * 31 + b"1" + b"}" * 32
    response = member.api("POST", BASE + "/test", body=body)
    assert response.status == 400 and response.message.startswith("datosExtra: ")


@pytest.mark.parametrize("body", [
    b"[" * 2**20, b" " * 2**20, around(b'"' + b"a" * 2**20 + b'"'), around(b"9" * 2**20), b"\0" * 2**20,
], ids=["lists", "blanks", "a string", "a number", "zeros"])
@pytest.mark.parametrize("path", [BASE, BASE + "/test"], ids=["webhooks", "test"])
def test_a_megabyte_is_not_read(member, path, body):
    head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {member.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    with member.stack.api.wire(head.encode() + body[:65536]) as wire:
        response = wire.response()
    assert response.status == 413 and response.message


def test_costly_bodies_of_64_kib_are_answered_at_once(member):
    """The JSON is valid, so the answer is about the fields."""
    names = b",".join(b'"%d":0' % i for i in range(5_000))
    for value in (b"{" + names + b"}", b"[" + b"1e-5," * 10_000 + b"0]", b'"' + b"\\u00f1" * 10_000 + b'"',
                  b"0." + b"1" * 60_000, b"1e-" + b"9" * 60_000, b"[" + b"[],{}," * 10_000 + b"0]"):
        started = time.monotonic()
        response = member.api("POST", BASE, body=b'{"url": "http://x", "otro": ' + value + b"}")
        assert time.monotonic() - started < PATIENCE
        assert response.status == 400 and response.message.startswith("url: "), response


def test_unknown_fields_of_a_registration_set_nothing(new_entity, stack):
    owner, other = new_entity(), new_entity()
    fields = {"url": "https://example.com/", "eventos": ["evaluacion.abierta"]}
    foreign = {
        "id": 1, "entidadId": other.id, "entidad_id": other.id, "entidad": {"id": other.id}, "activo": False,
        "fechaAlta": "1999-01-01T00:00:00.000Z", "fecha_alta": "1999-01-01", "ultimaEjecucion": "1999-01-01T00:00:00.000Z",
        "ultimoEstado": 200, "ultimoError": "x", "motivo": "x", "plaza": 5, "secreto_sellado": "x", "secretos": "x",
        "Secreto": "x", "URL": "https://otro.example.com/", "Url": 5, "url ": 5, "__proto__": {"activo": False}, "": "x",
    }
    body = owner.api("POST", BASE, json_body={**foreign, **fields}).json()
    assert body["activo"] is True and body["url"] == fields["url"] and body["id"] != 1
    assert not body["fechaAlta"].startswith("1999")
    listed = owner.api("GET", BASE).json()
    assert listed == [{**body, "ultimaEjecucion": None, "ultimoEstado": None, "ultimoError": ""}]
    assert other.api("GET", BASE).json() == []
    assert stack.value(f"SELECT secreto_sellado IS NULL FROM webhooks WHERE id = {body['id']}") == "1"


def test_unknown_fields_of_a_test_request_set_nothing(new_entity, stack):
    owner, other = new_entity(), new_entity()
    own, foreign = owner.register(["evaluacion.abierta"]), other.register(["evaluacion.abierta"])
    body = {"evento": "evaluacion.abierta", "webhooks": [foreign.id], "id": foreign.id, "url": foreign.url, "test": False,
            "entidadId": other.id, "entidadNombre": "x", "data": {"test": False}, "datos": {"x": 1}, "mensaje": "x"}
    answer = owner.api("POST", BASE + "/test", json_body=body).json()
    assert answer["webhooks"] == [{"id": own.id, "url": own.url}]
    data = owner.receiver.wait(own.path, 1)[0].json()["data"]
    assert (data["test"], data["entidadId"], data["entidadNombre"], data["datos"]) == (True, owner.id, owner.name, {})
    assert "evaluacion.abierta" in data["mensaje"]
    assert stack.admin("notification", "list", "--entity", other.id) == []


EXTRA = [
    # Data arrive as sent: numbers are not parsed and written again, names keep their order, and text keeps its characters.
    '{"b":7.50,"a":-0,"c":1E+2,"d":0.10,"e":123456789012345678901234567890,"f":1e-400,"g":1.7976931348623157e308}',
    '{"z":[],"y":{},"x":[[{"":null}],true,false],"A":1,"a":2}',
    '{"ñ":"€😀","t":"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001F","sep":"\u2028\u2029\x7f","html":"<a href=\'/\'>&amp;"}',
    '{"test":false,"entidadId":1,"datos":{"datos":{}},"mensaje":"x"}',
    # The deepest `datosExtra` that is allowed: `data` around it has 31 levels, the most that MariaDB's JSON_VALID accepts.
    '{"a":' * 30 + "0.50" + "}" * 30, '{"a":' + "[" * 29 + "]" * 29 + "}",
    '{"a":0.' + "0" * 5000 + '1e5001,"b":1e-2147483648,"c":[' + "-0.0e-0," * 5000 + '1e-99999999999999999999]}',
]


@pytest.mark.parametrize("extra", EXTRA, ids=lambda extra: ascii(extra[:20]))
def test_extra_data_arrives_as_it_was_sent(entity, extra):
    hook = entity.register()
    raw = '{"evento": "incidencia.cerrada", "datosExtra": %s}' % extra
    assert entity.api("POST", BASE + "/test", body=raw.encode()).status == 200
    assert entity.receiver.wait(hook.path, 1)[0].body.decode().endswith(f'"datos":{extra}}}}}')


def test_escapes_of_extra_data_may_be_written_otherwise_and_mean_the_same(entity):
    hook = entity.register()
    extra = '{ "a\\/b" : "\\u00f1\\ud83d\\ude00\\/\\u0041" ,\n"n":\t7.50 }'
    raw = '{"evento": "incidencia.cerrada", "datosExtra": %s}' % extra
    assert entity.api("POST", BASE + "/test", body=raw.encode()).status == 200
    body = entity.receiver.wait(hook.path, 1)[0].body.decode()
    assert '"datos":{"a/b":"ñ😀/A","n":7.50}' in body
