-- Takes: nothing on MariaDB, however many rows: new tables, and columns that are added at once (INSTANT). MySQL copies webhooks and
-- webhook_ejecuciones to add a CHECK (20 s for 1,000,000 rows each).
-- What apientidades-notices tells by mail: a row for each contact and episode. The row becomes `enviando`, with the mail's id, before
-- the mail is sent, so that a repeated mail has the same Message-ID. Nothing references it.
CREATE TABLE IF NOT EXISTS avisos (
  id              BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  contacto_id     BIGINT       NOT NULL,      -- 0: the operator (mail.operator)
  entidad_id      BIGINT       NULL,
  webhook_id      BIGINT       NULL,
  tipo            VARCHAR(30)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- of contactos.avisos, codigo or resumen
  episodio        VARCHAR(80)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  datos           TEXT         NOT NULL,      -- JSON: what the text says
  estado          ENUM('pendiente', 'enviando', 'enviado', 'fallido', 'descartado') CHARACTER SET ascii COLLATE ascii_bin NOT NULL
                               DEFAULT 'pendiente',
  intentos        INT UNSIGNED NOT NULL DEFAULT 0,
  proximo_intento DATETIME(3)  NOT NULL CHECK (proximo_intento + INTERVAL 0 DAY <=> proximo_intento),  -- while enviando: of its mail
  creado_en       DATETIME(3)  NOT NULL DEFAULT (UTC_TIMESTAMP(3)) CHECK (creado_en + INTERVAL 0 DAY <=> creado_en),
  enviado_en      DATETIME(3)  NULL CHECK (enviado_en + INTERVAL 0 DAY <=> enviado_en),
  mensaje         VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NULL,  -- the mail's id, before the @
  error           VARCHAR(500) NOT NULL DEFAULT '',
  UNIQUE KEY avisos_una_vez (contacto_id, tipo, episodio),
  KEY avisos_por_enviar (estado, proximo_intento),
  KEY avisos_por_tipo (estado, tipo, proximo_intento),
  KEY avisos_de_webhook (webhook_id, tipo),
  KEY avisos_de_mensaje (mensaje),
  KEY avisos_por_fecha (creado_en),
  KEY avisos_enviados (enviado_en),
  CONSTRAINT avisos_enviado CHECK ((estado = 'enviado') = (enviado_en IS NOT NULL)),
  CONSTRAINT avisos_con_mensaje CHECK (estado <> 'enviando' OR mensaje IS NOT NULL)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Since when a webhook is inactive, for the episode of `desactivado`; of an earlier time if it is active. For larger tables on MySQL
-- see migration 0031.
SET @webhooks_con_desactivado = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND column_name = 'desactivado_en'),
  'DO 0',
  CONCAT("ALTER TABLE webhooks
            ADD COLUMN desactivado_en DATETIME(3) NULL COMMENT 'the last time that it was deactivated or disabled'",
         IF(VERSION() NOT LIKE '%MariaDB%' AND (SELECT COUNT(*) FROM (SELECT 1 FROM webhooks LIMIT 1000001) filas) > 1000000,
            '', ' CHECK (desactivado_en + INTERVAL 0 DAY <=> desactivado_en)')));
PREPARE webhooks_con_desactivado FROM @webhooks_con_desactivado;
EXECUTE webhooks_con_desactivado;
DEALLOCATE PREPARE webhooks_con_desactivado;

-- Written only when a handshake shows another value.
SET @ejecuciones_con_certificado = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'webhook_ejecuciones' AND column_name = 'certificado_caduca'),
  'DO 0',
  CONCAT("ALTER TABLE webhook_ejecuciones
            ADD COLUMN certificado_caduca DATETIME(3) NULL COMMENT 'the end of the receiver''s certificate, of its last handshake'",
         IF(VERSION() NOT LIKE '%MariaDB%' AND (SELECT COUNT(*) FROM (SELECT 1 FROM webhook_ejecuciones LIMIT 1000001) filas) > 1000000,
            '', ' CHECK (certificado_caduca + INTERVAL 0 DAY <=> certificado_caduca)')));
PREPARE ejecuciones_con_certificado FROM @ejecuciones_con_certificado;
EXECUTE ejecuciones_con_certificado;
DEALLOCATE PREPARE ejecuciones_con_certificado;
