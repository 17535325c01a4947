-- Takes: nothing, however many rows: only the table's definition changes (MariaDB: INSTANT; MySQL: INSTANT, too, but a table of up to
-- Takes: 1,000,000 rows is copied for the CHECKs, 20 s).
-- From when a notification may be sent. Until then it is aplazada, which keeps it out of what a dispatcher reads to find work, and is
-- listed by its time in notificaciones_aplazadas. A row of that list is a hint: its notification may be cancelled.
-- An urgent one goes first within its entity (lib/store/notifications/fan_out.cpp).
-- What the evaluation system calls off is in notificaciones_anuladas, whose trigger (sql/grants/triggers.sql) cancels the
-- notification. What reached no webhook has an `error`, too, which frees its `clave`.
-- MariaDB copies a table to add a CHECK of the table, so there the CHECKs of the states belong to the new column. MySQL lets a CHECK
-- of a column name no other column, and copies the table for a CHECK and, because of the CHECKs that it has, for the longer ENUM. So
-- a table of more than 1,000,000 rows gets neither there (docs/installation.md#upgrade): what is for later is rejected.
SET @notificaciones_sin_estados = IF(
  EXISTS (SELECT 1 FROM information_schema.check_constraints
          WHERE constraint_schema = DATABASE() AND constraint_name = 'notificaciones_terminada')
  AND NOT EXISTS (SELECT 1 FROM information_schema.columns
                  WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'no_antes_de'),
  'ALTER TABLE notificaciones_pendientes DROP CONSTRAINT notificaciones_terminada, DROP CONSTRAINT notificaciones_motivo',
  'DO 0');
PREPARE notificaciones_sin_estados FROM @notificaciones_sin_estados;
EXECUTE notificaciones_sin_estados;
DEALLOCATE PREPARE notificaciones_sin_estados;

SET @mariadb = VERSION() LIKE '%MariaDB%',
  @copiable = (SELECT COUNT(*) FROM (SELECT 1 FROM notificaciones_pendientes LIMIT 1000001) filas) <= 1000000,
  @estados = ", MODIFY COLUMN estado ENUM('pendiente', 'procesada', 'rechazada', 'cancelada', 'aplazada')
              CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pendiente'",
  @fecha = 'no_antes_de + INTERVAL 0 DAY <=> no_antes_de',
  @terminada = "(estado IN ('pendiente', 'aplazada')) = (terminada_en IS NULL)",
  @motivo = "(estado <> 'rechazada' OR error IS NOT NULL) AND (error IS NULL OR estado IN ('rechazada', 'cancelada', 'procesada'))";
SET @notificaciones_aplazables = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes' AND column_name = 'no_antes_de'),
  'DO 0',
  CONCAT("ALTER TABLE notificaciones_pendientes
            ADD COLUMN no_antes_de DATETIME(3) NULL COMMENT 'not sent before, UTC'",
    IF(@mariadb, CONCAT(' CHECK (', @fecha, ' AND ', @terminada, ' AND ', @motivo, ')'), ''),
    ', ADD COLUMN urgente BOOLEAN NOT NULL DEFAULT FALSE', IF(@mariadb OR @copiable, @estados, ''),
    IF(NOT @mariadb AND @copiable, CONCAT(', ADD CONSTRAINT notificaciones_fecha CHECK (', @fecha,
      '), ADD CONSTRAINT notificaciones_terminada CHECK (', @terminada, '), ADD CONSTRAINT notificaciones_motivo CHECK (', @motivo, ')'), '')));
PREPARE notificaciones_aplazables FROM @notificaciones_aplazables;
EXECUTE notificaciones_aplazables;
DEALLOCATE PREPARE notificaciones_aplazables;

CREATE TABLE IF NOT EXISTS notificaciones_aplazadas (
  notificacion_id BIGINT      NOT NULL PRIMARY KEY,
  no_antes_de     DATETIME(3) NOT NULL CHECK (no_antes_de + INTERVAL 0 DAY <=> no_antes_de),
  KEY notificaciones_aplazadas_por_hora (no_antes_de, notificacion_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS notificaciones_anuladas (
  id              BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  notificacion_id BIGINT       NULL,  -- the trigger sets it, if the writer names entidad_id and clave
  entidad_id      BIGINT       NULL,
  clave           VARCHAR(128) NULL,
  motivo          VARCHAR(500) NULL,
  anulada_en      DATETIME(3)  NOT NULL CHECK (anulada_en + INTERVAL 0 DAY <=> anulada_en),  -- the trigger sets it
  KEY notificaciones_anuladas_de (notificacion_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW notificaciones_resultado AS
SELECT n.id AS notificacion_id, n.entidad_id, n.evento, n.clave, n.ocurrida_en, n.estado,
  (SELECT COUNT(*) FROM entregas e WHERE e.notificacion_id = n.id) AS webhooks,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND (e.estado = 'entregada' OR e.entregada_en IS NOT NULL)) AS entregadas,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado IN ('pendiente', 'en_curso') AND e.entregada_en IS NULL) AS pendientes,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado = 'fallida' AND e.entregada_en IS NULL) AS fallidas,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado = 'retenida' AND e.entregada_en IS NULL) AS retenidas,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado = 'cancelada' AND e.entregada_en IS NULL) AS canceladas,
  (SELECT MIN(COALESCE(e.entregada_en, e.terminada_en)) FROM entregas e
   WHERE e.notificacion_id = n.id AND (e.estado = 'entregada' OR e.entregada_en IS NOT NULL)) AS primera_entrega,
  (SELECT MAX(COALESCE(e.entregada_en, e.terminada_en)) FROM entregas e
   WHERE e.notificacion_id = n.id AND (e.estado = 'entregada' OR e.entregada_en IS NOT NULL)) AS ultima_entrega,
  COALESCE(n.error,
    (SELECT SUBSTRING(MAX(CONCAT(COALESCE((SELECT CAST(i.inicio AS CHAR CHARACTER SET utf8mb4) FROM intentos_entrega i
                                           WHERE i.entrega_id = e.id ORDER BY i.entrega_id DESC, i.numero DESC LIMIT 1),
                                          CAST(e.creada_en AS CHAR CHARACTER SET utf8mb4)), e.ultimo_error)), 24) FROM entregas e
     WHERE e.notificacion_id = n.id AND e.ultimo_error <> '' AND e.entregada_en IS NULL)) AS ultimo_error,
  n.caduca_en,
  (SELECT COUNT(*) FROM entregas e
   WHERE e.notificacion_id = n.id AND e.estado = 'cancelada' AND e.ultimo_error = 'La notificación ha caducado') AS caducadas,
  n.no_antes_de, n.urgente,
  (SELECT MIN(a.anulada_en) FROM notificaciones_anuladas a FORCE INDEX (notificaciones_anuladas_de) WHERE a.notificacion_id = n.id) AS anulada_en
FROM notificaciones_pendientes n
WHERE n.origen = 'evaluacion';
