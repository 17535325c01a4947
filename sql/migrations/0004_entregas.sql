-- One row per notification and subscribed webhook, and the evidence of every attempt.

CREATE TABLE IF NOT EXISTS entregas (
  id              BIGINT            NOT NULL AUTO_INCREMENT PRIMARY KEY,
  notificacion_id BIGINT            NOT NULL,
  webhook_id      BIGINT            NOT NULL,
  estado          ENUM('pendiente', 'en_curso', 'entregada', 'fallida', 'cancelada', 'retenida')
                                    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  intentos        INT UNSIGNED      NOT NULL DEFAULT 0,  -- attempts of known outcome, ever
  paso            INT UNSIGNED      NOT NULL DEFAULT 0,  -- failures that count for the schedule; a replay starts again at 0
  proximo_intento DATETIME(3)       NOT NULL,            -- when it is due, while pendiente
  arriendo        BIGINT UNSIGNED   NULL,                -- the claim that owns it, while en_curso
  arriendo_hasta  DATETIME(3)       NULL,
  ultimo_estado   SMALLINT UNSIGNED NULL,
  ultimo_error    VARCHAR(500)      NOT NULL DEFAULT '',
  creada_en       DATETIME(3)       NOT NULL,
  terminada_en    DATETIME(3)       NULL,
  UNIQUE KEY entregas_una_por_webhook (notificacion_id, webhook_id),
  KEY entregas_por_reclamar (estado, webhook_id, proximo_intento, id),
  KEY entregas_arriendos_vencidos (arriendo_hasta),
  KEY entregas_de_webhook (webhook_id, id),
  CONSTRAINT entregas_notificacion FOREIGN KEY (notificacion_id) REFERENCES notificaciones_pendientes (id),
  CONSTRAINT entregas_webhook FOREIGN KEY (webhook_id) REFERENCES webhooks (id),
  CONSTRAINT entregas_arrendada CHECK ((estado = 'en_curso') = (arriendo IS NOT NULL)
                                       AND (arriendo IS NULL) = (arriendo_hasta IS NULL)),
  CONSTRAINT entregas_terminada CHECK ((estado IN ('entregada', 'fallida', 'cancelada')) = (terminada_en IS NOT NULL)),
  CONSTRAINT entregas_entregada_sin_error CHECK (estado <> 'entregada' OR ultimo_error = '')
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS intentos_entrega (
  entrega_id  BIGINT            NOT NULL,
  numero      INT UNSIGNED      NOT NULL,  -- from 1
  inicio      DATETIME(3)       NOT NULL,
  duracion_ms INT UNSIGNED      NOT NULL,
  direccion   VARCHAR(45)       CHARACTER SET ascii COLLATE ascii_bin NULL,  -- the IP dialled, when it came to that
  estado_http SMALLINT UNSIGNED NULL,
  error       VARCHAR(500)      NOT NULL DEFAULT '',
  PRIMARY KEY (entrega_id, numero),
  CONSTRAINT intentos_entrega_de FOREIGN KEY (entrega_id) REFERENCES entregas (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
