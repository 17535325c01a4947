-- A notification whose row another session keeps locked is fanned out all the same: its row stays `pendiente` until the lock is
-- gone, and this list says that it is `procesada`, without an error.
ALTER TABLE notificaciones_apartadas
  MODIFY estado ENUM('rechazada', 'cancelada', 'procesada') CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  MODIFY error VARCHAR(500) NULL;
