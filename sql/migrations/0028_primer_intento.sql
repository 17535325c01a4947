-- Takes: nothing, however many rows: the columns are added, and the foreign key is dropped, without touching them (MariaDB and MySQL:
-- Takes: INSTANT).
-- The evidence of a first attempt that succeeds, as nearly all do, stands in the delivery's own row, which is written then anyway; every
-- other attempt has a row of its own in intentos_entrega. What was there stays there. A notification is never removed before its
-- deliveries (retention locks it first), and the look-up for each delivery that only asked whether it exists waited for its lock.
SET @entregas_con_primer_intento = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND column_name = 'primer_inicio'),
  'DO 0',
  "ALTER TABLE entregas
     ADD COLUMN primer_inicio DATETIME(3) NULL
       COMMENT 'of the first attempt, and so the next four, if it was scheduled and succeeded: it is not in intentos_entrega',
     ADD COLUMN primera_duracion_ms INT UNSIGNED NULL,
     ADD COLUMN primera_direccion VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NULL,
     ADD COLUMN primer_estado SMALLINT UNSIGNED NULL,
     ADD COLUMN primeras_firmas TINYINT UNSIGNED NULL");
PREPARE entregas_con_primer_intento FROM @entregas_con_primer_intento;
EXECUTE entregas_con_primer_intento;
DEALLOCATE PREPARE entregas_con_primer_intento;

SET @entregas_sin_clave_ajena = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE constraint_schema = DATABASE() AND table_name = 'entregas' AND constraint_name = 'entregas_notificacion'),
  'ALTER TABLE entregas DROP FOREIGN KEY entregas_notificacion',
  'DO 0');
PREPARE entregas_sin_clave_ajena FROM @entregas_sin_clave_ajena;
EXECUTE entregas_sin_clave_ajena;
DEALLOCATE PREPARE entregas_sin_clave_ajena;
