-- Takes: nothing, however many rows: only the tables' definitions change (MariaDB and MySQL: INSTANT).
-- A row that grows when its result is written is moved within its page, and every sixth one has the page written anew: most of a
-- notification's redo log. `relleno` holds the bytes that `terminada_en` takes later. Its default is set afterwards: InnoDB does not
-- store a column that holds the default with which it was added.
SET @notificaciones_con_relleno = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'relleno'),
  'DO 0',
  "ALTER TABLE notificaciones_pendientes
     ADD COLUMN relleno BINARY(7) NULL COMMENT 'the place of terminada_en in the row, until a fan-out, rejection or cancellation writes that'");
PREPARE notificaciones_con_relleno FROM @notificaciones_con_relleno;
EXECUTE notificaciones_con_relleno;
DEALLOCATE PREPARE notificaciones_con_relleno;
ALTER TABLE notificaciones_pendientes ALTER COLUMN relleno SET DEFAULT '';

ALTER TABLE entregas
  MODIFY COLUMN entregada_en DATETIME(3) NULL
    COMMENT 'the first 2xx ever; NULL while that is the delivery''s end, terminada_en';
