-- Who may use the service. Every statement can be run again: a migration that was cut short is simply repeated.

CREATE TABLE IF NOT EXISTS entidades (
  id         BIGINT       NOT NULL PRIMARY KEY,  -- given by the evaluation system
  nombre     VARCHAR(255) NOT NULL,
  activa     BOOLEAN      NOT NULL DEFAULT TRUE,
  fecha_alta DATETIME(3)  NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  CONSTRAINT entidades_id_positivo CHECK (id > 0),
  CONSTRAINT entidades_nombre_no_vacio CHECK (nombre <> '')
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Only the SHA-256 of a token is kept: whoever reads the database cannot use it.
CREATE TABLE IF NOT EXISTS tokens_acceso (
  id         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  entidad_id BIGINT       NOT NULL,
  hash       BINARY(32)   NOT NULL,
  etiqueta   VARCHAR(100) NOT NULL DEFAULT '',
  fecha_alta DATETIME(3)  NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  caduca     DATETIME(3)  NULL,
  revocado   DATETIME(3)  NULL,
  UNIQUE KEY tokens_autenticar (hash),
  KEY tokens_de_entidad (entidad_id),
  CONSTRAINT tokens_entidad FOREIGN KEY (entidad_id) REFERENCES entidades (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
