-- Quarantine: notifications that the database refuses to change in any way, their rejection included. The row itself stays
-- `pendiente` for the server; what it is taken for, and why, is here. Nothing references the table, and it references
-- nothing: a row of it must never be refused.

CREATE TABLE IF NOT EXISTS notificaciones_apartadas (
  notificacion_id BIGINT       NOT NULL PRIMARY KEY,
  estado          ENUM('rechazada', 'cancelada') CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  error           VARCHAR(500) NOT NULL,
  version         VARCHAR(50)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,  -- that has tried; another one tries once more
  apartada_en     DATETIME(3)  NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
