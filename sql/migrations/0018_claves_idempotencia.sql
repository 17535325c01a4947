-- Takes: nothing: a table of its own.
-- Idempotency-Key of POST /webhooks: what was answered to a registration that had one, for 24 h. Written in the transaction of the
-- registration, so there is one exactly if there is the webhook; the dispatcher removes it later. Of the body, which holds a
-- secret, a keyed HMAC alone. Nothing references it.
CREATE TABLE IF NOT EXISTS claves_idempotencia (
  entidad_id    BIGINT      NOT NULL,
  clave         VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- as it came; without blanks
  webhook_id    BIGINT      NOT NULL,
  cuerpo_clave  VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- which key of secrets.key_file made the next one
  cuerpo_huella VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- by which the same body is known again
  respuesta     TEXT        NOT NULL,                                        -- the body of the 201
  creada_en     DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  PRIMARY KEY (entidad_id, clave),
  KEY claves_idempotencia_por_hora (creada_en)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
