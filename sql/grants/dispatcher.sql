-- apientidades-dispatcher: works the queue, records results, and purges rows past their retention. It sees no token.
-- It sees the name of an entity only in `diagnosticos`, which has a copy of the name. In a webhook it changes only the
-- state and, once the grace of the previous secret has ended, the secrets; in a notification only the result; in a
-- delivery only the state, schedule and results.
GRANT SELECT (id, activa) ON entidades TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT,
      UPDATE (activo, motivo, desactivado_en, secreto_clave, secreto_sellado, secreto_b_clave, secreto_b_sellado, secreto_anterior_hasta),
      DELETE ON webhooks TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_ejecuciones TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, UPDATE (estado, error, terminada_en, relleno, aplazada_hasta), DELETE
  ON notificaciones_pendientes TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT,
      INSERT (notificacion_id, webhook_id, evento, prueba, estado, proximo_intento, creada_en, arriendo, arriendo_hasta),
      UPDATE (estado, tipo, adelantada, prevista, no_antes, intentos, paso, proximo_intento, arriendo, arriendo_hasta,
              ultimo_estado, ultimo_error, terminada_en, entregada_en, reenviada),
      DELETE
  ON entregas TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, DELETE ON intentos_entrega TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, UPDATE (estado, candidatas, reenviadas, recibidas, agotadas, avance, terminado_en), DELETE ON reenvios TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, UPDATE (por_intentar, resultado), DELETE ON reenvios_entregas TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, UPDATE (estado, iniciado_en, arriendo, arriendo_hasta, pruebas), DELETE
  ON diagnosticos TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, UPDATE (avance), DELETE ON cambios_webhook TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT (id, ocurrida_en, entidad_id, accion, ultima_en), DELETE ON auditoria TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT (creada_en), DELETE ON claves_idempotencia TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT ON pausas_envio TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, DELETE ON pruebas_por_borrar TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT ON control_envio TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT (notificacion_id), DELETE ON notificaciones_anuladas TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON cortes_envio TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT, UPDATE (hora, salto_ms) ON reloj_visto TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT (contacto_id, tipo, estado, proximo_intento, creado_en, enviado_en) ON avisos TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT (id, confirmado_en, rechazado_en) ON contactos TO 'apientidades_dispatcher'@'localhost';
GRANT SELECT ON migraciones TO 'apientidades_dispatcher'@'localhost';
