-- apientidades-fcgi: authenticates, keeps the webhooks of the entities, queues test events. It deletes no row but those
-- that count pending test events, and of a webhook it changes only what sealing its secret and deleting it change.
GRANT SELECT                                                    ON entidades                 TO 'apientidades_api'@'localhost';
GRANT SELECT                                                    ON tokens_acceso             TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT,
      UPDATE (plaza, secreto_clave, secreto_sellado, fecha_baja) ON webhooks                 TO 'apientidades_api'@'localhost';
GRANT SELECT                                                    ON webhook_ejecuciones       TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT                                            ON notificaciones_pendientes TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT                                            ON entregas                  TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT, DELETE                                    ON pruebas_pendientes        TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT, UPDATE                                    ON turnos_prueba             TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT, UPDATE                                    ON altas_webhook             TO 'apientidades_api'@'localhost';
