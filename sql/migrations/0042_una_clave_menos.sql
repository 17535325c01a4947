-- Takes: 1 s for 1,000,000 rows of notificaciones_pendientes, which can be written at the same time (MariaDB 10.11, 2 cores).
-- One index instead of two: (entidad_id, clave, clave_unica) is as unique as (entidad_id, clave_unica), because `clave_unica` is NULL
-- or the bytes of `clave`, and finds a rejected notification by its `clave`, too. In one statement, so that no moment is without a
-- unique key, and none if a migration that was killed has come this far.
SET @una_clave_menos = IF(
  EXISTS (SELECT 1 FROM information_schema.statistics
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND index_name = 'notificaciones_por_clave'),
  "ALTER TABLE notificaciones_pendientes
     DROP KEY notificaciones_clave, DROP KEY notificaciones_por_clave,
     ADD UNIQUE KEY notificaciones_clave (entidad_id, clave, clave_unica), ALGORITHM = INPLACE, LOCK = NONE",
  'DO 0');
PREPARE una_clave_menos FROM @una_clave_menos;
EXECUTE una_clave_menos;
DEALLOCATE PREPARE una_clave_menos;
