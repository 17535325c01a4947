-- After every migration, as root: whatever a writer sets in its session, the number of a new notification is the server's.
-- Any session may set insert_id, which the next INSERT takes for its number: one near the end of BIGINT and nobody could
-- insert any more. (MySQL takes a 0, too, which @@insert_id does not show: it is seen once the row has it.) Of these two
-- users alone, since a replica and a restored binary log number their rows so.
-- They run as a user of their own, of no host and with whose name nobody connects: without its definer a trigger refuses
-- every INSERT (error 1449), and the programs' users are dropped when a host is given up.
-- What holds the table keeps this waiting, and with it every statement that comes after: not for long.
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
