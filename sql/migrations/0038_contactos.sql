-- Takes: nothing, however many rows: a new table, and a column that is added at once (MariaDB and MySQL: INSTANT).
-- The addresses that an entity wants to be told at. A removed one leaves no row, and no later one gets its id, which the mails'
-- links name. No confirmation code is kept: it is computed from the row and a key of secrets.key_file.
CREATE TABLE IF NOT EXISTS contactos (
  id              BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  entidad_id      BIGINT       NOT NULL,
  plaza           TINYINT      NOT NULL,      -- 1 to 5: the limit of five, enforced under any concurrency
  correo          VARCHAR(254) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- its domain in lower case
  avisos          SET('fallo', 'desactivacion_proxima', 'desactivado', 'recuperado', 'certificado', 'secreto', 'token',
                      'entregas_fallidas')
                               CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- '': it is told of nothing
  fecha_alta      DATETIME(3)  NOT NULL DEFAULT (UTC_TIMESTAMP(3)) CHECK (fecha_alta + INTERVAL 0 DAY <=> fecha_alta),
  confirmado_en   DATETIME(3)  NULL CHECK (confirmado_en + INTERVAL 0 DAY <=> confirmado_en),
  codigo_emitido  DATETIME(3)  NULL           -- when the code that counts was asked for; NULL: none was, or it has confirmed
                               CHECK (codigo_emitido + INTERVAL 0 DAY <=> codigo_emitido),
  codigo_intentos TINYINT      NOT NULL DEFAULT 0,  -- wrong tries of that code
  rechazado_en    DATETIME(3)  NULL           -- the mail server has refused the address for good
                               CHECK (rechazado_en + INTERVAL 0 DAY <=> rechazado_en),
  rechazo         VARCHAR(500) NULL,          -- its answer, for the operator
  UNIQUE KEY contactos_cinco_por_entidad (entidad_id, plaza),
  UNIQUE KEY contactos_de_entidad (entidad_id, correo),
  KEY contactos_por_codigo (codigo_emitido),
  KEY contactos_rechazados (rechazado_en),
  CONSTRAINT contactos_entidad FOREIGN KEY (entidad_id) REFERENCES entidades (id),
  CONSTRAINT contactos_plaza CHECK (plaza BETWEEN 1 AND 5),
  CONSTRAINT contactos_correo CHECK (correo LIKE '_%@_%'),
  CONSTRAINT contactos_intentos CHECK (codigo_intentos BETWEEN 0 AND 5),
  CONSTRAINT contactos_confirmado_sin_codigo CHECK (confirmado_en IS NULL OR codigo_emitido IS NULL),
  CONSTRAINT contactos_rechazo CHECK ((rechazado_en IS NULL) = (rechazo IS NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- limits.contact_codes: by when the codes that an entity has asked for will no longer count.
SET @codigos_saldados = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'altas_webhook' AND column_name = 'codigos_saldados_hasta'),
  'DO 0',
  "ALTER TABLE altas_webhook
     ADD COLUMN codigos_saldados_hasta DATETIME(6) NULL COMMENT 'as saldadas_hasta, of limits.contact_codes; NULL: none so far'");
PREPARE codigos_saldados FROM @codigos_saldados;
EXECUTE codigos_saldados;
DEALLOCATE PREPARE codigos_saldados;
