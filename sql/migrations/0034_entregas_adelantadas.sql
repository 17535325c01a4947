-- Takes: nothing on MariaDB, however many rows: only the table's definition changes (INSTANT). MySQL copies the table to add the
-- Takes: CHECK (4 s for 1,000,000 rows), and adds none if the table has more rows (docs/installation.md#upgrade).
-- An attempt ahead of the schedule is a due delivery like any other: `proximo_intento` becomes the present, `tipo` the kind
-- of that attempt, and `prevista` keeps the time of the schedule, to which the delivery returns if the attempt fails.
SET @comprobada = IF(
  VERSION() NOT LIKE '%MariaDB%' AND (SELECT COUNT(*) FROM (SELECT 1 FROM entregas LIMIT 1000001) filas) > 1000000,
  '', 'CHECK (prevista + INTERVAL 0 DAY <=> prevista)');
SET @entregas_adelantadas = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND column_name = 'prevista'),
  'DO 0',
  CONCAT("ALTER TABLE entregas
     ADD COLUMN prevista DATETIME(3) NULL COMMENT 'the time of its schedule, to which it returns if an attempt ahead of it fails' ", @comprobada));
PREPARE entregas_adelantadas FROM @entregas_adelantadas;
EXECUTE entregas_adelantadas;
DEALLOCATE PREPARE entregas_adelantadas;
