-- apientidades-dispatcher: works the queue, records what came of it, and purges what retention lets go. It sees no
-- token, and of a webhook it changes only whether it is active.
GRANT SELECT                          ON entidades                 TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, UPDATE (activo, motivo),
      DELETE                          ON webhooks                  TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE  ON webhook_ejecuciones       TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, UPDATE, DELETE          ON notificaciones_pendientes TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE  ON notificaciones_apartadas  TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE  ON entregas                  TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, DELETE          ON intentos_entrega          TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT                          ON control_envio             TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE  ON cortes_envio              TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, UPDATE (hora)           ON reloj_visto               TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT                          ON migraciones               TO 'apientidades_dispatcher'@'localhost';
