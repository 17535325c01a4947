-- apientidades-admin: runs migrations and every operation of the operator, within this database. It may not change or
-- delete rows of the audit; the dispatcher removes old rows. A right to all tables cannot be revoked for one table, so each
-- table has its own grant. Each grant includes CREATE, because only such a grant may name a table that does not exist yet.
GRANT SELECT, INSERT, CREATE, ALTER, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW, EXECUTE ON * TO 'apientidades_admin'@'localhost';
GRANT CREATE, DROP ON notificaciones_resultado TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON altas_webhook TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON avisos TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON cambios_webhook TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON claves_idempotencia TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON codigos_pedidos TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON contactos TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON control_envio TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON cortes_envio TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON diagnosticos TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON entidades TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON entregas TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON intentos_entrega TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON migracion_guardia TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON migraciones TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON notificaciones_apartadas TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE, TRIGGER ON notificaciones_anuladas TO 'apientidades_admin'@'localhost';
GRANT CREATE, DROP ON notificaciones_aplazadas TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE, TRIGGER ON notificaciones_pendientes TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON pausas_envio TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON pruebas_pendientes TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON pruebas_por_borrar TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON reenvios TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON reenvios_entregas TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON reloj_visto TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON tokens_acceso TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON turnos_prueba TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON urls_desactivadas TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON webhook_ejecuciones TO 'apientidades_admin'@'localhost';
GRANT CREATE, UPDATE, DELETE ON webhooks TO 'apientidades_admin'@'localhost';
