-- Takes: nothing, however many rows: only the table's definition changes (MariaDB and MySQL: INSTANT).
-- What the API tells of a secret that it may not read.
SET @webhooks_con_secreto_inverificable = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND column_name = 'secreto_inverificable'),
  'DO 0',
  "ALTER TABLE webhooks
     ADD COLUMN secreto_inverificable BOOLEAN NULL
       COMMENT 'whether no library of Standard Webhooks verifies with the current secret; NULL: there is none, or a release up to 0.2.0 wrote it'");
PREPARE webhooks_con_secreto_inverificable FROM @webhooks_con_secreto_inverificable;
EXECUTE webhooks_con_secreto_inverificable;
DEALLOCATE PREPARE webhooks_con_secreto_inverificable;
