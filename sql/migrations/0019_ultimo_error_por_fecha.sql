-- Takes: no time: it only replaces a view.
-- ultimo_error of notificaciones_resultado is the reason of the attempt that was made last, whatever the webhook; it was that of the
-- newest webhook. A maximum rather than an order, which would sort: the time of the last attempt, 23 characters, before the reason.
-- What never came to an attempt (a secret that cannot be read) counts from its creation.
CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW notificaciones_resultado AS
SELECT n.id AS notificacion_id, n.entidad_id, n.evento, n.clave, n.ocurrida_en,
  COALESCE((SELECT a.estado FROM notificaciones_apartadas a WHERE a.notificacion_id = n.id AND n.estado = 'pendiente'), n.estado) AS estado,
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
  COALESCE((SELECT a.error FROM notificaciones_apartadas a WHERE a.notificacion_id = n.id AND n.estado = 'pendiente'), n.error,
    (SELECT SUBSTRING(MAX(CONCAT(COALESCE((SELECT CAST(i.inicio AS CHAR CHARACTER SET utf8mb4) FROM intentos_entrega i
                                           WHERE i.entrega_id = e.id ORDER BY i.entrega_id DESC, i.numero DESC LIMIT 1),
                                          CAST(e.creada_en AS CHAR CHARACTER SET utf8mb4)), e.ultimo_error)), 24) FROM entregas e
     WHERE e.notificacion_id = n.id AND e.ultimo_error <> '' AND e.entregada_en IS NULL)) AS ultimo_error
FROM notificaciones_pendientes n
WHERE n.origen = 'evaluacion';
