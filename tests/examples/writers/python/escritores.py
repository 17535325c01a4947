"""Writes a notification for each instant with each of Python's lines in docs/drivers.md: escritores.py ENTITY INSTANT…

A row's clave is the line's name and the instant. Django's settings hold for a process, so USE_TZ is an environment variable.
"""
import os
import sys
from datetime import datetime, timezone

import django
import pymysql
import sqlalchemy
from django.conf import settings
from sqlalchemy.orm import Session, declarative_base

ENTITY, *INSTANTS = sys.argv[1:]
PLACE = {"unix_socket": os.environ["EVALUACION_SOCKET"], "charset": "utf8mb4"}
DATABASE, PASSWORD = os.environ["EVALUACION_BASE"], os.environ["EVALUACION_CONTRASENA"]
USE_TZ = os.environ["USE_TZ"] == "True"
INSERT = ("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en, clave)"
          " VALUES (%s, 'incidencia.cerrada', '{}', %s, %s)")


def local_time(text):
    """Returns the instant as a datetime of the system's zone."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone()


def tell_isolation(name, cursor):
    cursor.execute("SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')")
    print("isolation", name, cursor.fetchall()[0][1])


def write_with_pymysql():
    connection = pymysql.connect(user="evaluacion", password=PASSWORD, database=DATABASE, autocommit=True, **PLACE,
                                 init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    cursor = connection.cursor()
    tell_isolation("PyMySQL", cursor)
    for text in INSTANTS:
        fecha = local_time(text)
        cursor.execute(INSERT, (ENTITY, fecha.astimezone(timezone.utc), f"PyMySQL {text}"))
        cursor.execute("CALL avisar_con_hora(%s, 'incidencia.cerrada', '{}', %s, %s)",
                       (ENTITY, f"PyMySQL avisar_con_hora {text}", fecha.isoformat()))
        cursor.fetchall()


def write_with_sqlalchemy():
    address = sqlalchemy.engine.URL.create("mysql+pymysql", "evaluacion", PASSWORD, database=DATABASE, query=PLACE)
    engine = sqlalchemy.create_engine(address, isolation_level="READ COMMITTED")

    class Aviso(declarative_base()):  # what a program leaves unset is written as NULL
        __tablename__ = "notificaciones_pendientes"
        id = sqlalchemy.Column(sqlalchemy.BigInteger, primary_key=True)
        entidad_id = sqlalchemy.Column(sqlalchemy.BigInteger)
        evento = sqlalchemy.Column(sqlalchemy.String(40))
        datos = sqlalchemy.Column(sqlalchemy.Text)
        ocurrida_en = sqlalchemy.Column(sqlalchemy.DateTime)
        clave = sqlalchemy.Column(sqlalchemy.String(64))
        caduca_en = sqlalchemy.Column(sqlalchemy.DateTime)
        urgente = sqlalchemy.Column(sqlalchemy.Boolean)

    with Session(engine) as session, session.begin():
        tell_isolation("SQLAlchemy", session.connection().connection.cursor())
        for text in INSTANTS:
            fecha = local_time(text)
            aviso = Aviso(entidad_id=ENTITY, evento="incidencia.cerrada", datos="{}", clave=f"SQLAlchemy {text}")
            aviso.ocurrida_en = fecha.astimezone(timezone.utc)
            session.add(aviso)


def write_with_django():
    settings.configure(USE_TZ=USE_TZ, TIME_ZONE=os.environ["TZ"], DATABASES={"default": {
        "ENGINE": "django.db.backends.mysql", "NAME": DATABASE, "USER": "evaluacion", "PASSWORD": PASSWORD, "OPTIONS": PLACE}})
    django.setup()
    from django.db import connection, models

    class Aviso(models.Model):
        id = models.BigAutoField(primary_key=True)
        entidad_id = models.BigIntegerField()
        evento = models.CharField(max_length=40)
        datos = models.TextField()
        clave = models.CharField(max_length=64, null=True)
        ocurrida_en = models.DateTimeField()

        class Meta:
            app_label = "evaluacion"
            managed = False
            db_table = "notificaciones_pendientes"

    with connection.cursor() as cursor:
        tell_isolation("Django", cursor)
    for text in INSTANTS:
        fecha = local_time(text)
        aviso = Aviso(entidad_id=ENTITY, evento="incidencia.cerrada", datos="{}")
        if USE_TZ:
            aviso.ocurrida_en = fecha
        else:
            aviso.ocurrida_en = fecha.astimezone(timezone.utc).replace(tzinfo=None)
        aviso.clave = f"Django USE_TZ={USE_TZ} {text}"
        aviso.save()


write_with_django() if USE_TZ else (write_with_pymysql(), write_with_sqlalchemy(), write_with_django())
