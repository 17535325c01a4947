-- Run after routines.sql, by an administrator who may grant PROCESS; without it, `queue status` names fewer sessions. For
-- apientidades-admin, which may not see other users' sessions. The right PROCESS shows every statement of the server, so only the
-- locked user has it, and these functions show no statement. As in routines.sql, a function whose parameters change needs another name.
SET NAMES utf8mb4;
SET SESSION lock_wait_timeout = 5;
CREATE USER IF NOT EXISTS 'apientidades_triggers'@'localhost' ACCOUNT LOCK;
DELIMITER //
GRANT PROCESS ON *.* TO 'apientidades_triggers'@'localhost'//

-- For how many seconds an INSERT of a notification has waited for another session's lock; NULL: none waits. innodb_trx has its times in
-- the server's own zone.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS espera_de_las_inserciones */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION espera_de_las_inserciones()
RETURNS BIGINT READS SQL DATA
RETURN (SELECT MAX(TIMESTAMPDIFF(SECOND, trx_wait_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM'))) FROM information_schema.innodb_trx
  JOIN information_schema.processlist p ON p.id = trx_mysql_thread_id
  WHERE trx_state = 'LOCK WAIT' AND (p.db = DATABASE() OR INSTR(REPLACE(trx_query, '`', ''), CONCAT(DATABASE(), '.')) > 0)
    AND trx_query REGEXP '(insert|replace)[^(]*[[:space:]`.]notificaciones_(pendientes|comprobadas)`?[[:space:]]*([(]|set|values?|select)')//
GRANT EXECUTE ON FUNCTION espera_de_las_inserciones TO 'apientidades_triggers'@'localhost'//

-- The session of the transaction number `cual`, counted from 0, the oldest first, among those that have been open for `segundos`, have
-- locked rows and do not wait themselves. NULL: there is none.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS sesion_con_bloqueos */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION sesion_con_bloqueos(segundos BIGINT, cual INT)
RETURNS VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin READS SQL DATA
BEGIN
  DECLARE sesion VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE CONTINUE HANDLER FOR NOT FOUND DO 0;
  SELECT CONCAT('connection ', p.id, ' of ', p.user, ' from ', p.host, ' since ',
      DATE_FORMAT(CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), '%Y-%m-%dT%H:%i:%sZ')) INTO sesion
    FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
    WHERE p.id <> CONNECTION_ID() AND t.trx_rows_locked > 0 AND t.trx_state <> 'LOCK WAIT'
      AND TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) + 1 >= segundos
    ORDER BY t.trx_started, p.id LIMIT cual, 1;
  RETURN sesion;
END//
GRANT EXECUTE ON FUNCTION sesion_con_bloqueos TO 'apientidades_triggers'@'localhost'//
DELIMITER ;
