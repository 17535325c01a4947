-- Takes: nothing, however many rows: only the table's definition changes (MariaDB and MySQL: INSTANT).
-- Replaces: bdff6f3681a8e2f88c1d56e0434d84cbcd4ed2a1466b19080c524240c4c6b55c
-- Until when a notification may be sent. A delivery that is claimed after that becomes cancelada, with the error that the view
-- notificaciones_resultado counts as `caducadas`. The trigger refuses what is no date (sql/grants/triggers.sql): for a CHECK, MySQL
-- would copy the table.
SET @notificaciones_con_caducidad = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'caduca_en'),
  'DO 0',
  "ALTER TABLE notificaciones_pendientes ADD COLUMN caduca_en DATETIME(3) NULL COMMENT 'not sent from then on, UTC'");
PREPARE notificaciones_con_caducidad FROM @notificaciones_con_caducidad;
EXECUTE notificaciones_con_caducidad;
DEALLOCATE PREPARE notificaciones_con_caducidad;
