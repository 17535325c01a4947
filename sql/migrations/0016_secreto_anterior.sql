-- Takes: 3 s for 1,000,000 rows of webhooks, deleted ones included (MariaDB 10.11 with 128 MB of buffer pool, 2 cores).
-- A second secret of a webhook: while a grace runs, the one before signs too. The new one is written beside it and becomes
-- the current one, so that the API needs no right to read a sealed secret. In one statement, and none if a migration that was
-- killed has come this far.
SET @webhooks_con_dos_secretos = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND column_name = 'secreto_vigente'),
  'DO 0',
  "ALTER TABLE webhooks
     ADD COLUMN secreto_b_clave VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
     ADD COLUMN secreto_b_sellado VARBINARY(2200) NULL COMMENT 'as secreto_sellado, which is a',
     ADD COLUMN secreto_vigente ENUM('a', 'b') CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'a',
     ADD COLUMN secreto_anterior_hasta DATETIME(3) NULL COMMENT 'until then the other one signs, too',
     ADD COLUMN secreto_huella VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL
       COMMENT 'of the current one, under a key of secrets.key_file: whether the same is set again',
     ADD KEY webhooks_secreto_anterior (secreto_anterior_hasta),
     ADD CONSTRAINT webhooks_secreto_b_entero CHECK ((secreto_b_clave IS NULL) = (secreto_b_sellado IS NULL))");
PREPARE webhooks_con_dos_secretos FROM @webhooks_con_dos_secretos;
EXECUTE webhooks_con_dos_secretos;
DEALLOCATE PREPARE webhooks_con_dos_secretos;
