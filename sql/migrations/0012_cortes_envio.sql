-- Outages of the service itself (its network, its name servers), as each dispatcher judged them: their time is not part of
-- delivery.disable_after, and `queue status` shows those that last. A row for each outage: few, kept for a year.
CREATE TABLE IF NOT EXISTS cortes_envio (
  id          BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
  despachador VARCHAR(255)    NOT NULL,       -- host:pid
  tipo        ENUM('red', 'dns') CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  desde       DATETIME(3)     NOT NULL,
  hasta       DATETIME(3)     NULL,           -- NULL: it lasts, or its dispatcher has died
  visto_en    DATETIME(3)     NOT NULL,       -- confirmed every 10 s while it lasts
  entregas    BIGINT UNSIGNED NOT NULL DEFAULT 0,  -- that it delayed after an attempt
  KEY cortes_por_visto (visto_en)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
