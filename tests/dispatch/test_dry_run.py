"""`--dry-run` counts what a command would change, and changes nothing."""
import pytest

from support.actors import BASE

# The tables with rows of an entity, and the column by which they are found.
TABLES = {"entidades": "id", "webhooks": "entidad_id", "notificaciones_pendientes": "entidad_id", "reenvios": "entidad_id",
          "urls_desactivadas": "entidad_id", "auditoria": "entidad_id", "entregas": "webhook_id", "webhook_ejecuciones": "webhook_id",
          "cambios_webhook": "webhook_id"}


@pytest.fixture
def waiting(entity, stack):
    """A webhook with three pending deliveries, to which nothing is sent."""
    hook = entity.register()
    stack.admin("queue", "pause", "--webhook", hook.id)
    notifications = [entity.notify() for _ in range(3)]
    deliveries = [stack.delivery_id(one, hook.id) for one in notifications]
    yield hook, notifications, deliveries
    stack.admin("queue", "resume", "--webhook", hook.id)


@pytest.fixture
def preview(entity, stack):
    """Runs a command with --dry-run, which must change nothing of the entity."""
    def contents():
        webhooks = f"SELECT id FROM webhooks WHERE entidad_id = {entity.id}"
        own = {"webhook_id": webhooks}
        readable = {"webhooks": "activo, motivo, url", "auditoria": "id, accion, detalle"}  # the rest has bytes
        return [stack.sql(f"SELECT {readable.get(table, '*')} FROM {table} WHERE {column} IN ({own.get(column, entity.id)})")
                for table, column in TABLES.items()]

    def run(*words):
        before = contents()
        shown = stack.admin(*words, "--dry-run")
        assert contents() == before and shown["simulacion"] is True
        return shown
    return run


def test_retry_of_a_webhooks_deliveries(waiting, stack, preview):
    hook, _, (first, second, _) = waiting
    stack.sql(f"UPDATE entregas SET estado = 'fallida', terminada_en = UTC_TIMESTAMP(3) WHERE id = {first}")
    stack.sql(f"UPDATE entregas SET paso = 1, proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 DAY WHERE id = {second}")
    retry = ("delivery", "retry", "--webhook", hook.id, "--since")
    assert preview(*retry, "2099-01-01")["reintentadas"] == 0
    counted = preview(*retry, "1h")
    assert counted["reintentadas"] == 2
    assert "that would be due now: 2." in stack.dev("admin", *retry, "1h", "--dry-run").stdout
    made = stack.admin(*retry, "1h")
    assert made["reintentadas"] == 2 and "simulacion" not in made and preview(*retry, "1h")["reintentadas"] == 0
    assert stack.try_admin("delivery", "retry", first, "--dry-run").returncode == 2


def test_enable_and_discard_of_a_webhook(waiting, stack, preview):
    hook, _, (first, *_) = waiting
    stack.sql(f"UPDATE entregas SET estado = 'retenida' WHERE id = {first}")
    stack.sql(f"UPDATE webhooks SET activo = FALSE, motivo = 'http_410' WHERE id = {hook.id}")
    stack.sql(f"UPDATE entregas SET estado = 'retenida' WHERE webhook_id = {hook.id}")
    released = preview("webhook", "enable", hook.id)
    assert (released["entregas_liberadas"], released["entregas_canceladas"], released["activo"]) == (3, 0, False)
    discarded = preview("webhook", "enable", hook.id, "--discard")
    assert (discarded["entregas_liberadas"], discarded["entregas_canceladas"]) == (0, 3)
    made = stack.admin("webhook", "enable", hook.id, "--discard")
    assert (made["entregas_liberadas"], made["entregas_canceladas"], made["activo"]) == (0, 3, True)


def test_disable_of_a_webhook_and_of_an_entity(waiting, entity, stack, preview):
    hook, *_ = waiting
    shown = preview("webhook", "disable", hook.id)
    assert (shown["entregas_pendientes"], shown["en_curso"], shown["activo"]) == (3, 0, True)
    stack.admin("token", "issue", "--entity", entity.id)
    shown = preview("entity", "disable", entity.id)
    assert [shown[name] for name in ("activa", "tokens", "webhooks", "entregas_pendientes")] == [True, 2, 1, 3]
    assert entity.api("GET", BASE).status == 200
    text = stack.dev("admin", "entity", "disable", entity.id, "--dry-run").stdout
    assert "would be disabled: 2 tokens, 1 webhooks; deliveries held: 3." in text
    stack.admin("entity", "disable", entity.id)
    stack.sql(f"UPDATE entregas SET estado = 'retenida' WHERE webhook_id = {hook.id}")
    shown = preview("entity", "enable", entity.id)
    assert (shown["activa"], shown["entregas_retenidas"]) == (False, 3)


def test_cancel_of_a_notification(waiting, stack, preview):
    _, (first, second, _), (delivery, *_) = waiting
    shown = preview("notification", "cancel", first)
    assert (shown["estado"], shown["entregas_canceladas"], shown["entregas_en_curso"]) == ("procesada", 1, 0)
    assert stack.admin("notification", "cancel", first)["entregas_canceladas"] == 1
    assert stack.delivery(delivery)["estado"] == "cancelada"
    refused = stack.try_admin("notification", "cancel", first, "--dry-run")
    assert refused.returncode == 1 and refused.stderr == stack.try_admin("notification", "cancel", first).stderr
    assert "would be cancelada; deliveries cancelled: 1." in stack.dev("admin", "notification", "cancel", second, "--dry-run").stdout


@pytest.mark.parametrize("command, becomes", [("retry", "pendiente again"), ("discard", "cancelada")])
def test_retry_and_discard_of_a_notification(entity, stack, preview, command, becomes):
    rejected = stack.notify(entity.id, "evaluacion.abierta", "{}")
    stack.wait_notification(rejected, "rechazada")
    assert preview("notification", command, rejected)["estado"] == "rechazada"
    assert f"would be {becomes}." in stack.dev("admin", "notification", command, rejected, "--dry-run").stdout
    stack.admin("notification", "discard", rejected)
    refused = stack.try_admin("notification", command, rejected, "--dry-run")
    assert refused.returncode == 1 and refused.stderr == stack.try_admin("notification", command, rejected).stderr


def test_cancel_of_a_replay(waiting, entity, stack, preview):
    hook, *_ = waiting
    stack.sql(f"UPDATE entregas SET estado = 'fallida', terminada_en = UTC_TIMESTAMP(3) WHERE webhook_id = {hook.id}")
    stack.stop("dispatcher")  # the replay would be over before it is cancelled
    try:
        asked = entity.api("POST", f"{BASE}/{hook.id}/reenvios", json_body={"desde": "2000-01-01T00:00:00Z"})
        assert asked.status == 202, asked
        replay = asked.json()["reenvio"]["id"]
        shown = preview("replay", "cancel", replay)
        assert shown["candidatas"] == 3 and shown["estado"] in ("pendiente", "en_curso")
        assert stack.admin("replay", "cancel", replay)["estado"] == "cancelado"
    finally:
        stack.start("dispatcher")
    refused = stack.try_admin("replay", "cancel", replay, "--dry-run")
    assert refused.returncode == 1 and refused.stderr == stack.try_admin("replay", "cancel", replay).stderr
