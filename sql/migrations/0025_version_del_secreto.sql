-- Takes: nothing, however many rows: the columns are added without touching them (MariaDB and MySQL: INSTANT).
-- What the ETag says of the secret outlives `secrets reencrypt`, which makes the fingerprint anew. A version that does not know these
-- columns changes the fingerprint with the secret, so that they are no longer about it.
SET @webhooks_con_version_del_secreto = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND column_name = 'version_secreto'),
  'DO 0',
  "ALTER TABLE webhooks
     ADD COLUMN version_secreto VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL
       COMMENT 'what the ETag says of the secret whose fingerprint is version_huella; of any other it says secreto_huella',
     ADD COLUMN version_huella VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'as secreto_huella'");
PREPARE webhooks_con_version_del_secreto FROM @webhooks_con_version_del_secreto;
EXECUTE webhooks_con_version_del_secreto;
DEALLOCATE PREPARE webhooks_con_version_del_secreto;
