-- Run after every migration, as root. These triggers let only the server assign the id of a new notification. Any
-- session may set insert_id, and the next INSERT takes that as its id; an id near the highest would make every later
-- INSERT fail. The first trigger checks two users only, because a replica and a restored binary log set ids in this way.
-- On MySQL @@insert_id does not show that it was set to 0, so the second trigger looks at the row. The triggers have a
-- definer of their own, who cannot connect. A program's user would not do: it is dropped when its host is removed,
-- and a trigger without its definer refuses every INSERT (error 1449). If another session locks the table, these
-- statements wait, and every later statement on the table waits for them, so lock_wait_timeout is short.
SET SESSION lock_wait_timeout = 5;
CREATE USER IF NOT EXISTS 'apientidades_triggers'@'localhost' ACCOUNT LOCK;
GRANT TRIGGER, SELECT (id) ON notificaciones_pendientes TO 'apientidades_triggers'@'localhost';
DROP TRIGGER IF EXISTS numero_lo_pone_el_servidor;
DROP TRIGGER IF EXISTS numero_no_es_cero;
DELIMITER //
CREATE DEFINER = 'apientidades_triggers'@'localhost' TRIGGER numero_lo_pone_el_servidor
  BEFORE INSERT ON notificaciones_pendientes FOR EACH ROW
  IF @@insert_id <> 0 AND SUBSTRING_INDEX(USER(), '@', 1) IN ('evaluacion', 'apientidades_api') THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'id: lo pone el servidor (insert_id)';
  END IF//
CREATE DEFINER = 'apientidades_triggers'@'localhost' TRIGGER numero_no_es_cero
  AFTER INSERT ON notificaciones_pendientes FOR EACH ROW
  IF NEW.id < 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'id: lo pone el servidor (insert_id)';
  END IF//
DELIMITER ;
