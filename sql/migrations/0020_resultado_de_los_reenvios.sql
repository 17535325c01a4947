-- Takes: 1 s for 100,000 rows of reenvios_entregas (MariaDB 10.11 with 128 MB of buffer pool, 2 cores).
-- What replays came to is written down when a delivery ends, and counted in the row of the replay; what an entity has had replayed in a day is
-- counted by when that ended; the turn of an entity is a change of its row each time, so that two nodes of a cluster cannot both take it. Each table in
-- one statement, and none if a migration that was killed has come this far.
SET @reenvios_contados = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'reenvios' AND column_name = 'recibidas'),
  'DO 0',
  "ALTER TABLE reenvios
     ADD COLUMN recibidas INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of reenviadas: with a 2xx since, as far as counted',
     ADD COLUMN agotadas INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of reenviadas: the schedule is exhausted, as far as counted',
     ADD KEY reenvios_terminados_de_entidad (entidad_id, terminado_en, reenviadas)");
PREPARE reenvios_contados FROM @reenvios_contados;
EXECUTE reenvios_contados;
DEALLOCATE PREPARE reenvios_contados;

SET @reenvios_con_resultado = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'reenvios_entregas' AND column_name = 'resultado'),
  'DO 0',
  "ALTER TABLE reenvios_entregas
     MODIFY COLUMN por_intentar BIGINT NULL COMMENT 'its webhook, until it has ended',
     ADD COLUMN resultado ENUM('entregada', 'fallida', 'cancelada') CHARACTER SET ascii COLLATE ascii_bin NULL
       COMMENT 'what it came to; NULL: it has not ended. Once it is counted in reenvios, the row is removed',
     ADD KEY reenvios_de_entrega (entrega_id)");
PREPARE reenvios_con_resultado FROM @reenvios_con_resultado;
EXECUTE reenvios_con_resultado;
DEALLOCATE PREPARE reenvios_con_resultado;

-- Of before: what the attempts tell.
UPDATE reenvios_entregas r JOIN entregas e ON e.id = r.entrega_id
SET r.por_intentar = NULL,
  r.resultado = IF(EXISTS (SELECT 1 FROM intentos_entrega i
                           WHERE i.entrega_id = r.entrega_id AND i.numero > r.intentos_antes AND i.estado_http BETWEEN 200 AND 299),
    'entregada', IF(e.estado = 'cancelada', 'cancelada', 'fallida'))
WHERE r.resultado IS NULL AND e.terminada_en IS NOT NULL;

SET @turnos_de_entidad = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'altas_webhook' AND column_name = 'turnos'),
  'DO 0',
  "ALTER TABLE altas_webhook
     ADD COLUMN turnos BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'taken so far: each one changes the row'");
PREPARE turnos_de_entidad FROM @turnos_de_entidad;
EXECUTE turnos_de_entidad;
DEALLOCATE PREPARE turnos_de_entidad;
