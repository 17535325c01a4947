-- Run after every migration, as root, and before evaluacion.sql. These triggers let only the server assign the id of a
-- new notification. Otherwise a writer could set one, in the row or by insert_id, and an id near the highest would make
-- every later INSERT fail. The operator's users may set ids, and so may a replica, which has no user: they repeat what is
-- in a binary log. On MySQL @@insert_id does not show that it was set to 0, and no trigger before the INSERT knows an id
-- of 0 in the mode NO_AUTO_VALUE_ON_ZERO, so the second trigger looks at the row. The first also refuses a time ahead of
-- the clock, most often a local one: the CHECKs cannot. No trigger calls a function: see routines.sql. The triggers have
-- a definer of their own, who cannot connect. A program's user would not do: it is dropped when its host is removed, and
-- a trigger without its definer refuses every INSERT (error 1449). If another session locks the table, these statements
-- wait, and every later statement on the table waits for them, so lock_wait_timeout is short.
SET SESSION lock_wait_timeout = 5;
CREATE USER IF NOT EXISTS 'apientidades_triggers'@'localhost' ACCOUNT LOCK;
GRANT TRIGGER, SELECT (id, ocurrida_en) ON notificaciones_pendientes TO 'apientidades_triggers'@'localhost';
DROP TRIGGER IF EXISTS numero_lo_pone_el_servidor;
DROP TRIGGER IF EXISTS numero_no_es_cero;
DELIMITER //
CREATE DEFINER = 'apientidades_triggers'@'localhost' TRIGGER numero_lo_pone_el_servidor
  BEFORE INSERT ON notificaciones_pendientes FOR EACH ROW
  IF (NEW.id <> 0 OR @@insert_id <> 0) AND USER() <> '' AND SUBSTRING_INDEX(USER(), '@', 1) NOT IN ('root', 'apientidades_admin') THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'id: lo pone el servidor. No lo escriba (valen DEFAULT o NULL) ni fije insert_id';
  ELSEIF NEW.ocurrida_en > UTC_TIMESTAMP(3) + INTERVAL 5 MINUTE THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'ocurrida_en: va por delante del reloj UTC del servidor (se admiten 5 minutos)';
  END IF//
CREATE DEFINER = 'apientidades_triggers'@'localhost' TRIGGER numero_no_es_cero
  AFTER INSERT ON notificaciones_pendientes FOR EACH ROW
  IF NEW.id < 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'id: lo pone el servidor. No lo escriba (valen DEFAULT o NULL) ni fije insert_id';
  END IF//
DELIMITER ;
