-- limits.pending_test_deliveries: which test deliveries of an entity may not have ended yet. Those that have are removed at
-- its next test event, so there are never more rows than the limit. Nothing references either table.

CREATE TABLE IF NOT EXISTS pruebas_pendientes (
  entidad_id BIGINT NOT NULL,
  entrega_id BIGINT NOT NULL,
  PRIMARY KEY (entidad_id, entrega_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Written by every test event that is counted: an entity's are one after the other, also on the nodes of a cluster, where
-- two that write the same row cannot both commit.
CREATE TABLE IF NOT EXISTS turnos_prueba (
  entidad_id BIGINT          NOT NULL PRIMARY KEY,
  turno      BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
