-- A clock that jumps forward: by how much it is ahead of what was seen of it, until it is right again or the operator
-- accepts it. Meanwhile nothing is purged, and no webhook is deactivated for its failures.

SET @reloj_con_salto = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'reloj_visto' AND column_name = 'salto_ms'),
  'DO 0',
  "ALTER TABLE reloj_visto
     ADD COLUMN salto_ms  BIGINT       NOT NULL DEFAULT 0,
     ADD COLUMN aceptados INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'jumps that the operator accepted'");
PREPARE reloj_con_salto FROM @reloj_con_salto;
EXECUTE reloj_con_salto;
DEALLOCATE PREPARE reloj_con_salto;
