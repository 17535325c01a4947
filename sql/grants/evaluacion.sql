-- The evaluation system: inserts notifications, and reads them and their results. Nothing else.
GRANT INSERT (entidad_id, evento, datos, ocurrida_en, clave), SELECT
  ON notificaciones_pendientes TO 'evaluacion'@'localhost';
GRANT SELECT ON notificaciones_resultado TO 'evaluacion'@'localhost';
