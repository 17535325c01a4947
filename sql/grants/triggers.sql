-- Run after every migration, as root. The server assigns the id of a new notification, whatever a writer sets in its
-- session. Any session may set insert_id, which the next INSERT takes as its id: one near the highest would make every
-- later INSERT fail. (MySQL also accepts a 0, which @@insert_id does not show: it is seen once the row has it.) Applies
-- to these two users only, because a replica and a restored binary log set ids in this way. The triggers run as a user
-- of their own, which belongs to no host and cannot connect: without its definer a trigger refuses every INSERT (error
-- 1449), and the programs' users are dropped when a host is removed. A lock on the table delays this, and every later
-- statement waits for it: so lock_wait_timeout is short.
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
