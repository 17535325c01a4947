-- Takes: 4.5 s for 1,000,000 rows each of entregas and intentos_entrega; it copies the first (MariaDB 10.11 with 128 MB of
-- Takes: buffer pool, 2 cores).
-- Attempts ahead of the schedule: everything that waits for a webhook once it answers again (`adelantado`), and one delivery
-- now and then while it fails (`sondeo`). The schedule itself (paso, proximo_intento) knows `programado` alone.
-- STORED for the same reason as `espera`: the servers purge indexes of virtual columns more slowly. Each table in one
-- statement, and none if a migration that was killed has come this far.
SET @entregas_por_adelantar = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND column_name = 'reintento_de'),
  'DO 0',
  "ALTER TABLE entregas
     ADD COLUMN tipo ENUM('programado', 'sondeo', 'adelantado') CHARACTER SET ascii COLLATE ascii_bin
       NOT NULL DEFAULT 'programado' COMMENT 'of the last attempt, or of the one under way',
     ADD COLUMN adelantada BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'tried ahead since its last step of the schedule',
     ADD COLUMN no_antes DATETIME(3) NULL COMMENT 'the Retry-After of its last attempt',
     ADD COLUMN reintento_de BIGINT
       GENERATED ALWAYS AS (IF(estado = 'pendiente' AND paso > 0, webhook_id, NULL)) STORED
       COMMENT 'webhook_id, while it waits for a retry',
     ADD KEY entregas_por_adelantar (reintento_de, adelantada, id)");
PREPARE entregas_por_adelantar FROM @entregas_por_adelantar;
EXECUTE entregas_por_adelantar;
DEALLOCATE PREPARE entregas_por_adelantar;

SET @intentos_con_tipo = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'intentos_entrega' AND column_name = 'tipo'),
  'DO 0',
  "ALTER TABLE intentos_entrega
     ADD COLUMN tipo ENUM('programado', 'sondeo', 'adelantado') CHARACTER SET ascii COLLATE ascii_bin
       NOT NULL DEFAULT 'programado',
     ADD COLUMN sondeos INT UNSIGNED NULL
       COMMENT 'of a probe that failed: how many have in a row; the first and the last of them are kept'");
PREPARE intentos_con_tipo FROM @intentos_con_tipo;
EXECUTE intentos_con_tipo;
DEALLOCATE PREPARE intentos_con_tipo;

SET @ejecuciones_por_adelantar = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhook_ejecuciones' AND column_name = 'adelantar_en'),
  'DO 0',
  "ALTER TABLE webhook_ejecuciones
     ADD COLUMN fallos_ultimo DATETIME(3) NULL COMMENT 'the last of `fallos`',
     ADD COLUMN adelantar_en DATETIME(3) NULL
       COMMENT 'from then on what waits is tried ahead of its schedule: one delivery while ultimo_error says something, else all',
     ADD KEY ejecuciones_por_adelantar (adelantar_en, webhook_id)");
PREPARE ejecuciones_por_adelantar FROM @ejecuciones_por_adelantar;
EXECUTE ejecuciones_por_adelantar;
DEALLOCATE PREPARE ejecuciones_por_adelantar;
