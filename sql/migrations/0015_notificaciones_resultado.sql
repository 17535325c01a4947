-- Takes: 3 s for 1,000,000 rows of notificaciones_pendientes, which can be written at the same time (MariaDB 10.11 with 128 MB of
-- Takes: buffer pool, 2 cores).
-- What became of the evaluation system's rows. In one statement, and none if a migration that was killed has come this far.
SET @notificaciones_por_evento = IF(
  EXISTS (SELECT 1 FROM information_schema.statistics
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND index_name = 'notificaciones_por_evento'),
  'DO 0',
  "ALTER TABLE notificaciones_pendientes
     ADD KEY notificaciones_por_evento (evento, ocurrida_en),
     ADD KEY notificaciones_por_clave (entidad_id, clave)");
PREPARE notificaciones_por_evento FROM @notificaciones_por_evento;
EXECUTE notificaciones_por_evento;
DEALLOCATE PREPARE notificaciones_por_evento;

-- Subqueries, each a seek, rather than GROUP BY: merged into the statement that asks, so that only what it asks for is read.
-- ORDER BY names the notification too, which MySQL takes for no constant within a subquery.
-- What was delivered once counts as delivered, whatever a replay comes to. No URL, no test events.
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
    (SELECT e.ultimo_error FROM entregas e
     WHERE e.notificacion_id = n.id AND e.ultimo_error <> '' AND e.entregada_en IS NULL ORDER BY e.notificacion_id DESC, e.webhook_id DESC LIMIT 1)) AS ultimo_error
FROM notificaciones_pendientes n
WHERE n.origen = 'evaluacion';
