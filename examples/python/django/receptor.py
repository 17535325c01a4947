"""Receptor de avisos de apientidades en Django, con la biblioteca oficial de Standard Webhooks. Python 3.11 o posterior.

    python3 -m venv entorno && entorno/bin/pip install -r requirements.txt
    RECEPTOR_SECRETO='whsec_…' entorno/bin/uvicorn --port 8080 receptor:aplicacion

Escucha solo en este equipo: el certificado es del servidor web que le pasa las peticiones (nginx, Apache…).
"""
import json
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

RECORDADOS = 10_000  # avisos que se recuerdan, para no procesar dos veces una repetición
SECRETO = os.environ.get("RECEPTOR_SECRETO", "")
if SECRETO.strip() in ("", "whsec_"):
    raise SystemExit("falta RECEPTOR_SECRETO: con una clave vacía firma cualquiera")
# La biblioteca descodifica el base64 de un secreto whsec_…; la clave de cualquier otro secreto son sus bytes.
WEBHOOK = Webhook(SECRETO if SECRETO.startswith("whsec_") else os.fsencode(SECRETO))
vistos, cerrojo, aparte = {}, threading.Lock(), ThreadPoolExecutor(1)


def es_autentico(cuerpo, cabeceras):
    """Comprueba la firma de los bytes tal como llegaron, y que la hora no difiera en más de 5 minutos de la de este equipo."""
    try:
        WEBHOOK.verify(cuerpo, cabeceras, json_parse=False)
        return True
    except (WebhookVerificationError, ValueError):  # ValueError: la cabecera ni siquiera es una firma
        return False


def es_nuevo(identificador):
    """En su programa: un INSERT en su base de datos, con `webhook-id` como clave única."""
    with cerrojo:
        if identificador in vistos:
            return False
        vistos[identificador] = True
        if len(vistos) > RECORDADOS:
            del vistos[next(iter(vistos))]
        return True


def procesar(identificador, cuerpo):
    """Lo que su programa haga con el aviso. Se ejecuta en otro hilo, sin que la respuesta espere."""
    try:
        aviso = json.loads(cuerpo)
        # La línea entera de una vez: uvicorn escribe en la misma salida desde otro hilo.
        print(f"procesado {identificador} {aviso['evento']} {json.dumps(aviso['data'], ensure_ascii=False)}\n", end="", flush=True)
    except Exception:
        logging.exception("no se ha podido procesar %s", identificador)


@csrf_exempt  # quien envía el aviso no es un formulario de la web: lo autentica la firma
@require_POST
def avisos(request):
    cuerpo = request.body  # los bytes tal como llegaron
    if not es_autentico(cuerpo, request.headers):
        return HttpResponse(status=401)
    if es_nuevo(request.headers["webhook-id"]):
        aparte.submit(procesar, request.headers["webhook-id"], cuerpo)
    return HttpResponse(status=204)


settings.configure(ROOT_URLCONF=__name__, MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"])
urlpatterns = [path("avisos", avisos)]
aplicacion = get_asgi_application()
