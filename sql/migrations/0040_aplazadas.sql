-- Takes: nothing, however many rows: only the table's definition changes (MariaDB and MySQL: INSTANT).
-- Replaces: 62ad49cdc576cb9d1e57407a9d7c21ebf19cbbf21c4547b6a19e2732f2645491
-- From when a notification may be sent (migration 0043), and whether it goes first within its entity
-- (lib/store/notifications/fan_out.cpp). For dates see migration 0037.
-- What the evaluation system calls off is in notificaciones_anuladas, whose trigger (sql/grants/triggers.sql) cancels the
-- notification.
-- What reached no webhook has an `error`, too, which frees its `clave`. The CHECK that forbids this goes: for another one, MySQL would
-- copy the table.
SET @notificaciones_sin_motivo = IF(
  EXISTS (SELECT 1 FROM information_schema.check_constraints
          WHERE constraint_schema = DATABASE() AND constraint_name = 'notificaciones_motivo')
  AND NOT EXISTS (SELECT 1 FROM information_schema.columns
                  WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'no_antes_de'),
  'ALTER TABLE notificaciones_pendientes DROP CONSTRAINT notificaciones_motivo',
  'DO 0');
PREPARE notificaciones_sin_motivo FROM @notificaciones_sin_motivo;
EXECUTE notificaciones_sin_motivo;
DEALLOCATE PREPARE notificaciones_sin_motivo;

SET @notificaciones_aplazables = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'no_antes_de'),
  'DO 0',
  "ALTER TABLE notificaciones_pendientes
     ADD COLUMN no_antes_de DATETIME(3) NULL COMMENT 'not sent before, UTC', ADD COLUMN urgente BOOLEAN NOT NULL DEFAULT FALSE");
PREPARE notificaciones_aplazables FROM @notificaciones_aplazables;
EXECUTE notificaciones_aplazables;
DEALLOCATE PREPARE notificaciones_aplazables;

CREATE TABLE IF NOT EXISTS notificaciones_anuladas (
  id              BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  notificacion_id BIGINT       NULL,  -- the trigger sets it, if the writer names entidad_id and clave
  entidad_id      BIGINT       NULL,
  clave           VARCHAR(128) NULL,
  motivo          VARCHAR(500) NULL,
  anulada_en      DATETIME(3)  NOT NULL CHECK (anulada_en + INTERVAL 0 DAY <=> anulada_en),  -- the trigger sets it
  KEY notificaciones_anuladas_de (notificacion_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW notificaciones_resultado AS
SELECT n.id AS notificacion_id, n.entidad_id, n.evento, n.clave, n.ocurrida_en, n.estado,
  (SELECT COUNT(*) FROM entregas e WHERE e.notificacion_id = n.id) AS webhooks,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND (e.estado = 'entregada' OR e.entregada_en IS NOT NULL)) AS entregadas,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado IN ('pendiente', 'en_curso') AND e.entregada_en IS NULL) AS pendientes,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado = 'fallida' AND e.entregada_en IS NULL) AS fallidas,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado = 'retenida' AND e.entregada_en IS NULL) AS retenidas,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado = 'cancelada' AND e.entregada_en IS NULL) AS canceladas,
  (SELECT MIN(COALESCE(e.entregada_en, e.terminada_en)) FROM entregas e
   WHERE e.notificacion_id = n.id AND (e.estado = 'entregada' OR e.entregada_en IS NOT NULL)) AS primera_entrega,
  (SELECT MAX(COALESCE(e.entregada_en, e.terminada_en)) FROM entregas e
   WHERE e.notificacion_id = n.id AND (e.estado = 'entregada' OR e.entregada_en IS NOT NULL)) AS ultima_entrega,
  COALESCE(n.error,
    (SELECT SUBSTRING(MAX(CONCAT(COALESCE((SELECT CAST(i.inicio AS CHAR CHARACTER SET utf8mb4) FROM intentos_entrega i
                                           WHERE i.entrega_id = e.id ORDER BY i.entrega_id DESC, i.numero DESC LIMIT 1),
                                          CAST(e.creada_en AS CHAR CHARACTER SET utf8mb4)), e.ultimo_error)), 24) FROM entregas e
     WHERE e.notificacion_id = n.id AND e.ultimo_error <> '' AND e.entregada_en IS NULL)) AS ultimo_error,
  n.caduca_en,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado = 'cancelada' AND e.ultimo_error = 'La notificación ha caducado') AS caducadas,
  n.no_antes_de, n.urgente,
  (SELECT MIN(a.anulada_en) FROM notificaciones_anuladas a FORCE INDEX (notificaciones_anuladas_de) WHERE a.notificacion_id = n.id) AS anulada_en
FROM notificaciones_pendientes n
WHERE n.origen = 'evaluacion';
