#!/usr/bin/env python3
"""Escribe vectores.json: avisos firmados, auténticos y falsos, con los que probar un receptor.

    python3 vectores.py > vectores.json
    python3 vectores.py --ahora "$(date +%s)"    los mismos, como si llegaran en este momento

Un receptor rechaza lo que se firmó hace más de 5 minutos: a un receptor en marcha, envíele avisos hechos con --ahora. Los de
vectores.json son para una función de verificación a la que se pueda dar como hora actual el campo `ahora`.
"""
import argparse
import base64
import hashlib
import hmac
import json

AHORA = 1795168801  # 2026-11-20T10:00:01Z
TOLERANCIA = 300  # segundos

WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NUEVO = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
CORRIENTE = "contraseña 🔑 de España"
PARECE_BASE64 = "c2VjcmV0byBlbiBjbGFybw=="
AJENO = "whsec_" + base64.b64encode(b"el secreto de otro webhook").decode()

EVENTO = "documento.disponible"
CUERPO = ('{"evento":"documento.disponible","timestamp":"2026-11-20T10:00:00.000Z","data":{"documentoId": 3, "declaracionId": 7, '
          '"tipo": 1, "descripcion": "Informe de la señora Peña: nota 7.50 € ✅ 👩‍🎓"}}')


def clave(secreto):
    """Los bytes que codifica el base64 de un secreto whsec_…; si el secreto no es whsec_…, sus propios bytes."""
    return base64.b64decode(secreto[len("whsec_"):]) if secreto.startswith("whsec_") else secreto.encode()


def resumen(llave, texto):
    return hmac.new(llave, texto.encode(), hashlib.sha256)


def firma(secreto, cuerpo):
    """X-Webhook-Signature."""
    return "sha256=" + resumen(secreto.encode(), cuerpo).hexdigest()


def firma_estandar(llave, identificador, hora, cuerpo):
    """Una de las firmas de webhook-signature."""
    return "v1," + base64.b64encode(resumen(llave, f"{identificador}.{hora}.{cuerpo}").digest()).decode()


class Aviso:
    """Un aviso auténtico, tal como lo envía el servicio. Con `anterior`, durante un cambio de secreto."""

    def __init__(self, identificador, hora, secreto=WHSEC, anterior=None):
        self.identificador, self.hora, self.cuerpo = identificador, hora, CUERPO
        firmantes = [secreto] + ([anterior] if anterior else [])
        self.cabeceras = {
            "Content-Type": "application/json",
            "X-Webhook-Event": EVENTO,
            "webhook-id": identificador,
            "webhook-timestamp": str(hora),
            "X-Webhook-Signature": firma(anterior or secreto, CUERPO),
            "webhook-signature": " ".join(firma_estandar(clave(s), identificador, hora, CUERPO) for s in firmantes),
        }
        if anterior:
            self.cabeceras["X-Webhook-Signature-Nueva"] = firma(secreto, CUERPO)

    def con(self, **cabeceras):
        """Pone estos valores en las cabeceras (guion bajo por guion); el valor None quita la cabecera."""
        for nombre, valor in cabeceras.items():
            nombre = nombre.replace("_", "-")
            if valor is None:
                del self.cabeceras[nombre]
            else:
                self.cabeceras[nombre] = valor
        return self

    def con_cuerpo(self, cuerpo):
        self.cuerpo = cuerpo
        return self

    @property
    def estandar(self):
        return self.cabeceras["webhook-signature"]

    @property
    def x(self):
        return self.cabeceras["X-Webhook-Signature"]


class Lista:
    def __init__(self, ahora):
        self.ahora, self.vectores = ahora, []

    def aviso(self, hace=0, **firmantes):
        return Aviso(f"msg_{AHORA - 1}083_{len(self.vectores) + 1}", self.ahora - hace, **firmantes)

    def anotar(self, nombre, secretos, aviso, estandar, x, porque):
        esperado = {"webhook-signature": "aceptar" if estandar else "rechazar", "X-Webhook-Signature": "aceptar" if x else "rechazar"}
        self.vectores.append({
            "nombre": nombre, "porque": porque, "secretos": secretos, "cabeceras": aviso.cabeceras, "cuerpo": aviso.cuerpo,
            "esperado": esperado})

    def aceptar(self, nombre, secretos, aviso, porque):
        self.anotar(nombre, secretos, aviso, True, True, porque)

    def rechazar(self, nombre, secretos, aviso, porque):
        self.anotar(nombre, secretos, aviso, False, False, porque)


def claves(lista):
    lista.aceptar("secreto whsec_", [WHSEC], lista.aviso(), "auténtico: la clave son los bytes que el base64 codifica")
    lista.aceptar("secreto corriente con ñ y emoji", [CORRIENTE], lista.aviso(secreto=CORRIENTE),
                  "auténtico: la clave son los bytes del secreto en UTF-8")
    lista.aceptar("secreto corriente que parece base64", [PARECE_BASE64], lista.aviso(secreto=PARECE_BASE64),
                  "auténtico: sin whsec_ delante no se descodifica, aunque se pueda")
    descodificado = lista.aviso(secreto=PARECE_BASE64)
    llave = base64.b64decode(PARECE_BASE64)
    descodificado.con(webhook_signature=firma_estandar(llave, descodificado.identificador, descodificado.hora, CUERPO))
    lista.anotar("secreto corriente descodificado por error", [PARECE_BASE64], descodificado, False, True,
                 "webhook-signature está hecha con la clave descodificada; X-Webhook-Signature, con la buena")
    lista.rechazar("secreto de otro webhook", [WHSEC], lista.aviso(secreto=AJENO), "firmado con otro secreto")


def cuerpos(lista):
    lista.rechazar("cuerpo alterado", [WHSEC], lista.aviso().con_cuerpo(CUERPO.replace("7.50", "9.50")), "se ha cambiado una cifra")
    igual = json.dumps(json.loads(CUERPO), ensure_ascii=False, separators=(",", ":"))
    lista.rechazar("el mismo JSON con otros espacios", [WHSEC], lista.aviso().con_cuerpo(igual),
                   "se firman los bytes tal como llegan: leer el JSON y volver a escribirlo da otros")
    lista.rechazar("cuerpo vacío", [WHSEC], lista.aviso().con_cuerpo(""), "la firma es de otro cuerpo")


def horas(lista):
    lista.aceptar("de hace 4 minutos", [WHSEC], lista.aviso(hace=240), "auténtico: los relojes pueden no coincidir")
    lista.rechazar("de hace 10 minutos", [WHSEC], lista.aviso(hace=600),
                   "la firma es buena, pero puede ser uno antiguo que alguien repite: ninguno auténtico llega tan tarde")
    lista.rechazar("de dentro de 10 minutos", [WHSEC], lista.aviso(hace=-600), "la firma es buena, pero no es de ahora")
    otra = lista.aviso(hace=600)
    lista.anotar("uno antiguo con la hora cambiada", [WHSEC], otra.con(webhook_timestamp=str(lista.ahora)), False, True,
                 "webhook-signature cubre la hora; X-Webhook-Signature, solo el cuerpo: no lo nota")
    lista.rechazar("hora que no es un número", [WHSEC], lista.aviso().con(webhook_timestamp="ayer"), "son segundos desde 1970")
    lista.rechazar("sin hora", [WHSEC], lista.aviso().con(webhook_timestamp=None), "todos la llevan")


def identificadores(lista):
    lista.rechazar("sin webhook-id", [WHSEC], lista.aviso().con(webhook_id=None), "todos lo llevan: es lo que distingue una repetición")
    lista.anotar("con el webhook-id de otro", [WHSEC], lista.aviso().con(webhook_id=f"msg_{AHORA - 1}083_999"), False, True,
                 "webhook-signature cubre el webhook-id; X-Webhook-Signature, solo el cuerpo: no lo nota")


def firmas(lista):
    lista.rechazar("sin firma", [WHSEC], lista.aviso().con(webhook_signature=None, X_Webhook_Signature=None),
                   "a un webhook con secreto todo lo auténtico le llega firmado")
    lista.rechazar("firma vacía", [WHSEC], lista.aviso().con(webhook_signature="v1,", X_Webhook_Signature="sha256="), "falta la firma")
    aviso = lista.aviso()
    lista.rechazar("firma cortada", [WHSEC], aviso.con(webhook_signature=aviso.estandar[:-9], X_Webhook_Signature=aviso.x[:-8]),
                   "se compara entera: que coincida el principio no basta")
    lista.rechazar("algo que no es una firma", [WHSEC], lista.aviso().con(webhook_signature="hola", X_Webhook_Signature="hola"),
                   "se rechaza sin que el receptor falle")
    aviso = lista.aviso()
    lista.aceptar("una versión desconocida junto a v1", [WHSEC], aviso.con(webhook_signature="v1a,bm8gc2UgY29tcHJ1ZWJh " + aviso.estandar),
                  "auténtico: basta una v1 buena, y las versiones que no se conocen se pasan por alto")
    aviso = lista.aviso()
    lista.anotar("solo una versión desconocida", [WHSEC], aviso.con(webhook_signature=aviso.estandar.replace("v1,", "v2,")), False, True,
                 "no hay ninguna v1 en webhook-signature")


def cambios_de_secreto(lista):
    def a_medias():
        return lista.aviso(secreto=NUEVO, anterior=WHSEC)

    lista.aceptar("cambio de secreto: el receptor conoce los dos", [NUEVO, WHSEC], a_medias(), "auténtico: llega firmado con ambos")
    lista.aceptar("cambio de secreto: el receptor conoce el nuevo", [NUEVO], a_medias(),
                  "auténtico: valen la primera de webhook-signature y X-Webhook-Signature-Nueva")
    lista.aceptar("cambio de secreto: el receptor conoce el anterior", [WHSEC], a_medias(),
                  "auténtico: valen la segunda de webhook-signature y X-Webhook-Signature")
    lista.aceptar("antes del cambio de secreto", [NUEVO, WHSEC], lista.aviso(), "auténtico: firmado solo con el anterior")
    lista.aceptar("después del cambio de secreto", [NUEVO, WHSEC], lista.aviso(secreto=NUEVO), "auténtico: firmado solo con el nuevo")
    lista.rechazar("cambio de secreto: ninguna de las dos firmas es buena", [NUEVO, WHSEC], lista.aviso(secreto=AJENO, anterior=CORRIENTE),
                   "firmado con otros dos secretos")


def vectores(ahora=AHORA):
    lista = Lista(ahora)
    for parte in (claves, cuerpos, horas, identificadores, firmas, cambios_de_secreto):
        parte(lista)
    return {
        "descripcion": "Avisos firmados para probar un receptor. `esperado` dice qué hace uno que comprueba webhook-signature, y uno que "
                       "comprueba X-Webhook-Signature y exige webhook-id y un webhook-timestamp de ahora. Ambos conocen `secretos`, y la hora "
                       "es `ahora`.",
        "ahora": ahora,
        "toleranciaSegundos": TOLERANCIA,
        "vectores": lista.vectores,
    }


if __name__ == "__main__":
    opciones = argparse.ArgumentParser(description="Escribe los avisos de prueba, en JSON.")
    opciones.add_argument("--ahora", type=int, default=AHORA, help="segundos desde 1970 (por omisión, los de vectores.json)")
    print(json.dumps(vectores(opciones.parse_args().ahora), ensure_ascii=False, indent=2))
