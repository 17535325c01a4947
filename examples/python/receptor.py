"""Receptor de avisos de apientidades, con la biblioteca oficial de Standard Webhooks.

    python3 -m venv entorno && entorno/bin/pip install -r requirements.txt
    RECEPTOR_CERT=cadena.pem RECEPTOR_CLAVE=clave.pem RECEPTOR_SECRETO='whsec_…' entorno/bin/python receptor.py
"""
import json
import logging
import os
import queue
import re
import ssl
import sys
import threading
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

MAXIMO = 1_000_000  # bytes del cuerpo: ningún aviso llega a tanto
RECORDADOS = 10_000  # avisos que se recuerdan, para no procesar dos veces una repetición


def variable(nombre):
    """Una variable en blanco, o con «whsec_» sin nada detrás, es como ninguna: con una clave vacía firma cualquiera."""
    valor = os.environ.get(nombre, "")
    return "" if valor.strip() in ("", "whsec_") else valor


def obligatoria(nombre):
    return variable(nombre) or sys.exit(f"{nombre} falta o está incompleta: póngala como dicen las primeras líneas de receptor.py")


def verificador(secreto):
    # La biblioteca descodifica el base64 de un secreto whsec_…; la clave de cualquier otro secreto son sus bytes.
    return Webhook(secreto if secreto.startswith("whsec_") else os.fsencode(secreto))


# Mientras se cambia el secreto valen los dos: el nuevo y el anterior.
SECRETOS = [obligatoria("RECEPTOR_SECRETO"), variable("RECEPTOR_SECRETO_ANTERIOR")]
VERIFICADORES = [verificador(secreto) for secreto in SECRETOS if secreto]
pendientes = queue.Queue()
vistos = OrderedDict()
cerrojo = threading.Lock()


def es_autentico(cuerpo, cabeceras):
    """Comprueba la firma de los bytes tal como llegaron, y que la hora de `webhook-timestamp` no difiera en más de
    5 minutos de la de este equipo."""
    for webhook in VERIFICADORES:
        try:
            webhook.verify(cuerpo, cabeceras, json_parse=False)
            return True
        except (WebhookVerificationError, ValueError):  # ValueError: la cabecera ni siquiera es una firma
            pass
    return False


def guardar(identificador, cuerpo):
    """Guarda el aviso solo la primera vez que llega. En su programa: un INSERT en su base de datos, con `webhook-id` como
    clave única, para no procesar dos veces una repetición ni perder avisos en un corte de luz."""
    with cerrojo:
        if identificador in vistos:
            return
        vistos[identificador] = True
        if len(vistos) > RECORDADOS:
            vistos.popitem(last=False)
    pendientes.put((identificador, cuerpo))


def procesar(identificador, aviso):
    """Lo que su programa haga con el aviso. Se ejecuta en otro hilo, sin que la respuesta espere."""
    print("procesado", identificador, aviso["evento"], json.dumps(aviso["data"], ensure_ascii=False), flush=True)


def trabajar():
    while True:
        identificador, cuerpo = pendientes.get()
        try:
            procesar(identificador, json.loads(cuerpo))
        except Exception:  # el fallo con un aviso, también al leer su JSON, se escribe y no detiene los siguientes
            logging.exception("no se ha podido procesar %s", identificador)


class Receptor(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Segundos por lectura: quien calla no ocupa un hilo para siempre. Quien envía un byte de vez en cuando sí lo ocupa, y el
    # número de hilos no tiene límite: en Internet, ponga delante un proxy que reciba la petición entera antes de pasarla
    # (nginx lo hace).
    timeout = 20

    def do_POST(self):
        cuerpo = self.leer()
        if isinstance(cuerpo, int):
            self.close_connection = True
            return self.responder(cuerpo)
        if not es_autentico(cuerpo, dict(self.headers)):
            return self.responder(401)
        guardar(self.headers["webhook-id"], cuerpo)
        self.responder(204)

    def leer(self):
        """El cuerpo tal como llega, o el estado con que se rechaza. Un proxy puede enviarlo en trozos, sin decir su longitud."""
        codificacion = self.headers.get("Transfer-Encoding")
        if codificacion is not None:
            self.close_connection = True  # con Content-Length además, lo que sigue podría no ser otra petición
            return self.leer_trozos() if codificacion.lower() == "chunked" else 501
        longitud = self.headers.get("Content-Length")
        if longitud is None:
            return 411
        if not (longitud.isascii() and longitud.isdigit() and len(longitud) < 10) or int(longitud) > MAXIMO:
            return 413
        return self.rfile.read(int(longitud))

    def leer_trozos(self):
        cuerpo, leidos = bytearray(), 0
        while True:
            linea = self.rfile.readline(1000)
            longitud = re.fullmatch(rb"([0-9A-Fa-f]{1,9})\s*(;.*)?\r\n", linea)
            if not longitud:
                return 400
            restante = int(longitud[1], 16)
            leidos += len(linea) + restante
            if leidos > MAXIMO:
                return 413
            if not restante:
                break
            cuerpo += self.rfile.read(restante)
            if self.rfile.readline(2) != b"\r\n":
                return 400
        for _ in range(100):  # cabeceras que pueden seguir al último trozo
            if self.rfile.readline(1000) == b"\r\n":
                return bytes(cuerpo)
        return 400

    def responder(self, estado):
        self.send_response(estado)
        if estado != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, formato, *valores):
        pass


class Servidor(ThreadingHTTPServer):
    request_queue_size = 128  # conexiones que esperan turno cuando llegan muchos avisos a la vez


if __name__ == "__main__":
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(obligatoria("RECEPTOR_CERT"), obligatoria("RECEPTOR_CLAVE"))
    servidor = Servidor(("", int(os.environ.get("RECEPTOR_PUERTO", "8443"))), Receptor)
    # Cada hilo negocia el TLS de su conexión: una negociación que se queda a medias no detiene las demás conexiones.
    servidor.socket = tls.wrap_socket(servidor.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=trabajar, daemon=True).start()
    print("escuchando en el puerto", servidor.server_port, flush=True)
    servidor.serve_forever()
