"""The test knows the bytes of answers and notifications. `./dev test --mysql` runs it with MySQL instead of MariaDB, and the
bytes must be the same. The test replaces only what must differ (ids, times and the receiver's address) by a name."""
import re

from fakes import verify
from fakes.receiver import Behaviour
from support.actors import BASE
from support.wait import wait_until

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
EVENTS = ["resultados.definitivos", "evaluacion.abierta", "evaluacion.abierta"]  # not in order, and one of them twice
DATA = '{ "titulo":"ñ \\u00f1 😀 \\/ ",\t"evaluacionId" : 42, "z":[7.50,1e2,-0], "a":{} }'
LISTED = ('[{"id":ID,"url":"URL","eventos":["evaluacion.abierta","resultados.definitivos"],"activo":true,"fechaAlta":"HORA",'
          '"ultimaEjecucion":%s,"ultimoEstado":%s,"ultimoError":"%s"}]')


def test_answers_and_notifications(new_entity, receiver):
    entity = new_entity(name='Entidad "ñ" \\ 😀')
    hook = entity.register(EVENTS, secret="clave ñ € 😀")
    names = {hook.url: "URL", f'"id":{hook.id},': '"id":ID,', f'"entidadId": {entity.id},': '"entidadId": ENTIDAD,'}

    def named(text):
        for value, name in names.items():
            text = text.replace(value, name)
        return TIME.sub("HORA", text)

    def answer(method, path="", body=None):
        response = entity.api(method, BASE + path, json_body=body)
        return response.status, named(response.text)

    def arrived(count):
        request = receiver.wait(hook.path, count)[count - 1]
        assert verify.problems(request.headers, request.body, hook.secret) == []
        return request.body.decode()

    def listed(status):
        wait_until(lambda: entity.listed(hook)["ultimoEstado"] == status, what=f"the listing to show {status}")
        return answer("GET")

    assert answer("GET") == (200, LISTED % ("null", "null", ""))
    assert answer("POST", "", {"url": hook.url, "eventos": ["b ñ", "evaluacion.abierta", "a"]}) == (
        400, '{"message":"Eventos no válidos: b ñ, a"}')
    assert answer("POST", "/test", {"evento": "incidencia.cerrada"}) == (
        404, '{"message":"Ningún webhook activo está suscrito al evento \'incidencia.cerrada\'"}')

    assert answer("POST", "/test", {"evento": "evaluacion.abierta", "datosExtra": {"b": 7.5, "a": "ñ😀"}}) == (
        200, '{"message":"Evento de prueba \'evaluacion.abierta\' encolado para 1 webhook",'
        '"webhooks":[{"id":ID,"url":"URL"}]}')
    assert named(arrived(1)) == (
        '{"evento":"evaluacion.abierta","timestamp":"HORA","data":{"test": true, "entidadId": ENTIDAD, '
        '"entidadNombre": "Entidad \\"ñ\\" \\\\ 😀", "mensaje": "Notificaci\\u00f3n de prueba del evento evaluacion.abierta, lanzada '
        'desde la API de integración.", "datos":{"b":7.5,"a":"ñ😀"}}}')
    assert listed(200) == (200, LISTED % ('"HORA"', 200, ""))

    receiver.behave(hook.path, Behaviour(status=418))
    entity.notify(data=DATA, ocurrida_en="2026-03-29 01:30:00.120")
    assert arrived(2) == '{"evento":"evaluacion.abierta","timestamp":"2026-03-29T01:30:00.120Z","data":' + DATA + "}"
    assert listed(418) == (200, LISTED % ('"HORA"', 418, "El receptor respondió 418: se espera un 2xx"))

    assert answer("DELETE", f"/{hook.id}") == (200, f'{{"message":"Webhook {hook.id} eliminado"}}')
    assert answer("DELETE", f"/{hook.id}") == (404, '{"message":"No existe ningún webhook con ese identificador"}')
    for _ in range(5):
        entity.register()
    assert answer("POST", "", {"url": hook.url, "eventos": EVENTS}) == (400, '{"message":"Máximo 5 webhooks"}')
