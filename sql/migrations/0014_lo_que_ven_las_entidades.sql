-- Takes: 0.1 s for 1,000,000 rows each of entregas and intentos_entrega: they are changed in place (MariaDB 10.11 with
-- Takes: 128 MB of buffer pool, 2 cores).
-- What entities see of their deliveries, and change of their webhooks: when it was first answered with a 2xx, whatever a replay has come to since, and how
-- many signatures an attempt had. Tokens that only read. Who changed what. Each table in one statement, and none if a migration that was
-- killed has come this far.
SET @tokens_solo_lectura = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'tokens_acceso' AND column_name = 'solo_lectura'),
  'DO 0',
  "ALTER TABLE tokens_acceso ADD COLUMN solo_lectura BOOLEAN NOT NULL DEFAULT FALSE");
PREPARE tokens_solo_lectura FROM @tokens_solo_lectura;
EXECUTE tokens_solo_lectura;
DEALLOCATE PREPARE tokens_solo_lectura;

SET @entregas_con_entregada = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND column_name = 'entregada_en'),
  'DO 0',
  "ALTER TABLE entregas
     ADD COLUMN entregada_en DATETIME(3) NULL
       COMMENT 'the first 2xx ever; NULL also for those of before this column, which have it in terminada_en'");
PREPARE entregas_con_entregada FROM @entregas_con_entregada;
EXECUTE entregas_con_entregada;
DEALLOCATE PREPARE entregas_con_entregada;

SET @intentos_con_firmas = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'intentos_entrega' AND column_name = 'firmas'),
  'DO 0',
  "ALTER TABLE intentos_entrega
     ADD COLUMN firmas TINYINT UNSIGNED NULL COMMENT 'how many signatures it had; NULL: not known'");
PREPARE intentos_con_firmas FROM @intentos_con_firmas;
EXECUTE intentos_con_firmas;
DEALLOCATE PREPARE intentos_con_firmas;

SET @webhooks_con_modificacion = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND column_name = 'fecha_modificacion'),
  'DO 0',
  "ALTER TABLE webhooks
     MODIFY COLUMN motivo ENUM('operador', 'http_410', 'fallos', 'entidad') CHARACTER SET ascii COLLATE ascii_bin NULL,
     ADD COLUMN fecha_modificacion DATETIME(3) NULL COMMENT 'by its entity; NULL: never'");
PREPARE webhooks_con_modificacion FROM @webhooks_con_modificacion;
EXECUTE webhooks_con_modificacion;
DEALLOCATE PREPARE webhooks_con_modificacion;

-- What a change of a webhook leaves to the dispatcher, in the transaction of the change: its failures are forgotten and, with
-- another URL, what waits is due. Nothing references it.
CREATE TABLE IF NOT EXISTS cambios_webhook (
  webhook_id BIGINT  NOT NULL PRIMARY KEY,
  adelantar  BOOLEAN NOT NULL,            -- what waits is due at once
  avance     BIGINT  NOT NULL DEFAULT 0   -- the delivery up to which that has been done
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Who changed what, for 90 days. Nothing references it, and it outlives what it is about.
CREATE TABLE IF NOT EXISTS auditoria (
  id          BIGINT      NOT NULL AUTO_INCREMENT PRIMARY KEY,
  ocurrida_en DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  entidad_id  BIGINT      NOT NULL,
  token_id    BIGINT      NULL,
  accion      VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- alta, cambio, baja
  webhook_id  BIGINT      NULL,
  detalle     TEXT        NOT NULL,  -- JSON: what it was and what it became; never a secret
  KEY auditoria_por_hora (ocurrida_en),
  KEY auditoria_de_entidad (entidad_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
