-- Takes: nothing, however many rows: the column is added without touching them (MariaDB and MySQL: INSTANT).
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
