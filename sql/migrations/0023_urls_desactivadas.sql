-- Takes: nothing: a table of its own, and of webhooks what the operator has disabled.
-- URLs that the operator has disabled for an entity: they stay so whatever becomes of the webhook, until he lifts it. No retention
-- purges them. Nothing references it.
CREATE TABLE IF NOT EXISTS urls_desactivadas (
  entidad_id     BIGINT        NOT NULL,
  url            VARCHAR(2000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- as the webhook had it
  webhook_id     BIGINT        NOT NULL,                                        -- the one that was disabled
  desactivada_en DATETIME(3)   NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  PRIMARY KEY (entidad_id, url)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT INTO urls_desactivadas (entidad_id, url, webhook_id)
SELECT w.entidad_id, w.url, MAX(w.id) FROM webhooks w
WHERE w.motivo = 'operador' AND w.plaza IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM urls_desactivadas u WHERE u.entidad_id = w.entidad_id AND u.url = w.url)
GROUP BY w.entidad_id, w.url;
