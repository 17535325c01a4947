"""All attempts on record, as one table for a FROM clause: a first one that succeeds stands in the delivery's own row."""

ATTEMPTS = ("(SELECT entrega_id, numero, tipo, inicio, duracion_ms, direccion, estado_http, error FROM intentos_entrega"
            " UNION ALL SELECT id, 1, 'programado', primer_inicio, primera_duracion_ms, primera_direccion, primer_estado, ''"
            " FROM entregas WHERE primer_inicio IS NOT NULL)")
