-- The latest time that the database's clock is known to have had: how a clock that goes back is noticed, also across
-- restarts. A table of its own: `queue pause` never meets a conflict over control_envio.

CREATE TABLE IF NOT EXISTS reloj_visto (
  id   TINYINT     NOT NULL PRIMARY KEY,
  hora DATETIME(3) NOT NULL,
  CONSTRAINT reloj_visto_fila_unica CHECK (id = 1)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT INTO reloj_visto (id, hora) SELECT 1, UTC_TIMESTAMP(3) WHERE NOT EXISTS (SELECT 1 FROM reloj_visto);
