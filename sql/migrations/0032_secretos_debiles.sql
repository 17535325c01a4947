-- Takes: nothing, however many rows: a virtual column is only in the table's definition (MariaDB and MySQL: INSTANT).
-- What the API tells of a secret that it may not read. A sealed secret is 28 bytes longer than the secret.
SET @webhooks_con_secreto_debil = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND column_name = 'secreto_debil'),
  'DO 0',
  "ALTER TABLE webhooks
     ADD COLUMN secreto_debil BOOLEAN
       GENERATED ALWAYS AS (LENGTH(IF(secreto_vigente = 'b', COALESCE(secreto_b_sellado, secreto_sellado), secreto_sellado)) < 28 + 16) VIRTUAL
       COMMENT 'whether the current secret has fewer than 16 bytes; NULL: there is none'");
PREPARE webhooks_con_secreto_debil FROM @webhooks_con_secreto_debil;
EXECUTE webhooks_con_secreto_debil;
DEALLOCATE PREPARE webhooks_con_secreto_debil;
