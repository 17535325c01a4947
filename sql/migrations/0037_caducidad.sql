-- Takes: nothing, however many rows: only the table's definition changes (MariaDB: INSTANT; MySQL: INSTANT, too, but a table of up to
-- 1,000,000 rows is copied for the CHECK, 20 s).
-- Until when a notification may be sent. A delivery that is claimed after that becomes cancelada, with the error that this view
-- counts as `caducadas`. For the CHECK and larger tables on MySQL see migration 0031.
SET @notificaciones_con_caducidad = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'caduca_en'),
  'DO 0',
  CONCAT("ALTER TABLE notificaciones_pendientes
            ADD COLUMN caduca_en DATETIME(3) NULL COMMENT 'not sent from then on, UTC'",
         IF(VERSION() NOT LIKE '%MariaDB%'
              AND (SELECT COUNT(*) FROM (SELECT 1 FROM notificaciones_pendientes LIMIT 1000001) filas) > 1000000,
            '', ' CHECK (caduca_en + INTERVAL 0 DAY <=> caduca_en)')));
PREPARE notificaciones_con_caducidad FROM @notificaciones_con_caducidad;
EXECUTE notificaciones_con_caducidad;
DEALLOCATE PREPARE notificaciones_con_caducidad;

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
   WHERE e.notificacion_id = n.id AND e.estado = 'cancelada' AND e.ultimo_error = 'La notificación ha caducado') AS caducadas
FROM notificaciones_pendientes n
WHERE n.origen = 'evaluacion';
