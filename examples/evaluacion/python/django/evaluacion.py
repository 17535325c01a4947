"""El sistema de evaluación, en Django, avisa de que se ha abierto una evaluación, y después mira qué fue de los avisos.

    apt install python3-django python3-mysqldb
    python3 evaluacion.py abrir 42 'Convocatoria 2026' 7 8 9      la evaluación 42, a las entidades 7, 8 y 9
    python3 evaluacion.py ver 42

Se conecta como dicen EVALUACION_SERVIDOR (o EVALUACION_SOCKET), EVALUACION_BASE, EVALUACION_USUARIO y EVALUACION_CONTRASENA
(vacía, si el servidor reconoce al usuario por el socket).
"""
import json
import os
import sys
from datetime import timedelta

import django
from django.conf import settings
from django.db import connection, models, transaction
from django.utils import timezone


def obligatoria(nombre):
    if nombre not in os.environ:
        sys.exit(f"falta {nombre}: póngala como dicen las primeras líneas de evaluacion.py")
    return os.environ[nombre]


# En un proyecto, esto va en settings.py. Django ya pide READ COMMITTED.
settings.configure(USE_TZ=True, DATABASES={"default": {
    "ENGINE": "django.db.backends.mysql",
    "HOST": os.environ.get("EVALUACION_SOCKET") or os.environ.get("EVALUACION_SERVIDOR", "localhost"),
    "NAME": os.environ.get("EVALUACION_BASE", "apientidades"),
    "USER": os.environ.get("EVALUACION_USUARIO", "evaluacion"),
    "PASSWORD": obligatoria("EVALUACION_CONTRASENA"),
    "OPTIONS": {
        "charset": "utf8mb4",  # con otro juego de caracteres, como el de serie antes de Django 5, falla el aviso que lleva un emoji
        # Sin el modo estricto, un valor que no cabe se cambia por otro sin avisar.
        "init_command": "SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
    },
}})
django.setup()


class Resultado(models.Model):
    notificacion_id = models.BigIntegerField(primary_key=True)
    entidad_id = models.BigIntegerField()
    evento = models.TextField()
    clave = models.TextField(null=True)
    ocurrida_en = models.DateTimeField()
    estado = models.TextField()
    webhooks = models.IntegerField()
    entregadas = models.IntegerField()
    ultimo_error = models.TextField(null=True)

    class Meta:
        app_label = "evaluacion"
        managed = False  # es una vista del servicio: ni se migra ni se escribe
        db_table = "notificaciones_resultado"


def avisar(entidad, evento, datos, clave):
    """Una fila por entidad. Si la clave ya se usó, esta entidad ya está avisada: un proceso que se repite no avisa dos veces.

    Con `save()` una clave usada sería un IntegrityError, y la transacción no podría seguir."""
    with connection.cursor() as cursor:
        cursor.execute("CALL avisar(%s, %s, %s, %s)", (entidad, evento, json.dumps(datos, ensure_ascii=False), clave))
        _, conocida = cursor.fetchone()
    if conocida:
        print(f"entidad {entidad}: ya estaba avisada")


@transaction.atomic  # todo en una transacción: si algo falla no se abre la evaluación, ni se avisa a nadie
def abrir(evaluacion, titulo, entidades):
    # Aquí van los cambios de su programa: MiEvaluacion.objects.filter(pk=evaluacion).update(estado="abierta")
    for entidad in entidades:
        avisar(entidad, "evaluacion.abierta", {"evaluacionId": evaluacion, "titulo": titulo}, f"abierta-{evaluacion}")


def ver(evaluacion):
    desde = timezone.now() - timedelta(days=30)
    filas = Resultado.objects.filter(evento="evaluacion.abierta", ocurrida_en__gte=desde, clave=f"abierta-{evaluacion}")
    for fila in filas.order_by("entidad_id"):
        print(f"entidad {fila.entidad_id}: {fila.estado}, {fila.entregadas} de {fila.webhooks} entregadas"
              + (f"; {fila.ultimo_error}" if fila.ultimo_error else ""))


if __name__ == "__main__":
    orden, evaluacion, *resto = sys.argv[1:]
    if orden == "abrir":
        abrir(int(evaluacion), resto[0], map(int, resto[1:]))
    else:
        ver(int(evaluacion))
