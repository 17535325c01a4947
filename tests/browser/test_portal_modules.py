"""Calls functions of the portal's JavaScript modules in a browser: times, sentences, remedies, JSON, shell commands."""
import json
import re
import subprocess

import pytest

from fakes.verify import hub_signature, standard_signature
from support.portal import PORTAL
from support.stack import ROOT

NOW = "2026-11-25T12:00:00Z"  # a Wednesday, 13:00 in Madrid


@pytest.fixture(scope="module")
def module_page(chromium, stack):
    context = chromium.new_context(base_url=stack.env["BASE_URL"], timezone_id="America/Bogota")
    page = context.new_page()
    page.goto(PORTAL)
    yield page
    context.close()


@pytest.fixture
def call(module_page):
    """call("time", "when", …) calls the function `when` of the module `time`."""
    code = "([file, name, args]) => import(`/apientidades/portal/js/${file}.js`).then((module) => module[name](...args))"
    return lambda file, name, *arguments: module_page.evaluate(code, [file, name, list(arguments)])


def at(iso: str) -> int:
    import datetime
    return int(datetime.datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp() * 1000)


@pytest.mark.parametrize("iso, words", [
    ("2026-11-25T09:32:00Z", "hoy a las 10:32"), ("2026-11-24T22:59:00Z", "ayer a las 23:59"), ("2026-11-24T23:00:00Z", "hoy a las 00:00"),
    ("2026-11-25T00:10:00Z", "hoy a la 01:10"), ("2026-11-26T12:00:00Z", "mañana a las 13:00"), ("2026-11-27T10:00:00Z", "el viernes a las 11:00"),
    ("2026-11-20T10:00:00Z", "el viernes pasado a las 11:00"), ("2026-06-01T10:00:00Z", "el 1 jun 2026 a las 12:00"), ("2027-01-01T10:00:00Z", "el 1 ene 2027 a las 11:00")])
def test_times_are_told_in_words(call, iso, words):
    assert call("time", "when", iso, at(NOW)) == words


@pytest.mark.parametrize("local, utc", [
    ("2026-11-20T11:00", "2026-11-20T10:00:00Z"), ("2026-07-20T12:00", "2026-07-20T10:00:00Z"),
    ("2026-10-25T02:30", "2026-10-25T00:30:00Z"),  # this time comes twice: the first counts
    ("2026-03-29T02:30", "2026-03-29T01:30:00Z"),  # this time never comes: 03:30 counts
    ("2026-03-29T03:00", "2026-03-29T01:00:00Z"), ("", ""), ("ayer", "")])
def test_times_of_the_peninsula_are_sent_in_utc(call, local, utc):
    assert call("time", "fromZoned", local) == utc


@pytest.fixture
def canaries(call):
    call("time", "useZone", "Atlantic/Canary")
    yield
    call("time", "useZone", "Europe/Madrid")


@pytest.mark.parametrize("local, utc", [
    ("2026-11-20T10:00", "2026-11-20T10:00:00Z"), ("2026-07-20T11:00", "2026-07-20T10:00:00Z"),
    ("2026-10-25T01:30", "2026-10-25T00:30:00Z"),  # this time comes twice: the first counts
    ("2026-10-25T02:30", "2026-10-25T02:30:00Z"),  # in the Canaries this time comes once
    ("2026-03-29T01:30", "2026-03-29T01:30:00Z"), ("2026-03-29T02:30", "2026-03-29T01:30:00Z")])
def test_times_of_the_canaries_are_sent_in_utc(call, canaries, local, utc):
    assert call("time", "fromZoned", local) == utc
    assert call("time", "toZoned", utc) == ("2026-03-29T02:30" if local == "2026-03-29T01:30" else local), "01:30 never comes"


@pytest.mark.parametrize("iso, full, beside, short", [
    ("2026-07-20T22:30:06Z", "20 jul 2026, 23:30:06", "22:30:06 UTC", "ayer a las 23:30"), ("2026-11-20T23:30:06Z", "20 nov 2026, 23:30:06", "23:30:06 UTC", "ayer a las 23:30"),
    ("2026-10-25T00:30:00Z", "25 oct 2026, 01:30:00", "00:30:00 UTC", "hoy a la 01:30"), ("2026-10-25T01:30:00Z", "25 oct 2026, 01:30:00", "01:30:00 UTC", "hoy a la 01:30")])
def test_utc_times_are_shown_in_canary_time(call, canaries, iso, full, beside, short):
    noon = "2026-07-21T12:00:00Z" if iso.startswith("2026-07") else "2026-11-21T12:00:00Z" if iso.startswith("2026-11") else "2026-10-25T12:00:00Z"
    assert call("time", "zoned", iso) == full and call("time", "utcBeside", iso) == beside
    assert call("time", "when", iso, at(noon)) == short


def test_utc_times_are_shown_in_peninsula_time(call):
    assert call("time", "toZoned", "2026-07-20T10:00:00Z") == "2026-07-20T12:00" and call("time", "toZoned", "x") == ""
    assert call("time", "utc", "2026-11-20T23:30:06.123Z") == "2026-11-20 23:30:06 UTC"
    assert call("time", "zoned", "2026-11-20T23:30:06.123Z") == "21 nov 2026, 00:30:06"
    assert call("time", "span", 7_200_000) == "2 horas" and call("time", "span", 90_000) == "2 minutos" and call("time", "span", 0) == "0 segundos"


@pytest.mark.parametrize("iso, words", [("2026-11-20T10:00:06Z", "10:00:06 UTC"), ("2026-11-20T23:30:06Z", "2026-11-20 23:30:06 UTC"), ("2026-07-20T21:59:59Z", "21:59:59 UTC")])
def test_utc_has_its_date_where_it_is_another_day(call, iso, words):
    assert call("time", "utcBeside", iso) == words


def texts_of_receivers() -> list[str]:
    """Returns each text of a failure in docs/receivers.md."""
    rows = re.findall(r"^\| [^|]+ \| ([A-Z][^|]+) \|$", (ROOT / "docs/receivers.md").read_text(), re.M)
    return [row for row in rows if row.split()[0] in ("No", "El", "La", "Los")]


def test_every_text_of_a_failure_has_a_remedy(call):
    texts = texts_of_receivers()
    assert len(texts) >= 23
    for text in texts:
        remedy = call("remedies", "remedyOf", text)
        assert remedy["cause"] != text and remedy["remedy"].endswith("."), text
    assert call("remedies", "remedyOf", "") is None
    assert call("remedies", "remedyOf", "otra cosa")["cause"] == "otra cosa"
    for status in (400, 401, 404, 405, 413, 415, 418, 429, 500, 503):
        assert str(status) in call("remedies", "causeOf", f"El receptor respondió {status}: se espera un 2xx")


STATUSES = {"401 o 403": (401, 403), "404": (404,), "405": (405,), "413": (413,), "415": (415,), "429": (429,), "5xx": (500, 503), "otro": (400, 418)}


def remedies_of_the_page() -> list[tuple[str, str]]:
    """Returns each text of a failure in web/docs/errores.md, with the cell that says what to do, without markup."""
    section = re.search(r"^## Por qué no llegó un aviso$(.*?)^## ", (ROOT / "web/docs/errores.md").read_text(), re.M | re.S)[1]
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", section).replace("`", "")
    filled = re.sub(r"\{estado\}(?= \()", "302", plain).replace("{tiempo}", "5s").replace("{puerto}", "25")
    return [row for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", filled, re.M) if row[0] != "ultimoError"]


def test_the_portal_and_the_page_of_errors_say_the_same_remedies(call):
    told = set()
    rows = remedies_of_the_page()
    assert len(rows) >= 24
    for text, cell in rows:
        several = [(f"Con {name}, ", status) for name, some in STATUSES.items() for status in some] if "{estado}" in text else [("", "")]
        for before, status in several:
            remedy = call("remedies", "remedyOf", text.replace("{estado}", str(status)))["remedy"]
            told.add(remedy)
            place = f" {cell}. ".casefold().find(f" {before}{remedy} ".casefold())
            assert place == 0 or before and place > 0, f"{text} {status}: {remedy!r} is not the remedy of the page: {cell!r}"
    known = re.findall(r'remedy: "([^"]+)"', (ROOT / "web/portal/js/remedies.js").read_text())
    assert set(known) - told == {"Revise su receptor con ese mensaje."}


@pytest.mark.parametrize("typed, message, number, words", [
    ("webhook-id: msg_1_2", "msg_1_2", "", []), (" msg_1_2 ", "msg_1_2", "", []), ("entrega 806", "", "806", []), ("806", "", "806", ["806"]),
    ("informe_2026.pdf", "", "", ["informe", "2026", "pdf"]), ("_ ¿?", "", "", [])])
def test_a_search_is_read(call, typed, message, number, words):
    assert call("find", "searchOf", typed) == {"message": message, "number": number, "words": words}
    assert call("find", "searchesNothing", typed) == (not message and not number and not words)


@pytest.mark.parametrize("words, found", [(["2026"], True), (["026"], False), (["informe"], True), (["form", "pdf"], True), (["musica"], True), (["7"], True), (["prueba"], False)])
def test_what_a_search_compares(call, words, found):
    delivery = {"evento": "documento.disponible", "prueba": False, "datos": {"documentoId": 7, "titulo": "Música: informe_2026.pdf"}}
    assert call("find", "matches", delivery, words) == found


@pytest.mark.parametrize("iso, words", [("2026-11-25T11:59:00Z", "ahora"), ("2026-11-25T12:00:59Z", "ahora"), ("2026-11-25T12:01:00Z", "hoy a las 13:01")])
def test_what_is_due_within_a_minute_is_due_now(call, iso, words):
    assert call("time", "due", iso, at("2026-11-25T12:00:00Z")) == words


def test_a_webhook_without_a_name_has_its_number(call):
    hook = {"id": 12, "nombre": None, "url": "https://ejemplo.es/avisos/entrada/" + "b" * 40 + "z" * 20}
    assert call("hooks", "nameOf", hook) == "ejemplo.es (n.º 12)"
    assert call("hooks", "labelOf", hook) == "ejemplo.es (n.º 12) · https://ejemplo.es/avisos/entr…" + "z" * 20
    assert call("hooks", "nameOf", hook | {"nombre": "Copia"}) == "Copia"


WEBHOOK = {"activo": True, "motivo": None, "fallaDesde": None, "desactivacion": None, "ultimaEjecucion": "2026-11-25T09:32:00Z", "ultimoError": ""}
EXPIRED = "El certificado TLS del receptor ha caducado o aún no es válido"


@pytest.mark.parametrize("change, kind, words", [
    ({}, "good", "Funciona El último envío, hoy a las 10:32, se recibió bien."),
    ({"ultimaEjecucion": None}, "muted", "Sin probar Todavía no se le ha enviado nada."),
    ({"fallaDesde": "2026-11-24T09:32:00Z", "ultimoError": EXPIRED, "desactivacion": "2026-11-27T09:32:00Z"}, "bad",
     "Falla desde ayer a las 10:32: el certificado caducó o aún no vale. Se desactivará el 27 nov 2026, 10:32 si no se recibe nada antes; los avisos se guardarán 90 días, si el operador no ha fijado otra duración."),
    ({"fallaDesde": "2026-11-24T09:32:00Z", "ultimoError": EXPIRED}, "bad", "Falla desde ayer a las 10:32: el certificado caducó o aún no vale."),
    ({"ultimoError": "El receptor respondió 500: se espera un 2xx"}, "warning", "Último envío fallido hoy a las 10:32: el receptor tiene un error interno (500)."),
    ({"activo": False, "motivo": "operador"}, "bad", "Desactivado por el operador"), ({"activo": False, "motivo": "http_410"}, "bad", "Desactivado porque su receptor respondió 410"),
    ({"activo": False, "motivo": "fallos"}, "bad", "Desactivado porque durante días"), ({"activo": False, "motivo": "entidad"}, "warning", "En pausa por decisión de su entidad."),
    ({"activo": False, "motivo": "entidad", "pausedBy": "Marta"}, "warning", "En pausa por decisión de su entidad (token «Marta»)."),
    ({"activo": False, "motivo": "fallos", "inactivoDesde": "2026-11-24T09:32:00Z"}, "bad", "Desactivado desde el 24 nov 2026, 10:32, porque durante días"),
    ({"activo": False, "motivo": "otro"}, "bad", "Desactivado No se le envía nada")])
def test_how_a_webhook_is(call, change, kind, words):
    state = call("webhook_state", "webhookState", WEBHOOK | change, at(NOW))
    assert state["kind"] == kind and f"{state['word']} {state['sentence']}".startswith(words)


def test_until_when_a_webhook_rests(call):
    slow = WEBHOOK | {"ultimoError": "El receptor respondió 429: se espera un 2xx", "fallaDesde": "2026-11-25T09:32:00Z"}
    due = {"estado": "pendiente", "ultimoEstado": 429, "proximoIntento": "2026-11-25T13:05:00.000Z"}
    waiting = [due, due | {"proximoIntento": "2026-11-25T12:40:00.000Z"}, due | {"proximoIntento": "2026-11-25T11:00:00.000Z"}, due | {"ultimoEstado": 500, "proximoIntento": "2026-11-25T12:01:00.000Z"}]
    rest = call("webhook_state", "restOf", slow, waiting, at(NOW))
    assert rest == "2026-11-25T12:40:00.000Z"
    assert call("webhook_state", "restOf", WEBHOOK, waiting, at(NOW)) == "" == call("webhook_state", "restOf", slow, [], at(NOW))
    told = call("webhook_state", "webhookState", slow, at(NOW), rest)["sentence"]
    assert told == "desde hoy a las 10:32: el receptor pide ir más despacio (429). No se le envía nada hasta que pase lo que pidió: como tarde, hoy a las 13:40."


@pytest.mark.parametrize("text", ['{"a":7.50,"b":[1,{"c":[]}],"d":{},"e":"{,:}\\"\\\\"}', "[]", "3", '"x"', '{"id":9223372036854775807}'])
def test_json_is_laid_out_without_being_read(call, text):
    laid_out = call("json_text", "pretty", text)
    assert json.loads(laid_out) == json.loads(text) and re.sub(r"\n *|(?<=:) ", "", laid_out) == text


@pytest.mark.parametrize("text", ["}", "", "{", "}{"])
def test_what_is_no_json_is_shown_as_it_is(call, text):
    assert call("json_text", "pretty", text) == text


@pytest.mark.parametrize("body", ['{"a":"it\'s $HOME `id` \\"x\\" !! \\n"}', "@/etc/passwd", "ñ '' \"\" \\ $(id)", "{}"])
def test_a_shell_passes_on_what_was_copied(call, tmp_path, body):
    url = "https://a.example/x[1]{a,b}?q='$(id)'&b=`id`"
    command = call("curl", "curlOf", url, {"evento": "evaluacion.abierta", "mensaje": "msg_1", "cuerpo": body})
    curl = tmp_path / "curl"
    curl.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    curl.chmod(0o755)
    words = subprocess.run(["sh", "-c", command], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=True).stdout.split("\0")
    assert words[words.index("--data-raw") + 1] == body and words[words.index("--url") + 1] == url and "-g" in words
    assert "webhook-id: msg_1" in words and len(words) == 15


BYTES = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.mark.parametrize("secret", [f"whsec_{BYTES}", "whsec_YQ==", "whsec_YQ", f"v1,whsec_{BYTES}", "whsec_", "whsec_a b", "una frase con ñ", "x"])
def test_it_signs_as_the_service_does(call, secret):
    body = '{"a": "ñ"}'
    signed = dict(line.split(": ", 1) for line in call("curl", "signedHeaders", secret, {"mensaje": "msg_1_2", "cuerpo": body}, 1795168800999))
    assert signed["webhook-timestamp"] == "1795168800" and signed["X-Webhook-Signature"] == hub_signature(secret, body.encode())
    assert standard_signature(secret, "msg_1_2", "1795168800", body.encode()) in signed["webhook-signature"].split(" ")


HOOK = {"id": 1, "nombre": "-1+1", "url": "https://a.example/"}
ROW = {"id": 9, "mensaje": "msg_1_9", "webhook": 1, "datos": None, "evento": "evaluacion.abierta", "prueba": False, "estado": "fallida", "intentos": 1, "creada": "2026-11-20T10:00:00.000Z",
       "entregada": None, "terminada": None, "proximoIntento": None, "ultimoEstado": None}


@pytest.mark.parametrize("text, written", [
    ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"), ("\t=1", "\t'=1"), ("\r=1", '"\r\'=1"'), ("＝1", "'＝1"), ("a=1", "a=1"),
    ("x;=1", "x;'=1"), ('x;"=1', '"x;""\'=1"'), ("a\r\n@SUM(1)", '"a\r\n\'@SUM(1)"'), ("a;b; -1\t\t＋2", "a;b; '-1\t\t'＋2"), ("a; b-1 ;", "a; b-1 ;"), ('di "sí", ya', '"di ""sí"", ya"'), ("dos\nlíneas", '"dos\nlíneas"'), ("", "")])
def test_cells_of_a_spreadsheet(call, text, written):
    whole = call("export", "csvOf", [ROW | {"ultimoError": text}], [HOOK])
    assert whole.endswith(f",{written},msg_1_9\r\n") and whole.startswith("\ufeffentrega,creada (UTC),") and ",'-1+1," in whole


@pytest.mark.parametrize("read, number", [("9223372036854775807", 9223372036854775807), ("-9007199254740993", -9007199254740993), (7, 7), ("7", "7"), ("007", "007"), ("00000000000000000007", "00000000000000000007")])
def test_json_keeps_every_digit(call, read, number):
    text = call("export", "jsonOf", [ROW | {"datos": {"evaluacionId": read, "titulo": "7"}, "cuerpo": "{}"}], {"completo": True})
    written = json.loads(text)["entregas"][0]
    assert written["datos"] == {"evaluacionId": number, "titulo": "7"} and "cuerpo" not in written


@pytest.mark.parametrize("event, data, kept", [
    ("documento.disponible", '{"documentoId": 9007199254740993, "declaracionId": 1, "tipo": 2, "descripcion": "d"}', {"documentoId": "9007199254740993", "descripcion": "d"}),
    ("alegaciones.periodo_abierto", '{"declaracionId": 1, "evaluacionId": "7", "fechaFin": "2026-01-01"}', {"evaluacionId": "7", "declaracionId": 1}), ("otro", '{"a": 1}', {})])
def test_a_delivery_that_was_found_by_its_number_has_a_lists_data(call, event, data, kept):
    assert call("find", "summaryOf", {"evento": event, "prueba": False, "cuerpo": f'{{"data": {data}}}'}) == kept
    for other in ({"prueba": True, "cuerpo": '{"data": {}}'}, {"prueba": False, "cuerpo": None}, {"prueba": False, "cuerpo": "{"}):
        assert call("find", "summaryOf", {"evento": event} | other) is None


@pytest.mark.parametrize("name, filters, file", [
    ("Ávila / Ñ", {"desde": "2026-07-20T10:00:00Z", "hasta": "x"}, "entregas_avila-n_desde-2026-07-20T1200_2026-11-25T1300.csv"),
    ("../\u202e", {}, "entregas_entidad_2026-11-25T1300.csv")])
def test_names_of_files(call, name, filters, file):
    assert call("export", "fileName", {"nombre": name}, filters, NOW, "csv") == file


@pytest.mark.parametrize("before, theirs, mine, both", [
    (["a"], ["a", "b"], ["a", "c"], ["a", "b", "c"]), (["a", "b"], ["a", "b", "c"], ["b"], ["b", "c"]), (["a", "b"], ["a"], ["b"], None), (["a"], ["a", "b"], ["a", "b", "c"], None), ("x", "y", "z", None)])
def test_two_changes_that_can_stand_together(call, before, theirs, mine, both):
    assert call("screens/edit", "bothOf", before, theirs, mine) == both


def test_the_hours_of_a_day(call):
    now = at("2026-11-25T12:10:00Z")
    one = {"estado": "entregada", "creada": "2026-11-25T12:05:00Z", "entregada": "2026-11-25T12:05:01Z"}
    hours = call("chart", "byHour", [one, one | {"creada": "2026-11-25T11:59:59Z", "entregada": None, "estado": "fallida"},
                                     one | {"entregada": None, "estado": "pendiente"}, one | {"creada": "2026-11-20T00:00:00Z"}], now)
    assert len(hours) == 24 and all(hour["seen"] for hour in hours)
    assert (hours[23]["entregada"], hours[23]["otra"], hours[22]["fallida"]) == (1, 1, 1)
    assert sum(hour["entregada"] + hour["otra"] + hour["fallida"] for hour in hours) == 3
    partial = call("chart", "byHour", [one], now, "2026-11-25T10:30:00Z")
    assert [hour["seen"] for hour in partial] == [False] * 21 + [True] * 3


def test_an_element_takes_no_code_and_leads_nowhere_else(module_page):
    make = "([name, value]) => import('/apientidades/portal/js/dom.js').then(({el}) => el('a', {[name]: value}).outerHTML).catch((error) => error.message)"
    for name, value in (("onclick", "alert(1)"), ("style", "color:red"), ("href", "javascript:alert(1)"), ("href", "https://example.org"), ("srcdoc", "x"), ("href", "//x.example")):
        assert "<a" not in module_page.evaluate(make, [name, value]), (name, value)
    assert module_page.evaluate(make, ["href", "#/entregas"]) == '<a href="#/entregas"></a>'


@pytest.mark.parametrize("text, shown", [
    ("abc\u202egpj.exe", "abc\\u202egpj.exe"), ("a\u200bb\u2060c\ufeffd", "a\\u200bb\\u2060c\\ufeffd"), ("a\u00a0b\u3000c\u2800d\u3164e", "a\\u00a0b\\u3000c\\u2800d\\u3164e"),
    ("\u2066x\u2069\u061c", "\\u2066x\\u2069\\u061c"), ("\x00\x1b[0m\x85", "\\u0000\\u001b[0m\\u0085"), ("x\U000e0041", "x\\u{e0041}"), ("soft\u00adhyphen", "soft\\u00adhyphen"),
    ("uno dos\n\ttres", "uno dos\n\ttres"), ("Ñandú مرحبا 漢字 ❤\ufe0f", "Ñandú مرحبا 漢字 ❤\ufe0f"), ("a\ufe0f", "a\\ufe0f")])
def test_what_is_not_seen_is_shown_as_an_escape(call, text, shown):
    assert call("visible", "visible", text) == shown


def test_every_text_of_an_element_can_be_seen(module_page):
    make = "import('/apientidades/portal/js/dom.js').then(({el, foreign}) => el('p', {'aria-label': 'a\\u202eb'}, 'c\\u200bd', foreign('e\\u00a0f')).outerHTML)"
    assert not re.search("[\u202e\u200b\u00a0]|&nbsp;", module_page.evaluate(make))


def test_an_escape_is_told_from_the_same_letters(module_page):
    make = "import('/apientidades/portal/js/dom.js').then(({el}) => el('p', {}, 'a\u202e\u202eb \\\\u202e').innerHTML)"
    escape = '<span class="escape">\\u202e</span>'
    assert module_page.evaluate(make) == f"a{escape}{escape}b \\u202e"
    option = "import('/apientidades/portal/js/dom.js').then(({el}) => el('option', {}, 'a\u202eb').innerHTML)"
    assert module_page.evaluate(option) == "a\\u202eb"


def test_the_examples_of_events_are_those_of_the_api(module_page):
    shown = module_page.evaluate("import('/apientidades/portal/js/examples.js').then(({EXAMPLES}) => EXAMPLES)")
    described = json.loads((ROOT / "web/openapi.json").read_text())["webhooks"]
    assert {event: json.loads(text) for event, text in shown.items()} == {
        event: one["post"]["requestBody"]["content"]["application/json"]["examples"]["aviso"]["value"]["data"] for event, one in described.items()}


def test_addresses_of_screens(call):
    assert call("router", "parseHash", "#/entregas?webhook=1&estado=fallida") == {"path": "/entregas", "query": {"webhook": "1", "estado": "fallida"}}
    assert call("router", "parseHash", "") == {"path": "/", "query": {}}
    assert call("router", "link", "/entregas", {"webhook": 1, "estado": "", "cursor": None, "evento": "a&b"}) == "#/entregas?webhook=1&evento=a%26b"
    assert call("router", "match", "/entregas/:webhook/:entrega", "/entregas/1/806") == {"webhook": "1", "entrega": "806"}
    for other in ("/entregas/1/8/6", "/entregas/1/x", "/entregas/1/..%2f2", "/entregas/1/"):
        assert call("router", "match", "/entregas/:webhook/:entrega", other) is None


@pytest.mark.parametrize("typed, token", [("  apie_x ", "apie_x"), ("Bearer apie_x", "apie_x"), ("Authorization: Bearer apie_x\n", "apie_x"), ("", "")])
def test_a_token_as_people_paste_it(call, typed, token):
    assert call("session", "cleanToken", typed) == token


def test_a_button_that_looks_the_same_gets_its_new_action(module_page):
    assert module_page.evaluate("""async () => {
        const { el, replace } = await import("/apientidades/portal/js/dom.js");
        const parent = el("div");
        let pressed = 0;
        const button = (number) => el("button", { type: "button", onclick: () => (pressed = number) }, "Ver");
        replace(parent, button(1));
        replace(parent, button(2));
        parent.firstChild.click();
        return pressed;
    }""") == 2


def test_a_hidden_page_retries_only_when_it_is_shown(chromium, stack):
    context = chromium.new_context(base_url=stack.env["BASE_URL"])
    page = context.new_page()
    page.clock.install()
    page.goto(PORTAL)
    page.evaluate("""async () => {
        const { problemBox } = await import("/apientidades/portal/js/problem.js");
        const answer = { kind: "unavailable", message: "", status: 503, retryAfter: 2 };
        window.retries = 0;
        window.hide = (hidden) => Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        hide(true);
        document.body.append(problemBox(answer, { retry: () => (window.retries += 1), auto: true }));
    }""")
    page.clock.run_for(5_000)
    assert page.evaluate("window.retries") == 0
    page.evaluate("hide(false)")
    page.clock.run_for(1_000)
    assert page.evaluate("window.retries") == 1
    context.close()
