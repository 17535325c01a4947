-- Takes: nothing, however many rows: two new tables.
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

-- The codes that were asked for in the last day, for limits.contact_codes and for what one address may get. The place lets one
-- address have six rows at most, under any concurrency. An entity's next code removes its older rows.
CREATE TABLE IF NOT EXISTS codigos_pedidos (
  huella      BINARY(32)   NOT NULL,          -- SHA-256 of the address in lower case: a removed address is not kept
  plaza       TINYINT      NOT NULL,
  entidad_id  BIGINT       NOT NULL,
  pedido_en   DATETIME(3)  NOT NULL CHECK (pedido_en + INTERVAL 0 DAY <=> pedido_en),
  PRIMARY KEY (huella, plaza),
  KEY codigos_de_entidad (entidad_id, pedido_en),
  CONSTRAINT codigos_plaza CHECK (plaza BETWEEN 1 AND 6)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
