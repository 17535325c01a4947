-- Takes: 3 s for 1,000,000 rows of notificaciones_pendientes, which can be written at the same time (MariaDB 10.11, 2 cores).
-- A notification with a `no_antes_de` ahead is given that time as `aplazada_hasta` by its fan-out, and loses it at that time. In the
-- index this column is before the entity: what is for later lies behind all other work, in the order of its time.
SET @notificaciones_hasta = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'aplazada_hasta'),
  'DO 0',
  "ALTER TABLE notificaciones_pendientes ADD COLUMN aplazada_hasta DATETIME(3) NULL COMMENT 'not fanned out before, UTC'");
PREPARE notificaciones_hasta FROM @notificaciones_hasta;
EXECUTE notificaciones_hasta;
DEALLOCATE PREPARE notificaciones_hasta;

SET @notificaciones_por_hora = IF(
  EXISTS (SELECT 1 FROM information_schema.statistics
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND index_name = 'notificaciones_por_expandir'
            AND column_name = 'aplazada_hasta'),
  'DO 0',
  'ALTER TABLE notificaciones_pendientes
     DROP KEY notificaciones_por_expandir, ADD KEY notificaciones_por_expandir (estado, aplazada_hasta, entidad_id, id),
     ALGORITHM = INPLACE, LOCK = NONE');
PREPARE notificaciones_por_hora FROM @notificaciones_por_hora;
EXECUTE notificaciones_por_hora;
DEALLOCATE PREPARE notificaciones_por_hora;

-- Before release 0.3.0 they had a state and a list of their own. Without the list no dispatcher can add to either.
SET @sin_lista = IF(
  EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'notificaciones_aplazadas'),
  'DROP TABLE notificaciones_aplazadas', 'DO 0');
PREPARE sin_lista FROM @sin_lista;
EXECUTE sin_lista;
DEALLOCATE PREPARE sin_lista;
SET @aplazadas = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'estado'
            AND column_type LIKE '%aplazada%'),
  "UPDATE notificaciones_pendientes SET estado = 'pendiente', aplazada_hasta = no_antes_de WHERE estado = 'aplazada'", 'DO 0');
PREPARE aplazadas FROM @aplazadas;
EXECUTE aplazadas;
DEALLOCATE PREPARE aplazadas;
