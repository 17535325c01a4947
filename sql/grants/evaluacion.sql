-- The evaluation system: adds notifications and may see what became of them. Nothing else.
GRANT INSERT (entidad_id, evento, datos, ocurrida_en, clave), SELECT
  ON notificaciones_pendientes TO 'evaluacion'@'localhost';
GRANT SELECT ON notificaciones_resultado TO 'evaluacion'@'localhost';
