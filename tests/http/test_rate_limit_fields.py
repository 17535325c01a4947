"""The fields RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10): nginx gives the policies of its limits with every
answer, the API also what is left of a quota of the entity, with each success that used it and each 429."""
import re
from urllib.request import urlopen

import pytest

from support.actors import BASE
from support.nginx import SNIPPETS, own_nginx
from support.stack import setting
from support.wait import wait_until

EVENT = "evaluacion.abierta"
ADDED = "add_header RateLimit-Policy $apientidades_rate_policy always;"
LIMITS = {"cambios": (12, 3600), "reenvios": (6, 3600), "diagnosticos": (3, 3600), "bytes-de-prueba": (65536, 86400),
          "reenviadas": (100, 86400)}


@pytest.fixture(scope="module")
def limited(stack):
    with stack.part_with("fcgi", **setting(limits_registrations="12", limits_replay_requests="6", limits_diagnostics="3",
                                           limits_test_bytes="64KiB", limits_replayed="100")):
        yield


POLICIES = '"direccion";q=1800;w=60, "token";q=600;w=60, "pruebas";q=30;w=60'


def fields(answer, name: str) -> tuple[int, int]:
    """What is left of the quota `name`, whose policy the answer also has, and the seconds until there is more."""
    quota, window = LIMITS[name]
    assert re.search(rf'"{name}";q={quota}(;qu="content-bytes")?;w={window}', answer.headers["ratelimit-policy"]), answer.headers
    found = re.fullmatch(rf'"{name}";r=(\d+);t=(\d+)', answer.headers["ratelimit"])
    assert found, answer.headers["ratelimit"]
    remaining, more = map(int, found.groups())
    assert 0 <= remaining <= quota and 0 <= more <= window
    assert (remaining == quota) == (more == 0)
    return remaining, more


def left(answer, name: str) -> int:
    return fields(answer, name)[0]


def test_without_a_limit_there_is_no_field(entity):
    assert "ratelimit" not in entity.api("POST", BASE, json_body={"url": "https://hooks.example.com/", "eventos": [EVENT]}).headers


def test_what_is_left_goes_down_and_ends_in_a_429(limited, entity):
    body = {"url": "https://hooks.example.com/cuota", "eventos": [EVENT]}
    first = entity.api("POST", BASE, json_body=body)
    path = f"{BASE}/{first.json()['id']}"
    changes = [first] + [entity.api("PATCH", path, json_body={"eventos": [EVENT, event]})
                         for event in ("documento.disponible", "evaluacion.cerrada")]
    changes.append(entity.api("PUT", path + "/secreto", json_body={"secreto": "s" * 32, "graciaSegundos": 0}))
    assert [answer.status for answer in changes] == [201, 200, 200, 200]
    assert [left(answer, "cambios") for answer in changes] == [11, 10, 9, 9], "a leaked secret's replacement is not counted"
    invalid = entity.api("PATCH", path, json_body={"eventos": []})
    assert invalid.status == 400 and "ratelimit" not in invalid.headers, "no quota was used"
    while (last := entity.api("POST", BASE, json_body=body)).status == 201:
        assert entity.api("DELETE", f"{BASE}/{last.json()['id']}").status == 200
    assert last.status == 429
    remaining, more = fields(last, "cambios")
    assert remaining == 0 and int(last.headers["retry-after"]) == more <= 3600 / 12


def test_each_quota_says_its_own(limited, entity):
    hook = entity.register()
    path = f"{BASE}/{hook.id}"
    test = entity.api("POST", BASE + "/test", json_body={"evento": EVENT})
    assert test.status == 200 and 0 < left(test, "bytes-de-prueba") < 65536 - 1024
    simulated = entity.api("POST", path + "/reenvios", json_body={"desde": "2026-01-01T00:00:00Z", "simular": True})
    assert left(simulated, "reenvios") == 5, simulated
    assert left(entity.api("POST", path + "/diagnostico"), "diagnosticos") == 2
    entity.notify()
    wait_until(lambda: entity.api("GET", path + "/entregas?estado=entregada").json()["entregas"], what="the deliveries")
    delivery = entity.api("GET", path + "/entregas?estado=entregada").json()["entregas"][0]["id"]
    replay = entity.api("POST", f"{path}/entregas/{delivery}/reenvio")
    assert replay.status == 202 and left(replay, "reenviadas") == 99, replay


def test_a_429_names_the_quota_that_refused(limited, stack, entity):
    """A replay of a range uses two: the answer to a success says what is left of its requests."""
    hook = entity.register()
    stack.sql("INSERT INTO reenvios (entidad_id, webhook_id, estado, candidatas, tope, reenviadas, terminado_en)"
              f" VALUES ({entity.id}, {hook.id}, 'terminado', 100, 100, 100, UTC_TIMESTAMP(3))")
    refused = entity.api("POST", f"{BASE}/{hook.id}/reenvios", json_body={"desde": "2026-01-01T00:00:00Z"})
    assert refused.status == 429 and left(refused, "reenviadas") == 0, refused


def test_every_answer_has_the_policies_of_nginx(limited, stack, entity):
    with stack.part_with("nginx", **setting(limits_requests_per_address="1800", limits_requests_per_token="600",
                                            limits_test_requests_per_token="30")):
        for answer in (entity.api("GET", BASE), stack.api("GET", BASE), stack.api("GET", "/nada"), entity.api("DELETE", f"{BASE}/1"),
                       *(stack.api("GET", f"/apientidades/{path}") for path in ("openapi.json", "docs/", "portal/", "docs/nada"))):
            assert answer.headers["ratelimit-policy"] == POLICIES and "ratelimit" not in answer.headers, answer
        registered = entity.api("POST", BASE, json_body={"url": "https://hooks.example.com/", "eventos": [EVENT]})
        assert left(registered, "cambios") == 11 and POLICIES in registered.headers["ratelimit-policy"]


def test_nginx_starts_with_the_zones_of_an_earlier_release(tmp_path):
    """An upgrade installs the site before `apientidades-admin nginx limits` has written these files again."""
    tmp_path.joinpath("zones.conf").write_text('map "" $apientidades_limit_wait { default 1; }\n')
    site = (f"include {SNIPPETS}/apientidades-limit-keys.conf; include {tmp_path}/zones.conf;"
            f" server {{ listen 127.0.0.1:PORT; location / {{ {ADDED} return 200 ok; }} }}")
    with own_nginx(site) as port, urlopen(f"http://127.0.0.1:{port}/") as answer:
        assert answer.read() == b"ok" and answer.headers["RateLimit-Policy"] is None
