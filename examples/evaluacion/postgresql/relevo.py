"""Lleva los avisos de la bandeja de salida de PostgreSQL (tabla.sql) al servicio: cada uno una vez, aunque se interrumpa.

    apt install python3-psycopg2 python3-pymysql
    python3 relevo.py                  hasta que falle algo, o se le pare: systemd lo arranca otra vez (Restart=always)
    python3 relevo.py --vaciar         hasta que no quede ninguno que pueda llevar

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
from psycopg2.extras import RealDictCursor

POR_VEZ = 100
BYTES_POR_VEZ = 200_000  # de JSON: en la sentencia, con más comillas, ocupan el doble. Un aviso solo cabe siempre
ESPERA = 1  # segundos, cuando no hay ninguno
BLOQUEO = 2  # segundos que se espera a otra transacción del servicio que escribe la misma clave
PLAZO = 60  # segundos que se espera una respuesta
APLAZADO = 10  # segundos hasta que se vuelve a intentar un aviso que falló
APLAZADOS = 1000  # con más, el fallo no es de los avisos

# Toma los más antiguos que nadie esté llevando ya. Nunca «id > el último»: una transacción que empezó antes, con un id menor, puede
# terminar después.
POR_LLEVAR = """
    SELECT id, entidad_id, evento, datos::text AS datos, clave,
      to_char(ocurrida_en AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ocurrida_en,
      to_char(caduca_en AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS caduca_en
    FROM avisos_salida WHERE rechazo IS NULL"""
TOMAR = POR_LLEVAR + f" AND id <> ALL(%s) ORDER BY id LIMIT {POR_VEZ} FOR UPDATE SKIP LOCKED"
TOMAR_UNO = POR_LLEVAR + " AND id = %s FOR UPDATE SKIP LOCKED"
QUITAR = "DELETE FROM avisos_salida WHERE id = ANY(%s)"
RECHAZAR = "UPDATE avisos_salida SET rechazo = %s WHERE id = %s"


def obligatoria(nombre):
    if nombre not in os.environ:
        sys.exit(f"falta {nombre}: póngala como dicen las primeras líneas de relevo.py")
    return os.environ[nombre]


def conectar_con_el_origen():
    return psycopg2.connect(obligatoria("RELEVO_POSTGRESQL"), connect_timeout=10, keepalives_idle=PLAZO, keepalives_interval=10,
                            keepalives_count=3, tcp_user_timeout=1000 * PLAZO)


def conectar_con_el_servicio():
    servicio = pymysql.connect(
        host=os.environ.get("EVALUACION_SERVIDOR", "localhost"),
        unix_socket=os.environ.get("EVALUACION_SOCKET"),
        database=os.environ.get("EVALUACION_BASE", "apientidades"),
        user=os.environ.get("EVALUACION_USUARIO", "evaluacion"),
        password=obligatoria("EVALUACION_CONTRASENA"),
        charset="utf8mb4",
        connect_timeout=10, read_timeout=PLAZO, write_timeout=PLAZO,
        sql_mode="STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )
    with servicio.cursor() as cursor:
        cursor.execute("SET SESSION innodb_lock_wait_timeout = %s", (BLOQUEO,))
    return servicio


def los_que_caben(filas):
    """Devuelve las primeras filas cuyo JSON cabe en BYTES_POR_VEZ, y siempre una, cada una con su JSON."""
    caben, bytes_ = [], 0
    for fila in filas:
        texto = json.dumps({nombre: valor for nombre, valor in fila.items() if nombre != "id"}, ensure_ascii=False)
        bytes_ += len(texto.encode())
        if caben and bytes_ > BYTES_POR_VEZ:
            break
        caben.append((fila, texto))
    return caben


def avisar(servicio, textos):
    """Avisa de todos en una transacción, y devuelve el motivo de cada uno que se rechaza, o None. Una `clave` que ya se usó no avisa
    otra vez."""
    servicio.begin()
    with servicio.cursor() as cursor:
        cursor.execute("CALL avisar_lote(%s)", (f"[{','.join(textos)}]",))
        resultado = json.loads(cursor.fetchone()[0])
    servicio.commit()
    return [aviso.get("motivo") for aviso in resultado]


def llevar(origen, servicio, sentencia, valor):
    """Lleva los que toma la sentencia. Devuelve sus ids, y el error con el que el servicio no quiso ninguno, o None. Los quita de la
    bandeja cuando el servicio ya los tiene: si se interrumpe entre medias, siguen en la bandeja, y la próxima vez su `clave` evita que
    se avise dos veces."""
    with origen, origen.cursor(cursor_factory=RealDictCursor) as cursor:  # una transacción
        cursor.execute(sentencia, (valor,))
        # En este orden se escriben: el de cada entidad se conserva.
        tomados = sorted(los_que_caben(cursor.fetchall()), key=lambda tomado: (tomado[0]["entidad_id"], tomado[0]["id"]))
        ids = [fila["id"] for fila, _ in tomados]
        if not ids:
            return ids, None
        try:
            motivos = avisar(servicio, [texto for _, texto in tomados])
        except pymysql.MySQLError as error:
            servicio.rollback()  # si se ha perdido la conexión falla, y el relevo termina
            return ids, error
        cursor.execute(QUITAR, ([id_ for id_, motivo in zip(ids, motivos) if motivo is None],))
        for id_, motivo in zip(ids, motivos):
            if motivo is not None:
                print(f"aviso {id_}, rechazado: {motivo}", file=sys.stderr)
                cursor.execute(RECHAZAR, (motivo, id_))
    return ids, None


def llevar_solo(origen, servicio, id_, aplazados):
    """Lleva uno. Si falla, sigue en la bandeja, y se aplaza."""
    aplazados.pop(id_, None)
    _, error = llevar(origen, servicio, TOMAR_UNO, id_)
    if error:
        print(f"aviso {id_}, aplazado: {error}", file=sys.stderr)
        aplazados[id_] = time.monotonic() + APLAZADO
        if len(aplazados) > APLAZADOS:
            raise error


def ronda(origen, servicio, aplazados):
    """Lleva unos cuantos, y el aplazado más antiguo si ya es su hora. Devuelve si había alguno que no estuviera aplazado."""
    ids, error = llevar(origen, servicio, TOMAR, list(aplazados))
    if error:  # puede ser de uno solo: los demás no lo esperan
        for id_ in ids:
            llevar_solo(origen, servicio, id_, aplazados)
    primero = next(iter(aplazados), None)
    if primero is not None and aplazados[primero] <= time.monotonic():
        llevar_solo(origen, servicio, primero, aplazados)
    return bool(ids)


def principal(vaciar):
    origen, servicio, aplazados = conectar_con_el_origen(), conectar_con_el_servicio(), {}
    while True:
        if not ronda(origen, servicio, aplazados):
            if vaciar:
                return f"{len(aplazados)} avisos no se han podido llevar" if aplazados else None
            time.sleep(ESPERA)


if __name__ == "__main__":
    sys.exit(principal("--vaciar" in sys.argv[1:]))
