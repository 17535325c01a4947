"""GET, PATCH and DELETE /webhooks/{id}: how an entity reads, changes and deletes one of its webhooks."""
import json
import threading

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.stack import EVENTS
from support.wait import wait_until

FIELDS = ["id", "url", "eventos", "activo", "fechaAlta", "ultimaEjecucion", "ultimoEstado", "ultimoError", "nombre", "motivo", "inactivoDesde", "fallaDesde",
          "desactivacion", "tieneSecreto", "secretoDebil", "avisoSecreto", "secretoAnteriorHasta", "certificadoCaduca", "fechaModificacion"]
MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


def seen(entity, hook):
    response = entity.api("GET", f"{BASE}/{hook.id}")
    assert response.status == 200, response
    assert list(response.json()) == FIELDS
    return response


def patch(entity, hook, changes, headers=MERGE_PATCH):
    return entity.api("PATCH", f"{BASE}/{hook.id}", body=json.dumps(changes).encode(), headers=headers)


def test_a_webhook_on_its_own_page(entity):
    hook = entity.register(EVENTS[:2])
    response = seen(entity, hook)
    webhook = response.json()
    listed = entity.listed(hook)
    assert {name: webhook[name] for name in listed} == listed
    assert [webhook[name] for name in FIELDS[8:]] == [None, None, None, None, None, True, False, None, None, None, webhook["fechaAlta"]]
    assert seen(entity, entity.register(secret=None)).json()["tieneSecreto"] is False
    assert hook.secret not in response.text


@pytest.mark.parametrize("secret, weak", [("x" * 15, True), ("ñ" * 8, False), ("x" * 16, False), (None, False)])
def test_a_secret_under_16_bytes_is_named(entity, stack, secret, weak):
    """As each of the two secrets that a webhook has room for."""
    hook = entity.register(secret=secret)
    assert seen(entity, hook).json()["secretoDebil"] is weak
    assert ("fewer than 16 bytes" in stack.dev("admin", "webhook", "show", hook.id).stderr) is weak
    if secret is None:
        return
    entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "another-of-16-bytes", "graciaSegundos": 60})
    assert seen(entity, hook).json()["secretoDebil"] is False
    other = entity.register()
    entity.api("PUT", f"{BASE}/{other.id}/secreto", json_body={"secreto": secret, "graciaSegundos": 60})
    assert seen(entity, other).json()["secretoDebil"] is weak


UNVERIFIABLE = "este secreto no puede verificarse con las bibliotecas de Standard Webhooks"
GOOD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def assert_named(entity, hook, stack, named):
    notice = seen(entity, hook).json()["avisoSecreto"]
    assert (notice is not None) is named and (not named or UNVERIFIABLE in notice and "openssl rand -base64 24" in notice)
    assert (UNVERIFIABLE in stack.dev("admin", "webhook", "show", hook.id).stderr) is named


@pytest.mark.parametrize("secret, named", [
    (GOOD, False), (GOOD[:-1], False), ("a phrase of 16 bytes", False), (None, False),
    (GOOD + " ", True), (GOOD.replace("9", "_"), True), ("v1," + GOOD, True), ("whsec_no es base64", True)])
def test_a_secret_that_no_library_verifies_is_named(entity, stack, secret, named):
    """As each of the two secrets that a webhook has room for."""
    hook, other = entity.register(secret=secret), entity.register()
    assert_named(entity, hook, stack, named)
    if secret is None:
        return
    for target, fresh, expected in ((hook, "another-of-16-bytes", False), (other, secret, named)):
        entity.api("PUT", f"{BASE}/{target.id}/secreto", json_body={"secreto": fresh, "graciaSegundos": 60})
        assert_named(entity, target, stack, expected)


def test_a_secret_of_an_earlier_release_is_judged_by_reencrypt(entity, stack):
    """In either place, and its ETag stays."""
    hooks = [entity.register(secret=GOOD + " "), entity.register()]
    entity.api("PUT", f"{BASE}/{hooks[1].id}/secreto", json_body={"secreto": GOOD + " ", "graciaSegundos": 60})
    etags = [seen(entity, hook).headers["etag"] for hook in hooks]
    for hook in hooks:
        stack.sql(f"UPDATE webhooks SET secreto_inverificable = NULL WHERE id = {hook.id}")
        assert_named(entity, hook, stack, False)
    stack.admin("secrets", "reencrypt")
    for hook in hooks:
        assert_named(entity, hook, stack, True)
    assert [seen(entity, hook).headers["etag"] for hook in hooks] == etags
    assert stack.value("SELECT COUNT(*) FROM webhooks WHERE secreto_inverificable IS NULL AND secreto_clave IS NOT NULL") == "0"


def test_the_etag_is_of_the_configuration_alone(entity, receiver):
    hook = entity.register()
    before = seen(entity, hook).headers["etag"]
    assert before.startswith('"') and before.endswith('"')
    entity.notify()
    wait_until(lambda: seen(entity, hook).json()["ultimoEstado"] == 200)
    assert seen(entity, hook).headers["etag"] == before
    changed = patch(entity, hook, {"eventos": EVENTS[:1]})
    assert changed.status == 200 and changed.headers["etag"] not in ("", before)
    assert seen(entity, hook).headers["etag"] == changed.headers["etag"]
    refused = patch(entity, hook, {"eventos": EVENTS[:2]}, {**MERGE_PATCH, "If-Match": before})
    assert refused.status == 412 and "If-Match" in refused.json()["message"]
    for expected in (changed.headers["etag"], "*", f'"otro", {changed.headers["etag"]}'):
        assert patch(entity, hook, {}, {**MERGE_PATCH, "If-Match": expected}).status == 200
    for other in ('"otro"', f'W/{changed.headers["etag"]}', "x", "", ",", " "):
        assert patch(entity, hook, {}, {**MERGE_PATCH, "If-Match": other}).status == 412, other


def test_an_if_match_is_sent_once(entity, stack):
    hook = entity.register()
    etag = seen(entity, hook).headers["etag"]

    def answer(*lines):
        head = "".join(f"If-Match: {line}\r\n" for line in lines)
        with stack.api.wire((f"PATCH {BASE}/{hook.id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {entity.token}\r\n{head}"
                             "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}").encode()) as wire:
            return wire.response()

    assert [answer(*lines).status for lines in ((), (etag,), (f'"x", {etag}',))] == [200] * 3
    assert [answer(line).status for line in ("", '"x"')] == [412] * 2
    for lines in (('"x"', etag), (etag, etag), ("x", "y", "z")):
        assert (answer(*lines).status, answer(*lines).message) == (400, "La petición HTTP no es válida; si repite If-Match, envíe una sola "
                                                                        "línea con los ETag separados por comas"), "nginx's own answer"
    assert answer("", "").status == 400


def test_an_etag_that_lost_its_quotes_is_named(entity):
    hook = entity.register()
    etag = seen(entity, hook).headers["etag"]
    for broken in (etag.strip('"'), f"W/{etag}", "", "2026-11-20T10:00:00Z"):
        for method, body in (("PATCH", {}), ("DELETE", None)):
            refused = entity.api(method, f"{BASE}/{hook.id}", json_body=body, headers={"If-Match": broken})
            assert (refused.status, refused.message) == (412, "If-Match no lleva ningún ETag: envíelo entero, con sus comillas y sin W/, "
                                                              'como If-Match: "0f3a…"'), broken


def test_a_deletion_of_one_version_alone(entity):
    hook = entity.register()
    path, old = f"{BASE}/{hook.id}", seen(entity, hook).headers["etag"]
    now = patch(entity, hook, {"eventos": EVENTS[:1]}).headers["etag"]
    for other in (old, '"otro"'):
        refused = entity.api("DELETE", path, headers={"If-Match": other})
        assert (refused.status, refused.message) == (412, "El webhook ha cambiado desde la versión que indica If-Match: vuelva a consultarlo")
    assert seen(entity, hook).headers["etag"] == now
    assert entity.api("DELETE", f"{BASE}/999999999", headers={"If-Match": old}).status == 404, "404 comes before 412"
    deleted = entity.api("DELETE", path, headers={"If-Match": now})
    assert (deleted.status, deleted.text) == (200, f'{{"message":"Webhook {hook.id} eliminado"}}')
    assert entity.api("DELETE", path, headers={"If-Match": "*"}).status == 404


def test_of_two_changes_of_one_version_one_is_refused(entity):
    hook = entity.register()
    etag, statuses = seen(entity, hook).headers["etag"], []
    threads = [threading.Thread(target=lambda n=n: statuses.append(
        patch(entity, hook, {"eventos": EVENTS[:n]}, {**MERGE_PATCH, "If-Match": etag}).status)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + [412] * 7


def test_what_waits_follows_the_new_url(entity, receiver, stack):
    hook, other = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.cerrada"])
    receiver.behave(hook.path, Behaviour(status=503, headers={"Retry-After": "3600"}))
    delivery = stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: stack.attempts(delivery), what="a failure")
    moved = patch(entity, hook, {"url": other.url})
    assert (moved.status, moved.json()["url"]) == (200, other.url)
    stack.wait_delivery(delivery, "entregada")
    assert receiver.wait(other.path)[0].headers["x-webhook-event"] == "evaluacion.abierta"
    assert len(receiver.requests(hook.path)) == 1
    assert seen(entity, hook).json()["fallaDesde"] is None


def test_an_entity_stops_a_webhook_and_starts_it_again(entity, receiver, stack):
    hook = entity.register()
    stopped = patch(entity, hook, {"activo": False}).json()
    assert (stopped["activo"], stopped["motivo"]) == (False, "entidad")
    assert stopped["inactivoDesde"] and stopped["inactivoDesde"] >= stopped["fechaAlta"]
    assert patch(entity, hook, {"nombre": "en pausa"}).json()["inactivoDesde"] == stopped["inactivoDesde"]
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "retenida")
    started = patch(entity, hook, {"activo": True}).json()
    assert (started["activo"], started["motivo"], started["inactivoDesde"]) == (True, None, None)
    stack.wait_delivery(delivery, "entregada")


def test_to_activate_an_active_webhook_ends_its_streak_of_failures(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "fallida")
    before = seen(entity, hook)
    assert before.json()["fallaDesde"] is not None
    after = patch(entity, hook, {"activo": True})
    assert (after.status, after.json()["activo"], after.json()["fallaDesde"]) == (200, True, None)
    assert after.headers["etag"] == before.headers["etag"] and after.json()["fechaModificacion"] == before.json()["fechaModificacion"]
    wait_until(lambda: stack.value(f"SELECT fallos FROM webhook_ejecuciones WHERE webhook_id = {hook.id}") == "0", what="the streak to end")
    detail = json.loads(stack.admin("audit", "list", "--webhook", hook.id)[-1]["detalle"])
    assert detail == {"fallaDesde": {"antes": before.json()["fallaDesde"], "ahora": None}}
    patch(entity, hook, {"activo": True})
    assert len(stack.admin("audit", "list", "--webhook", hook.id)) == 2, "there was nothing to change"


def test_reactivation_retries_a_pending_delivery_at_once(entity, receiver, stack):
    """Every 5 s the dispatcher looks for deliveries to hold, so it rarely holds this one while the webhook is inactive."""
    with stack.dispatcher_with(APIENTIDADES_DELIVERY_RETRY_SCHEDULE="1h,1h"):
        hook = entity.register()
        receiver.behave(hook.path, Behaviour(status=500), Behaviour())
        delivery = stack.delivery_id(entity.notify(), hook.id)
        wait_until(lambda: stack.attempts(delivery), what="a failure")
        patch(entity, hook, {"activo": False})
        patch(entity, hook, {"activo": True})
        stack.wait_delivery(delivery, "entregada")


def test_what_the_operator_disabled_only_the_operator_enables(entity, stack):
    hook = entity.register()
    patch(entity, hook, {"activo": False})
    stack.admin("webhook", "disable", hook.id)
    refused = patch(entity, hook, {"activo": True, "eventos": EVENTS[:1]})
    assert (refused.status, refused.json()["message"]) == (409, "El operador ha desactivado el webhook y solo él puede reactivarlo")
    assert seen(entity, hook).json()["motivo"] == "operador" and entity.listed(hook)["eventos"] == EVENTS
    assert patch(entity, hook, {"eventos": EVENTS[:1]}).status == 200
    stack.admin("webhook", "enable", hook.id)
    assert seen(entity, hook).json()["activo"] is True


@pytest.mark.parametrize("changes, message", [
    ({"url": None}, "url: no puede estar vacía; indique la dirección https:// que recibirá los avisos"),
    ({"url": "http://x.example.com/"}, "url: debe empezar por https://, en minúsculas"),
    ({"url": "https://10.0.0.1/"}, "url: no puede apuntar a una dirección local, privada o reservada; use un nombre de dominio público"),
    ({"eventos": None}, "eventos: indique al menos un evento"), ({"eventos": []}, "eventos: indique al menos un evento"),
    ({"eventos": ["nada"]}, "Eventos no válidos: nada"), ({"activo": None}, "activo: debe ser true o false"),
    ({"activo": "true"}, "activo: debe ser true o false"), ({"activo": 1}, "activo: debe ser true o false"),
    ({"secreto": "otro"}, "secreto: se cambia con PUT /apientidades/v1/webhooks/{id}/secreto"), ({"id": 7}, "Solo se pueden cambiar url, eventos, activo y nombre"),
    ({"fechaAlta": "2026-01-01T00:00:00Z", "activo": False}, "Solo se pueden cambiar url, eventos, activo y nombre"),
    ([], "El cuerpo debe ser un objeto JSON")])
def test_a_change_that_cannot_be_made_changes_nothing(entity, changes, message):
    hook = entity.register()
    before = seen(entity, hook).text
    response = patch(entity, hook, changes)
    assert (response.status, response.json()["message"]) == (400, message)
    assert seen(entity, hook).text == before


def test_the_order_of_checks(entity, new_entity):
    hook = entity.register()
    other = new_entity()
    bad, good = b"{", b'{"activo": true}'
    path = f"{BASE}/{hook.id}"
    assert entity.api("PATCH", path, body=good, headers={"Content-Type": "text/plain"}).status == 415
    assert "application/merge-patch+json" in entity.api("PATCH", path, body=good, headers={"Content-Type": "text/plain"}).headers["accept-patch"]
    assert entity.api("PATCH", path, body=good, headers={"Content-Type": "application/json"}).status == 200
    assert other.api("PATCH", path, body=bad, headers=MERGE_PATCH).status == 400
    for response in (other.api("PATCH", path, body=good, headers={**MERGE_PATCH, "If-Match": '"x"'}), other.api("GET", path),
                     entity.api("PATCH", f"{BASE}/999999999", body=good, headers=MERGE_PATCH), entity.api("GET", f"{BASE}/0{hook.id}")):
        assert (response.status, response.json()["message"]) == (404, "No existe ningún webhook con ese identificador")
    assert entity.api("PATCH", path, body=b" " * 65537, headers=MERGE_PATCH).status == 413
    reader = entity.issue_token("--read-only")
    for method, below in (("PATCH", ""), ("PUT", "/secreto"), ("DELETE", "/secreto/anterior"), ("POST", "/reenvios"), ("POST", "/entregas/1/reenvio")):
        refused = entity.stack.api(method, path + below, reader, body=bad, headers={"Content-Type": "text/plain"})
        assert (refused.status, refused.message) == (403, "El token de acceso es de solo lectura: no permite cambiar nada"), "403 precedes 415"
    entity.stack.admin("webhook", "disable", hook.id)
    assert patch(entity, hook, {"activo": True}, {**MERGE_PATCH, "If-Match": '"x"'}).status == 409, "409 comes before 412"
    assert patch(entity, hook, {"activo": False}, {**MERGE_PATCH, "If-Match": '"x"'}).status == 412
    assert entity.api("GET", path + "?x=1").status == 400


def test_every_change_is_on_record_with_its_token(entity, stack):
    hook = entity.register(EVENTS[:1])
    patch(entity, hook, {"eventos": EVENTS[:2]})
    patch(entity, hook, {"eventos": EVENTS[:2]})
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
    token = stack.admin("token", "list", "--entity", entity.id)[0]["id"]
    entries = [e for e in stack.admin("audit", "list", "--entity", entity.id) if not e["operador"]]
    assert [(e["accion"], e["objeto"], e["token_id"]) for e in entries] == [
        (what, f"webhook {hook.id}", token) for what in ("alta", "cambio", "baja")]
    assert json.loads(entries[1]["detalle"]) == {"eventos": {"antes": EVENTS[:1], "ahora": EVENTS[:2]}}
    assert hook.secret not in json.dumps(entries)
    assert entries == stack.admin("audit", "list", "--webhook", hook.id)


def test_many_changes_in_an_hour_are_too_many(entity, stack):
    hook = entity.register()
    stack.stop("fcgi")
    stack.start("fcgi", APIENTIDADES_LIMITS_REGISTRATIONS="3")
    try:
        statuses = [patch(entity, hook, {"url": f"https://h{n}.example.com/"}) for n in range(5)]
        assert [r.status for r in statuses] == [200, 200, 200, 429, 429]
        assert int(statuses[-1].headers["retry-after"]) > 0
        assert "demasiados registros y cambios de webhooks y de contactos: el máximo es 3 por hora" in statuses[-1].json()["message"]
        for change in ({"eventos": EVENTS[:1]}, {"activo": False}):
            assert patch(entity, hook, change).status == 429, "each change is a row of the audit"
        assert entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "otro"}).status == 429
        leaked = entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "otro", "graciaSegundos": 0})
        assert leaked.status == 200, "the replacement of a leaked secret is never limited"
        assert patch(entity, hook, {}).status == 200, "nothing changes"
    finally:
        stack.stop("fcgi")
        stack.start("fcgi")


def test_a_disabled_url_stays_disabled_for_its_entity(entity, stack):
    hook, other = entity.register(EVENTS[:1]), entity.register(EVENTS[:1])
    name = hook.url.removeprefix("https://")
    host, path = name.split("/")
    spellings = [hook.url, f"https://{host.upper()}/{path}", f"https://{host}//{path}", f"https://{host}/x/..//%{ord(path[0]):x}{path[1:]}",
                 f"https://{host.replace(':', '.:')}/{path}", f"{hook.url}?"]
    stack.admin("webhook", "disable", hook.id)
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
    for url in spellings:
        created = entity.api("POST", BASE, json_body={"url": url, "eventos": EVENTS[:1]})
        assert created.status == 201 and created.json()["activo"] is False, url
        again = f"{BASE}/{created.json()['id']}"
        assert entity.api("GET", again).json()["motivo"] == "operador", "the entity reads why"
        assert entity.api("PATCH", again, json_body={"activo": True}).status == 409
        assert entity.api("DELETE", again).status == 200
        refused = patch(entity, other, {"url": url})
        assert (refused.status, refused.message) == (409, "url: el operador la ha desactivado para la entidad y solo él puede reactivarla"), url
    assert seen(entity, other).json()["url"] == other.url
    listed = [row for row in stack.admin("webhook", "urls", "--entity", entity.id)]
    assert [row["url"] for row in listed] == [hook.url]
    stack.admin("webhook", "lift", "--entity", entity.id, "--url", spellings[-1])
    assert patch(entity, other, {"url": hook.url}).json()["activo"] is True
