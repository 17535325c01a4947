-- The emergency stop of all sending: `apientidades-admin queue pause`.

CREATE TABLE IF NOT EXISTS control_envio (
  id      TINYINT     NOT NULL PRIMARY KEY,
  pausada BOOLEAN     NOT NULL DEFAULT FALSE,
  desde   DATETIME(3) NULL,
  CONSTRAINT control_envio_fila_unica CHECK (id = 1),
  CONSTRAINT control_envio_desde CHECK (pausada = (desde IS NOT NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT INTO control_envio (id) SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM control_envio);
