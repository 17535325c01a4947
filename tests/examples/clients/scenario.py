"""The calls that each program of this folder makes with its generated client, and what it prints of the answers, a line for each.

The entity has one webhook, WEBHOOK, subscribed to every event, with three deliveries of evaluacion.abierta about evaluation 42. The program
registers a second one for URL_OF_RECEIVER. With the argument `refused`, a program only lists the webhooks, and prints the error.
"""
from __future__ import annotations

ERRORS = {  # what the program does -> the status and the message that it prints
    "registers http://example.org": "400 url: debe empezar por https://, en minúsculas",
    "lists the webhooks with the token no-vale": "401 El token de acceso no es válido, ha caducado o ha sido revocado",
    "deletes its webhook with the token TOKEN_READ_ONLY": "403 El token de acceso es de solo lectura: no permite cambiar nada",
    "shows the webhook 1": "404 No existe ningún webhook con ese identificador",
    "changes the secret to a third one": "409 El secreto anterior sigue en vigor hasta ",
    "triggers a test with 70 000 bytes": "413 El cuerpo de la petición supera los 64 KiB",
    "registers again with the same key, and another body": "422 Esta Idempotency-Key ya se ha usado con otro cuerpo: use otra para otro registro",
}


def expected(webhook: int, receivers_status: int, diagnosis: list[str]) -> list[str]:
    """The lines, or how they begin."""
    return [
        "events 11",  # how many events the catalogue has
        f"list {webhook}",  # the ids of the webhooks
        "create true true",  # registers with the Idempotency-Key `alta`: activo, and whether fechaAlta is of these two days
        "get true null true",  # shows it: its id is the one that was registered; motivo; tieneSecreto
        "patch evaluacion.abierta",  # with the ETag that was shown: the events that remain
        "error 412 El webhook ha cambiado desde la versión que indica If-Match: vuelva a consultarlo",  # with the same ETag
        "secret true",  # changes the secret: secretoAnteriorHasta is in the future
        f"test {webhook}",  # triggers a test of documento.disponible: the ids of the webhooks
        "log 2 1 null",  # evaluacion.abierta, since a day ago and until a day from now, two a page: the pages' sizes; the last siguiente
        f"delivery entregada {receivers_status} 42",  # the newest: its state, the status of its first attempt, the evaluation of its body
        "replay 1",  # replays it, and waits until all are delivered: entregadas
        "simulate 3 true",  # simulates the replay of what was delivered in these two days: candidatas, exacto
        "replays 3",  # replays it, and waits until all are delivered: entregadas
        " ".join(["diagnosis", *diagnosis]),  # asks for a diagnosis, and waits for its end: each check, and its result
        "statistics 7d 3 0",  # of seven days: ventana, entregadas, fallidas
        *(f"error {error}" for error in ERRORS.values()),
        "delete true",  # deletes its webhook: the message names it
        f"later {webhook} true",  # lists the webhooks and the log of an API with more fields: the ids, and that there are more than 2 deliveries
    ]
