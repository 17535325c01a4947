-- Takes: 4 s for 1,000,000 rows of auditoria, for a key over them (MariaDB 10.11 with 128 MB of buffer pool, 2 cores).
-- limits.replay_requests: by when what an entity has asked about replays of ranges will no longer count. In one statement, and
-- none if a migration that was killed has come this far.
SET @reenvios_saldados = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'altas_webhook' AND column_name = 'reenvios_saldados_hasta'),
  'DO 0',
  "ALTER TABLE altas_webhook
     ADD COLUMN reenvios_saldados_hasta DATETIME(6) NULL COMMENT 'as saldadas_hasta, of limits.replay_requests; NULL: none so far'");
PREPARE reenvios_saldados FROM @reenvios_saldados;
EXECUTE reenvios_saldados;
DEALLOCATE PREPARE reenvios_saldados;

-- What is repeated within an hour is one row of the audit, and a count: found by a hash of who, what, to which webhook and in
-- which hour, so that two sessions that write it at once, on two nodes of a cluster, too, meet in this key alone.
SET @auditoria_con_repeticiones = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'auditoria' AND column_name = 'veces'),
  'DO 0',
  "ALTER TABLE auditoria
     ADD COLUMN veces INT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'in the hour of the first time, which detalle is of',
     ADD COLUMN ultima_en DATETIME(3) NULL COMMENT 'of the last of them; NULL: there was one',
     ADD COLUMN repeticion BINARY(32) NULL COMMENT 'SHA-256; NULL: made by a version that did not count',
     ADD UNIQUE KEY auditoria_repeticiones (repeticion)");
PREPARE auditoria_con_repeticiones FROM @auditoria_con_repeticiones;
EXECUTE auditoria_con_repeticiones;
DEALLOCATE PREPARE auditoria_con_repeticiones;

-- limits.test_bytes: by when what an entity's test events have stored will no longer count.
SET @bytes_de_prueba = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'turnos_prueba' AND column_name = 'bytes_saldados_hasta'),
  'DO 0',
  "ALTER TABLE turnos_prueba ADD COLUMN bytes_saldados_hasta DATETIME(6) NULL COMMENT 'of limits.test_bytes; NULL: none so far'");
PREPARE bytes_de_prueba FROM @bytes_de_prueba;
EXECUTE bytes_de_prueba;
DEALLOCATE PREPARE bytes_de_prueba;

-- retention.tests: a row for each test notification, so that those that are due are found among all the others, which are kept for
-- longer. Those of before go with the others. Nothing references it.
CREATE TABLE IF NOT EXISTS pruebas_por_borrar (
  notificacion_id BIGINT      NOT NULL PRIMARY KEY,
  creada_en       DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
