"""El sistema de evaluación avisa de que se ha abierto una evaluación, y después mira qué fue de los avisos.

    apt install python3-pymysql
    python3 evaluacion.py abrir 42 'Convocatoria 2026' 7 8 9      la evaluación 42, a las entidades 7, 8 y 9
    python3 evaluacion.py abrir-lote 42 'Convocatoria 2026' 7 8 9 lo mismo, con una sentencia para todas
    python3 evaluacion.py ver 42

Se conecta como dicen EVALUACION_SERVIDOR (o EVALUACION_SOCKET), EVALUACION_BASE, EVALUACION_USUARIO y EVALUACION_CONTRASENA
(vacía, si el servidor reconoce al usuario por el socket).
"""
import json
import os
import sys

import pymysql


def obligatoria(nombre):
    if nombre not in os.environ:
        sys.exit(f"falta {nombre}: póngala como dicen las primeras líneas de evaluacion.py")
    return os.environ[nombre]


def conectar():
    return pymysql.connect(
        host=os.environ.get("EVALUACION_SERVIDOR", "localhost"),
        unix_socket=os.environ.get("EVALUACION_SOCKET"),
        database=os.environ.get("EVALUACION_BASE", "apientidades"),
        user=os.environ.get("EVALUACION_USUARIO", "evaluacion"),
        password=obligatoria("EVALUACION_CONTRASENA"),
        charset="utf8mb4",  # con otro juego de caracteres las eñes y los emojis llegan estropeados
        # Sin el modo estricto, un valor que no cabe se cambia por otro sin avisar.
        sql_mode="STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
        # Con el nivel de aislamiento de serie, una transacción abierta puede retrasar los avisos de todas las entidades.
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )


def avisar(cursor, entidad, evento, datos, clave):
    """Una fila por entidad. Si la clave ya se usó, esta entidad ya está avisada: un proceso que se repite no avisa dos veces."""
    cursor.execute("CALL avisar(%s, %s, %s, %s)", (entidad, evento, json.dumps(datos, ensure_ascii=False), clave))
    _, conocida = cursor.fetchone()
    if conocida:
        print(f"entidad {entidad}: ya estaba avisada")


def abrir(conexion, evaluacion, titulo, entidades):
    """Todo en una transacción: si algo falla no se abre la evaluación, ni se avisa a nadie."""
    conexion.begin()
    try:
        with conexion.cursor() as cursor:
            # Aquí van los cambios de su programa: UPDATE mis_evaluaciones SET estado = 'abierta' WHERE id = …
            for entidad in entidades:
                datos = {"evaluacionId": evaluacion, "titulo": titulo}
                avisar(cursor, entidad, "evaluacion.abierta", datos, f"abierta-{evaluacion}")
        conexion.commit()
    except BaseException:
        conexion.rollback()
        raise


def avisar_lote(cursor, avisos):
    """Todos en una sentencia. Uno que se rechazaría no se escribe, y no impide los demás. Como mucho 10.000 en cada transacción."""
    avisos = sorted(avisos, key=lambda aviso: (aviso["entidad_id"], aviso["clave"]))  # así dos procesos no se bloquean uno a otro
    cursor.execute("CALL avisar_lote(%s)", (json.dumps(avisos, ensure_ascii=False),))
    for aviso, resultado in zip(avisos, json.loads(cursor.fetchone()[0])):
        if resultado.get("conocida"):
            print(f"entidad {aviso['entidad_id']}: ya estaba avisada")
        elif "motivo" in resultado:
            print(f"entidad {aviso['entidad_id']}: no se la avisa; {resultado['motivo']}")


def abrir_lote(conexion, evaluacion, titulo, entidades):
    datos = json.dumps({"evaluacionId": evaluacion, "titulo": titulo}, ensure_ascii=False)  # en el lote, `datos` es un texto
    conexion.begin()
    try:
        with conexion.cursor() as cursor:
            # Aquí van los cambios de su programa.
            avisar_lote(cursor, [{"entidad_id": entidad, "evento": "evaluacion.abierta", "datos": datos, "clave": f"abierta-{evaluacion}"}
                                 for entidad in entidades])
        conexion.commit()
    except BaseException:
        conexion.rollback()
        raise


def ver(conexion, evaluacion):
    with conexion.cursor() as cursor:
        cursor.execute(
            "SELECT entidad_id, estado, webhooks, entregadas, ultimo_error FROM notificaciones_resultado"
            " WHERE evento = 'evaluacion.abierta' AND ocurrida_en >= UTC_TIMESTAMP() - INTERVAL 30 DAY AND clave = %s"
            " ORDER BY entidad_id",
            (f"abierta-{evaluacion}",))
        for entidad, estado, webhooks, entregadas, error in cursor:
            print(f"entidad {entidad}: {estado}, {entregadas} de {webhooks} entregadas" + (f"; {error}" if error else ""))


if __name__ == "__main__":
    orden, evaluacion, *resto = sys.argv[1:]
    conexion = conectar()
    if orden == "abrir":
        abrir(conexion, int(evaluacion), resto[0], map(int, resto[1:]))
    elif orden == "abrir-lote":
        abrir_lote(conexion, int(evaluacion), resto[0], map(int, resto[1:]))
    else:
        ver(conexion, int(evaluacion))
