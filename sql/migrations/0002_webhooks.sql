-- The endpoints of the entities.

CREATE TABLE IF NOT EXISTS webhooks (
  id              BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
  entidad_id      BIGINT          NOT NULL,
  plaza           TINYINT         NULL,      -- 1 to 5, NULL once deleted: the limit of five, enforced under any concurrency
  url             VARCHAR(2000)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- SET keeps no repeats and gives the names back in this order, the catalogue's.
  eventos         SET('evaluacion.abierta', 'evaluacion.prorroga', 'evaluacion.cierre_proximo', 'evaluacion.cerrada',
                      'resultados.provisionales', 'resultados.definitivos', 'alegaciones.periodo_abierto',
                      'alegaciones.periodo_cierre', 'incidencia.respuesta', 'incidencia.cerrada', 'documento.disponible')
                                  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  secreto_clave   VARCHAR(32)     CHARACTER SET ascii COLLATE ascii_bin NULL,  -- which key of secrets.key_file sealed it
  secreto_sellado VARBINARY(2200) NULL,      -- nonce, ciphertext and tag; bound to id
  activo          BOOLEAN         NOT NULL DEFAULT TRUE,
  motivo          ENUM('operador', 'http_410', 'fallos') CHARACTER SET ascii COLLATE ascii_bin NULL,  -- why it is not active
  fecha_alta      DATETIME(3)     NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  fecha_baja      DATETIME(3)     NULL,      -- deleted
  UNIQUE KEY webhooks_cinco_por_entidad (entidad_id, plaza),
  CONSTRAINT webhooks_entidad FOREIGN KEY (entidad_id) REFERENCES entidades (id),
  CONSTRAINT webhooks_plaza CHECK (plaza BETWEEN 1 AND 5),
  CONSTRAINT webhooks_baja_libera_plaza CHECK ((plaza IS NULL) = (fecha_baja IS NOT NULL)),
  CONSTRAINT webhooks_baja_olvida_secreto CHECK (fecha_baja IS NULL OR secreto_sellado IS NULL),
  CONSTRAINT webhooks_inactivo_con_motivo CHECK (activo = (motivo IS NULL)),
  CONSTRAINT webhooks_con_eventos CHECK (eventos <> ''),
  CONSTRAINT webhooks_url_https CHECK (url LIKE 'https://%'),
  CONSTRAINT webhooks_secreto_entero CHECK ((secreto_clave IS NULL) = (secreto_sellado IS NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The last execution of each webhook, apart from `webhooks`: written at every delivery, so nothing may reference it.
CREATE TABLE IF NOT EXISTS webhook_ejecuciones (
  webhook_id       BIGINT            NOT NULL PRIMARY KEY,
  ultima_ejecucion DATETIME(3)       NULL,              -- NULL: none yet, only a rest
  ultimo_estado    SMALLINT UNSIGNED NULL,              -- HTTP status; NULL when there was no response
  ultimo_error     VARCHAR(500)      NOT NULL DEFAULT '',
  sondeo           BOOLEAN           NOT NULL DEFAULT FALSE,  -- the last attempt failed in transport or with 429/503: one in flight
  descansa_hasta   DATETIME(3)       NULL,              -- Retry-After of a 429
  fallos           INT UNSIGNED      NOT NULL DEFAULT 0,      -- failures in a row, test events apart
  fallos_desde     DATETIME(3)       NULL,              -- the first of them
  CONSTRAINT ejecuciones_racha CHECK ((fallos = 0) = (fallos_desde IS NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
