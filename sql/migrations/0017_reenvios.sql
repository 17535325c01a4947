-- Takes: 8 s for 1,000,000 rows of entregas and as many of intentos_entrega where the server cannot add columns in place; MariaDB 10.11 and
-- Takes: MySQL 8 and later do it at once.
-- Replays that entities ask for, and the dispatcher carries out: of one delivery, or of all that fit. Each table in one statement,
-- and none if a migration that was killed has come this far.
SET @entregas_reenviadas = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND column_name = 'reenviada'),
  'DO 0',
  "ALTER TABLE entregas
     ADD COLUMN reenviada BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'replayed since it ended for the first time'");
PREPARE entregas_reenviadas FROM @entregas_reenviadas;
EXECUTE entregas_reenviadas;
DEALLOCATE PREPARE entregas_reenviadas;

SET @intentos_reenvio = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'intentos_entrega' AND column_name = 'tipo'
            AND column_type LIKE '%reenvio%'),
  'DO 0',
  "ALTER TABLE intentos_entrega
     MODIFY COLUMN tipo ENUM('programado', 'sondeo', 'adelantado', 'reenvio') CHARACTER SET ascii COLLATE ascii_bin
       NOT NULL DEFAULT 'programado'");
PREPARE intentos_reenvio FROM @intentos_reenvio;
EXECUTE intentos_reenvio;
DEALLOCATE PREPARE intentos_reenvio;

-- Nothing references it: it is removed once it has been over for as long as delivered ones are kept.
CREATE TABLE IF NOT EXISTS reenvios (
  id           BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  entidad_id   BIGINT       NOT NULL,
  webhook_id   BIGINT       NOT NULL,
  entrega_id   BIGINT       NOT NULL DEFAULT 0,   -- that one alone; 0: all that fit what follows
  desde        DATETIME(3)  NULL,                 -- of creada_en, inclusive
  hasta        DATETIME(3)  NULL,                 -- exclusive
  eventos      VARCHAR(500) CHARACTER SET ascii COLLATE ascii_bin NULL,  -- separated by commas; NULL: all
  fallidas     BOOLEAN      NOT NULL DEFAULT TRUE,
  entregadas   BOOLEAN      NOT NULL DEFAULT FALSE,
  estado       ENUM('pendiente', 'en_curso', 'terminado', 'cancelado') CHARACTER SET ascii COLLATE ascii_bin
                            NOT NULL DEFAULT 'pendiente',
  candidatas   INT UNSIGNED NOT NULL,             -- when it was asked for
  tope         INT UNSIGNED NOT NULL,             -- no more are replayed, whatever fits meanwhile
  reenviadas   INT UNSIGNED NOT NULL DEFAULT 0,
  avance       BIGINT       NOT NULL DEFAULT 0,   -- the delivery up to which that has been done
  pedido_en    DATETIME(3)  NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  terminado_en DATETIME(3)  NULL,
  en_marcha_de BIGINT       GENERATED ALWAYS AS (IF(estado IN ('pendiente', 'en_curso'), webhook_id, NULL)) STORED,
  UNIQUE KEY reenvios_uno_en_marcha (en_marcha_de, entrega_id),
  KEY reenvios_de_entidad (entidad_id, pedido_en),
  KEY reenvios_terminados (terminado_en),
  CONSTRAINT reenvios_terminado CHECK ((estado IN ('terminado', 'cancelado')) = (terminado_en IS NOT NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS reenvios_entregas (
  reenvio_id     BIGINT       NOT NULL,
  entrega_id     BIGINT       NOT NULL,
  intentos_antes INT UNSIGNED NOT NULL,  -- what it came to is told by the attempts after these
  por_intentar   BIGINT       NULL,      -- its webhook, until the first of them
  PRIMARY KEY (reenvio_id, entrega_id),
  KEY reenvios_por_intentar (por_intentar, reenvio_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
