"""Lleva los avisos de la bandeja de salida de PostgreSQL (tabla.sql) al servicio: cada uno una vez, aunque se interrumpa.

    apt install python3-psycopg2 python3-pymysql
    python3 relevo.py                  hasta que falle algo, o se le pare: systemd lo arranca otra vez (Restart=always)
    python3 relevo.py --vaciar         hasta que no quede ninguno

Se conecta a PostgreSQL como dice RELEVO_POSTGRESQL («host=/run/postgresql dbname=mi_programa»), y al servicio como dicen
EVALUACION_SERVIDOR (o EVALUACION_SOCKET), EVALUACION_BASE, EVALUACION_USUARIO y EVALUACION_CONTRASENA.

Su programa inserta en avisos_salida, dentro de su transacción, y nada más.
"""
import json
import os
import sys
import time

import psycopg2
import pymysql

POR_VEZ = 100  # avisos de 64 KiB como mucho: caben en una sentencia (max_allowed_packet)
ESPERA = 1  # segundos, cuando no hay ninguno

# Toma los más antiguos que nadie esté llevando ya. Nunca «id > el último»: una transacción que empezó antes, con un id menor, puede
# terminar después.
TOMAR = """
    SELECT id, entidad_id, evento, datos::text, clave, to_char(ocurrida_en AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    FROM avisos_salida WHERE rechazo IS NULL ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED"""
QUITAR = "DELETE FROM avisos_salida WHERE id = ANY(%s)"
RECHAZAR = "UPDATE avisos_salida SET rechazo = %s WHERE id = %s"


def obligatoria(nombre):
    if nombre not in os.environ:
        sys.exit(f"falta {nombre}: póngala como dicen las primeras líneas de relevo.py")
    return os.environ[nombre]


def conectar_con_el_servicio():
    return pymysql.connect(
        host=os.environ.get("EVALUACION_SERVIDOR", "localhost"),
        unix_socket=os.environ.get("EVALUACION_SOCKET"),
        database=os.environ.get("EVALUACION_BASE", "apientidades"),
        user=os.environ.get("EVALUACION_USUARIO", "evaluacion"),
        password=obligatoria("EVALUACION_CONTRASENA"),
        charset="utf8mb4",
        sql_mode="STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )


def avisar(servicio, filas):
    """Avisa de todas en una transacción, y devuelve el motivo de cada una que se rechaza, o None. Una `clave` que ya se usó no avisa
    otra vez."""
    lote = [dict(entidad_id=entidad, evento=evento, datos=datos, clave=clave, ocurrida_en=ocurrida)
            for _, entidad, evento, datos, clave, ocurrida in filas]
    servicio.begin()
    with servicio.cursor() as cursor:
        cursor.execute("CALL avisar_lote(%s)", (json.dumps(lote, ensure_ascii=False),))
        resultado = json.loads(cursor.fetchone()[0])
    servicio.commit()
    return [aviso.get("motivo") for aviso in resultado]


def llevar(origen, servicio):
    """Lleva unos cuantos, y devuelve cuántos. Los quita de la bandeja cuando el servicio ya los tiene: si se interrumpe entre medias,
    siguen en la bandeja, y la próxima vez su `clave` evita que se avise dos veces."""
    with origen, origen.cursor() as cursor:  # una transacción
        cursor.execute(TOMAR, (POR_VEZ,))
        filas = sorted(cursor.fetchall(), key=lambda fila: (fila[1], fila[4]))  # en este orden, dos relevos no se bloquean uno a otro
        if not filas:
            return 0
        motivos = avisar(servicio, filas)
        cursor.execute(QUITAR, ([fila[0] for fila, motivo in zip(filas, motivos) if motivo is None],))
        for fila, motivo in zip(filas, motivos):
            if motivo is not None:
                print(f"aviso {fila[0]}, rechazado: {motivo}", file=sys.stderr)
                cursor.execute(RECHAZAR, (motivo, fila[0]))
    return len(filas)


def principal(vaciar):
    origen, servicio = psycopg2.connect(obligatoria("RELEVO_POSTGRESQL")), conectar_con_el_servicio()
    while True:
        if llevar(origen, servicio) == 0:
            if vaciar:
                return
            time.sleep(ESPERA)


if __name__ == "__main__":
    principal("--vaciar" in sys.argv[1:])
