-- The evaluation system: inserts notifications, reads them, their results and their addressees. Nothing else. It may name `id`, because
-- object-relational mappers write INSERT ... RETURNING id, or DEFAULT or NULL as id; triggers.sql refuses any other value.
GRANT INSERT (id, entidad_id, evento, datos, ocurrida_en, clave, caduca_en, no_antes_de, urgente), SELECT
  ON notificaciones_pendientes TO 'evaluacion'@'localhost';
GRANT INSERT (id, notificacion_id, entidad_id, clave, motivo), SELECT ON notificaciones_anuladas TO 'evaluacion'@'localhost';
GRANT SELECT ON notificaciones_resultado TO 'evaluacion'@'localhost';
GRANT SELECT ON destinatarios TO 'evaluacion'@'localhost';
GRANT INSERT, SELECT ON notificaciones_comprobadas TO 'evaluacion'@'localhost';
GRANT EXECUTE ON FUNCTION motivo_de_rechazo TO 'evaluacion'@'localhost';
GRANT EXECUTE ON PROCEDURE avisar TO 'evaluacion'@'localhost';
GRANT EXECUTE ON PROCEDURE avisar_con_hora TO 'evaluacion'@'localhost';
GRANT EXECUTE ON PROCEDURE avisar_lote TO 'evaluacion'@'localhost';
