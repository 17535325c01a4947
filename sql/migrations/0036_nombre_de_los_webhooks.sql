-- Takes: 19 s for 1,000,000 rows of webhooks, which it copies; writes to them wait (MariaDB 10.11 with 128 MB of buffer pool, 2 cores).
-- The name that an entity gives a webhook. The key leaves out deleted webhooks, so that another may take the name, also while an API
-- of before, which knows no names, deletes webhooks. In one statement, and none if a migration that was killed has come this far.
SET @webhooks_con_nombre = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND column_name = 'nombre'),
  'DO 0',
  "ALTER TABLE webhooks
     ADD COLUMN nombre VARCHAR(60) NULL COMMENT 'given by its entity',
     ADD COLUMN nombre_en_uso VARCHAR(60) GENERATED ALWAYS AS (IF(plaza IS NULL, NULL, nombre)) STORED,
     ADD UNIQUE KEY webhooks_nombre_por_entidad (entidad_id, nombre_en_uso)");
PREPARE webhooks_con_nombre FROM @webhooks_con_nombre;
EXECUTE webhooks_con_nombre;
DEALLOCATE PREPARE webhooks_con_nombre;
