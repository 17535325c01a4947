-- Takes: nothing, however many rows: the columns are added without touching them (MariaDB and MySQL: INSTANT).
-- The event of a delivery beside it, so that a page of the log reads one table: looking up 50 notifications cost a third of it.
-- Those of before have it in their notification alone, until retention purges them.
SET @entregas_con_evento = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND column_name = 'evento'),
  'DO 0',
  "ALTER TABLE entregas
     ADD COLUMN evento VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NULL
       COMMENT 'of its notification; NULL: made by a version that did not write it',
     ADD COLUMN prueba BOOLEAN NULL COMMENT 'whether it is a test; NULL as evento'");
PREPARE entregas_con_evento FROM @entregas_con_evento;
EXECUTE entregas_con_evento;
DEALLOCATE PREPARE entregas_con_evento;
