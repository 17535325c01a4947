-- Takes: no time: it replaces a view, and changes rows only where the operator has cancelled a quarantined notification.
-- No program reads notificaciones_apartadas any more. A dispatcher of 0.2.0 that still runs does, so the table stays until a later
-- migration. Its rows: what was fanned out past a lock (procesada) is marked by a dispatcher, to which the key of `entregas` says
-- that the deliveries exist; what was quarantined (rechazada) is tried once more; what the operator cancelled stays cancelled,
-- by the statement below. If a trigger of the site still refuses that, this migration fails with the trigger's message.
SET @canceladas_apartadas = "/*M! SET STATEMENT check_constraint_checks = 0 FOR */
  UPDATE notificaciones_pendientes n JOIN notificaciones_apartadas a ON a.notificacion_id = n.id
  SET n.estado = 'cancelada', n.error = a.error, n.terminada_en = a.apartada_en, n.relleno = NULL
  WHERE a.estado = 'cancelada' AND n.estado = 'pendiente'";
PREPARE canceladas_apartadas FROM @canceladas_apartadas;
EXECUTE canceladas_apartadas;
DEALLOCATE PREPARE canceladas_apartadas;

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
     WHERE e.notificacion_id = n.id AND e.ultimo_error <> '' AND e.entregada_en IS NULL)) AS ultimo_error
FROM notificaciones_pendientes n
WHERE n.origen = 'evaluacion';
