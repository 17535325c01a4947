-- Takes: 0.1 s for 1,000,000 rows each of entregas and intentos_entrega: they are changed in place (MariaDB 10.11 with
-- Takes: 128 MB of buffer pool, 2 cores).
-- What entities see of their deliveries: when it was first answered with a 2xx, whatever a replay has come to since, and how
-- many signatures an attempt had. Tokens that only read. Each table in one statement, and none if a migration that was
-- killed has come this far.
SET @tokens_solo_lectura = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'tokens_acceso' AND column_name = 'solo_lectura'),
  'DO 0',
  "ALTER TABLE tokens_acceso ADD COLUMN solo_lectura BOOLEAN NOT NULL DEFAULT FALSE");
PREPARE tokens_solo_lectura FROM @tokens_solo_lectura;
EXECUTE tokens_solo_lectura;
DEALLOCATE PREPARE tokens_solo_lectura;

SET @entregas_con_entregada = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND column_name = 'entregada_en'),
  'DO 0',
  "ALTER TABLE entregas
     ADD COLUMN entregada_en DATETIME(3) NULL
       COMMENT 'the first 2xx ever; NULL also for those of before this column, which have it in terminada_en'");
PREPARE entregas_con_entregada FROM @entregas_con_entregada;
EXECUTE entregas_con_entregada;
DEALLOCATE PREPARE entregas_con_entregada;

SET @intentos_con_firmas = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'intentos_entrega' AND column_name = 'firmas'),
  'DO 0',
  "ALTER TABLE intentos_entrega
     ADD COLUMN firmas TINYINT UNSIGNED NULL COMMENT 'how many signatures it had; NULL: not known'");
PREPARE intentos_con_firmas FROM @intentos_con_firmas;
EXECUTE intentos_con_firmas;
DEALLOCATE PREPARE intentos_con_firmas;
