-- Takes: nothing that grows with the data.
-- limits.diagnostics: by when what an entity has had diagnosed will no longer count. In one statement, and none if a migration
-- that was killed has come this far.
SET @diagnosticos_saldados = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'altas_webhook' AND column_name = 'diagnosticos_saldados_hasta'),
  'DO 0',
  "ALTER TABLE altas_webhook
     ADD COLUMN diagnosticos_saldados_hasta DATETIME(6) NULL COMMENT 'as saldadas_hasta, of limits.diagnostics; NULL: none so far'");
PREPARE diagnosticos_saldados FROM @diagnosticos_saldados;
EXECUTE diagnosticos_saldados;
DEALLOCATE PREPARE diagnosticos_saldados;

-- The diagnosis of a receiver that its entity has asked for last; the dispatcher carries it out. Nothing references it. One that is
-- en_curso and past its lease is lost: it is shown as fallido, and nothing goes on with it.
CREATE TABLE IF NOT EXISTS diagnosticos (
  webhook_id     BIGINT          NOT NULL PRIMARY KEY,
  entidad_id     BIGINT          NOT NULL,
  entidad_nombre VARCHAR(255)    NOT NULL,     -- for the test events
  estado         ENUM('pendiente', 'en_curso', 'terminado', 'fallido') CHARACTER SET ascii COLLATE ascii_bin
                                 NOT NULL DEFAULT 'pendiente',
  pedido_en      DATETIME(3)     NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  iniciado_en    DATETIME(3)     NULL,
  arriendo       BIGINT UNSIGNED NULL,         -- the random token of its lease
  arriendo_hasta DATETIME(3)     NULL,
  pruebas        TEXT            NULL,         -- JSON, as entities see it; NULL: not over
  KEY diagnosticos_por_hacer (estado),
  KEY diagnosticos_por_fecha (pedido_en),
  CONSTRAINT diagnosticos_arriendo CHECK ((estado = 'en_curso') = (arriendo IS NOT NULL)),
  CONSTRAINT diagnosticos_pruebas CHECK ((estado IN ('terminado', 'fallido')) = (pruebas IS NOT NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
