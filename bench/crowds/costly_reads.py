"""An entity with 25,000 failed deliveries for each of five webhooks sends requests that search deliveries: how much does
that delay another entity's requests?"""
from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import ssl
import statistics
import threading
import time
from urllib.parse import urlsplit

from bench.crowds.figures import Figure, no_more_than
from bench.crowds.stage import Stage, scaled
from bench.report import percentile, progress
from bench.service import EVENT
from support.actors import BASE

WEBHOOKS, DELIVERIES, ATTEMPTS = 5, 25_000, 10
CONNECTIONS = 32  # of the costly entity; the two handler processes together have as many threads
# On each connection a request begins this many seconds after the one before, or later if that one's answer takes longer:
# EVERY for the costly entity, OTHER_EVERY for the other entity.
EVERY, OTHER_EVERY = 0.1, 0.02
AT_MOST_MORE_MS = 50
ALL = {"desde": "2020-01-01T00:00:00Z"}
CASES = {  # the requests of the costly entity, to each webhook in turn
    "simular": ("POST", "/reenvios", ALL | {"simular": True}),
    "simular, of all states": ("POST", "/reenvios", ALL | {"simular": True, "estados": ["entregada", "fallida"]}),
    "reenvios beyond the quota": ("POST", "/reenvios", ALL),
    "estadisticas": ("GET", "/estadisticas?ventana=7d", None),
    "entregas that nothing fits": ("GET", "/entregas?estado=entregada", None),
}
ANSWERS = (200, 429)


def run(options):
    figures = []
    # limits.replay_requests is 0, which means no limit, because the default would refuse the costly entity's requests after 60.
    # limits.replayed is 1. Each replay would send more than one delivery, so the quota refuses it, and none begins.
    with Stage(options, limits_replay_requests="0", limits_replayed="1") as stage:
        costly, asking = stage.enroll(1, each=WEBHOOKS) + stage.enroll(1)
        tokens = stage.service.add_tokens([costly, asking])
        fail_long_ago(stage, costly, scaled(DELIVERIES, options))
        webhooks = [int(id) for id, in stage.service.sql(f"SELECT id FROM webhooks WHERE entidad_id = {costly}")]
        for name, (method, path, body) in CASES.items():
            requests = [(method, f"{BASE}/{webhook}{path}", body) for webhook in webhooks]
            alone, beside, answered = [], [], []
            for _ in range(options.rounds):
                for into, connections in ((alone, 0), (beside, CONNECTIONS), (alone, 0)):
                    found, count = measure(stage, tokens, requests, connections, options.seconds)
                    into.append(found)
                    answered += [count / options.seconds] if connections else []
            figures += [figure(name, share, alone, beside) for share in (0.5, 0.99)]
            figures.append(Figure(f"{name}, answered a second", statistics.median(answered)))
            progress(f"{name}: another's GET p99 {figures[-2].beside:.1f} ms")
    return figures, stage.facts


def figure(name: str, share: float, alone: list[list[float]], beside: list[list[float]]) -> Figure:
    baselines = [percentile(found, share) for found in alone]
    return Figure(f"{name}, another's GET p{share * 100:.0f} ms", statistics.median(percentile(found, share) for found in beside),
                  tuple(baselines), no_more_than(AT_MOST_MORE_MS, baselines) if share == 0.99 else None)


def fail_long_ago(stage: Stage, entity: int, count: int) -> None:
    """Adds to each webhook of the entity `count` deliveries that exhausted their schedule an hour ago."""
    progress(f"writing {WEBHOOKS} times {count:,} failed deliveries")
    sql = stage.service.sql
    after = stage.service.last("notificaciones_pendientes")
    sql(f"""INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en, estado, terminada_en)
            SELECT {entity}, '{EVENT}', CONCAT('{{"evaluacionId": ', seq, ', "titulo": "Convocatoria 2026"}}'),
                   UTC_TIMESTAMP(3) - INTERVAL 1 HOUR, 'procesada', UTC_TIMESTAMP(3) - INTERVAL 1 HOUR FROM seq_1_to_{count}""")
    sql(f"""INSERT INTO entregas (notificacion_id, webhook_id, creada_en, evento, prueba, estado, intentos, proximo_intento, terminada_en,
                                  ultimo_estado, ultimo_error)
            SELECT n.id, w.id, n.ocurrida_en, n.evento, FALSE, 'fallida', {ATTEMPTS}, n.ocurrida_en, n.terminada_en, 500, 'HTTP 500'
            FROM notificaciones_pendientes n JOIN webhooks w ON w.entidad_id = n.entidad_id
            WHERE n.id > {after} AND n.entidad_id = {entity} ORDER BY n.id, w.id""")
    sql(f"""INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, direccion, estado_http)
            SELECT e.id, seq, e.creada_en, 3, '127.0.0.1', 500
            FROM entregas e JOIN webhooks w ON w.id = e.webhook_id JOIN seq_1_to_{ATTEMPTS} WHERE w.entidad_id = {entity}""")


def measure(stage: Stage, tokens: list[str], requests: list[tuple], connections: int, seconds: float) -> tuple[list[float], int]:
    """tokens[0] sends `requests` over `connections` connections, tokens[1] sends GETs over one. Returns the
    milliseconds of each answer to tokens[1], and the number of answers to tokens[0]."""
    end, found, costly, failures = threading.Event(), [], [], []
    threads = [threading.Thread(target=ask, args=(stage, tokens[1], [("GET", BASE, None)], OTHER_EVERY, end, found, failures))]
    threads += [threading.Thread(target=ask, args=(stage, tokens[0], requests, EVERY, end, costly, failures))
                for _ in range(connections)]
    for thread in threads:
        thread.start()
    end.wait(seconds)
    end.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return found, len(costly)


def ask(stage: Stage, token: str, requests: list[tuple], every: float, end: threading.Event, found: list[float],
        failures: list[Exception]) -> None:
    env = stage.service.stack.env
    address = urlsplit(env["BASE_URL"])
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        with contextlib.closing(http.client.HTTPSConnection(
                address.hostname, address.port, timeout=60, context=ssl.create_default_context(cafile=env["CA_CERT"]))) as connection:
            for method, path, body in itertools.cycle(requests):
                if end.is_set():
                    return
                began = time.monotonic()
                connection.request(method, path, json.dumps(body) if body else None, headers)
                response = connection.getresponse()
                response.read()
                if response.status not in ANSWERS:
                    raise AssertionError(f"{method} {path}: {response.status}")
                found.append((time.monotonic() - began) * 1e3)
                end.wait(every - (time.monotonic() - began))
    except (OSError, http.client.HTTPException, AssertionError) as error:
        end.set()
        failures.append(error)
