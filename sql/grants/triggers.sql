-- Run after every migration, as root, and before evaluacion.sql. These triggers let only the server assign the id of a new
-- notification, or of what calls one off. Otherwise a writer could set one, in the row or by insert_id, and an id near the highest
-- would make every later INSERT fail. The operator's users may set ids, and so may a replica, which has no user: they repeat what is
-- in a binary log. On MySQL @@insert_id does not show that it was set to 0, and no trigger before the INSERT knows an id of 0 in the
-- mode NO_AUTO_VALUE_ON_ZERO, so the second trigger looks at the row. The first also refuses a time ahead of the clock, most often a
-- local one, because the CHECKs cannot, and a row that would expire before it may be sent. A mapper writes NULL into a column that its
-- program leaves unset: that is the default here. No trigger calls a function: see routines.sql. The triggers have a definer of their
-- own, who cannot connect. A program's user would not do: it is dropped when its host is removed, and a trigger without its definer
-- refuses every INSERT (error 1449). If another session locks the table, these statements wait, and every later statement on the table
-- waits for them, so lock_wait_timeout is short.
SET SESSION lock_wait_timeout = 5;
CREATE USER IF NOT EXISTS 'apientidades_triggers'@'localhost' ACCOUNT LOCK;
GRANT TRIGGER, SELECT (id, entidad_id, clave, clave_unica, ocurrida_en, estado, error, origen, caduca_en, no_antes_de, urgente),
  UPDATE (estado, error, terminada_en, relleno, ocurrida_en, urgente)
  ON notificaciones_pendientes TO 'apientidades_triggers'@'localhost';
GRANT TRIGGER, SELECT (id, notificacion_id, entidad_id, clave, anulada_en), UPDATE (notificacion_id, anulada_en)
  ON notificaciones_anuladas TO 'apientidades_triggers'@'localhost';
DROP TRIGGER IF EXISTS numero_lo_pone_el_servidor;
DROP TRIGGER IF EXISTS numero_no_es_cero;
DROP TRIGGER IF EXISTS anular_notificacion;
DELIMITER //
CREATE DEFINER = 'apientidades_triggers'@'localhost' TRIGGER numero_lo_pone_el_servidor
  BEFORE INSERT ON notificaciones_pendientes FOR EACH ROW
  IF (NEW.id <> 0 OR @@insert_id <> 0) AND USER() <> '' AND SUBSTRING_INDEX(USER(), '@', 1) NOT IN ('root', 'apientidades_admin') THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'id: lo pone el servidor. No lo escriba (valen DEFAULT o NULL) ni fije insert_id';
  ELSEIF (NEW.ocurrida_en <= UTC_TIMESTAMP(3) + INTERVAL 5 MINUTE) IS NOT TRUE OR (NEW.urgente = 0) IS NOT TRUE
    OR NEW.caduca_en IS NOT NULL OR NEW.no_antes_de IS NOT NULL THEN
    SET NEW.ocurrida_en = COALESCE(NEW.ocurrida_en, UTC_TIMESTAMP(3)), NEW.urgente = COALESCE(NEW.urgente, FALSE);
    IF NEW.ocurrida_en > UTC_TIMESTAMP(3) + INTERVAL 5 MINUTE THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'ocurrida_en: va por delante del reloj UTC del servidor (se admiten 5 minutos)';
    ELSEIF NEW.urgente NOT IN (0, 1) THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'urgente: debe ser 0 o 1';
    ELSEIF NOT (NEW.caduca_en + INTERVAL 0 DAY <=> NEW.caduca_en) THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'caduca_en: no es una fecha';
    ELSEIF NOT (NEW.no_antes_de + INTERVAL 0 DAY <=> NEW.no_antes_de) THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no_antes_de: no es una fecha';
    ELSEIF NEW.caduca_en <= NEW.no_antes_de THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no_antes_de: debe ser anterior a caduca_en';
    ELSEIF NEW.no_antes_de > UTC_TIMESTAMP(3) + INTERVAL 1 YEAR THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no_antes_de: no puede pasar de un año';
    END IF;
  END IF//
CREATE DEFINER = 'apientidades_triggers'@'localhost' TRIGGER numero_no_es_cero
  AFTER INSERT ON notificaciones_pendientes FOR EACH ROW
  IF NEW.id < 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'id: lo pone el servidor. No lo escriba (valen DEFAULT o NULL) ni fije insert_id';
  END IF//
-- Calls a notification off, in the writer's transaction; a claim then ends its deliveries. With a `clave` the one that holds it is
-- meant, else the newest: a rejected one, or one that reached no webhook, has left the `clave`. What is called off takes a free
-- `clave` back, so that a repeated job does not send it after all. anulada_en has no default: without this trigger every INSERT fails.
CREATE DEFINER = 'apientidades_triggers'@'localhost' TRIGGER anular_notificacion
  BEFORE INSERT ON notificaciones_anuladas FOR EACH ROW
BEGIN
  DECLARE numero BIGINT DEFAULT IF(NEW.notificacion_id IS NULL,
    COALESCE(
      (SELECT n.id FROM notificaciones_pendientes n
       WHERE n.entidad_id = NEW.entidad_id AND n.clave = NEW.clave AND n.clave_unica = CAST(NEW.clave AS BINARY) AND n.origen = 'evaluacion'),
      (SELECT MAX(n.id) FROM notificaciones_pendientes n
       WHERE n.entidad_id = NEW.entidad_id AND n.clave = NEW.clave AND CAST(n.clave AS BINARY) = CAST(NEW.clave AS BINARY)
         AND n.origen = 'evaluacion')),
    (SELECT n.id FROM notificaciones_pendientes n
     WHERE n.id = NEW.notificacion_id AND n.origen = 'evaluacion' AND COALESCE(n.entidad_id = NEW.entidad_id, NEW.entidad_id IS NULL)
       AND COALESCE(CAST(n.clave AS BINARY) = CAST(NEW.clave AS BINARY), NEW.clave IS NULL)));
  IF (NEW.id <> 0 OR @@insert_id <> 0) AND USER() <> '' AND SUBSTRING_INDEX(USER(), '@', 1) NOT IN ('root', 'apientidades_admin') THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'id: lo pone el servidor. No lo escriba (valen DEFAULT o NULL) ni fije insert_id';
  ELSEIF numero IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'notificaciones_anuladas: no hay ninguna notificación con ese notificacion_id, o con esa entidad_id y clave';
  END IF;
  UPDATE notificaciones_pendientes n SET n.estado = 'cancelada', n.terminada_en = UTC_TIMESTAMP(3), n.relleno = NULL
    WHERE n.id = numero AND n.estado <> 'cancelada';
  IF NOT EXISTS (SELECT 1 FROM notificaciones_pendientes n JOIN notificaciones_pendientes t
                   ON t.entidad_id = n.entidad_id AND t.clave = n.clave AND t.clave_unica = CAST(n.clave AS BINARY) WHERE n.id = numero) THEN
    UPDATE notificaciones_pendientes n SET n.error = NULL WHERE n.id = numero AND n.error IS NOT NULL;
  END IF;
  SET NEW.notificacion_id = numero, NEW.anulada_en = UTC_TIMESTAMP(3);
END//
DELIMITER ;
