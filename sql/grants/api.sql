-- apientidades-fcgi: authenticates, maintains the webhooks of the entities, queues test events, shows entities their
-- deliveries and changes, requests replays and diagnoses, and writes the audit. It reads no secret, sealed or not. It deletes only old
-- Idempotency-Keys, old counts of codes, entries of the list of pending test deliveries, and contacts that their entity removes. In a
-- webhook it cannot change the entity or the date of registration.
GRANT SELECT (id, nombre, activa) ON entidades TO 'apientidades_api'@'localhost';
GRANT SELECT (id, entidad_id, hash, etiqueta, caduca, revocado, solo_lectura) ON tokens_acceso TO 'apientidades_api'@'localhost';
GRANT SELECT (id, entidad_id, plaza, nombre, url, eventos, activo, motivo, desactivado_en, fecha_alta, fecha_modificacion, secreto_clave,
              secreto_b_clave, secreto_vigente, secreto_huella, version_secreto, version_huella, secreto_anterior_hasta,
              secreto_debil, secreto_inverificable),
      INSERT (entidad_id, plaza, url, eventos, nombre),
      UPDATE (plaza, nombre, url, eventos, activo, motivo, desactivado_en, secreto_clave, secreto_sellado, secreto_b_clave,
              secreto_b_sellado, secreto_vigente, secreto_huella, version_secreto, version_huella, secreto_anterior_hasta,
              secreto_inverificable, fecha_modificacion, fecha_baja)
  ON webhooks TO 'apientidades_api'@'localhost';
GRANT SELECT (entidad_id, url) ON urls_desactivadas TO 'apientidades_api'@'localhost';
GRANT SELECT (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, fallos, fallos_desde, fallos_ultimo, certificado_caduca)
  ON webhook_ejecuciones TO 'apientidades_api'@'localhost';
GRANT SELECT (id, evento, datos, estado, origen, ocurrida_en, caduca_en), INSERT (entidad_id, evento, datos, estado, origen, terminada_en)
  ON notificaciones_pendientes TO 'apientidades_api'@'localhost';
GRANT SELECT (id, notificacion_id, webhook_id, estado, espera, intentos, proximo_intento, ultimo_estado, ultimo_error, creada_en,
              terminada_en, entregada_en, evento, prueba),
      INSERT (notificacion_id, webhook_id, evento, prueba, estado, proximo_intento, creada_en)
  ON entregas TO 'apientidades_api'@'localhost';
GRANT SELECT (id, salto_ms) ON reloj_visto TO 'apientidades_api'@'localhost';
GRANT SELECT (desde, hasta, visto_en) ON cortes_envio TO 'apientidades_api'@'localhost';
GRANT SELECT,
      INSERT (entidad_id, webhook_id, entrega_id, desde, hasta, eventos, fallidas, entregadas, candidatas, tope),
      UPDATE (estado, terminado_en)
  ON reenvios TO 'apientidades_api'@'localhost';
GRANT SELECT ON reenvios_entregas TO 'apientidades_api'@'localhost';
GRANT SELECT (webhook_id, estado, iniciado_en, arriendo_hasta, pruebas), INSERT (webhook_id, entidad_id, entidad_nombre),
      UPDATE (estado, entidad_nombre, pedido_en, iniciado_en, arriendo, arriendo_hasta, pruebas)
  ON diagnosticos TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT, UPDATE ON cambios_webhook TO 'apientidades_api'@'localhost';
GRANT SELECT (id, ocurrida_en, entidad_id, token_id, accion, webhook_id, detalle, operador, veces, ultima_en, repeticion),
      INSERT (entidad_id, token_id, accion, webhook_id, detalle, repeticion), UPDATE (veces, ultima_en)
  ON auditoria TO 'apientidades_api'@'localhost';
GRANT SELECT ON intentos_entrega TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT, DELETE ON pruebas_pendientes TO 'apientidades_api'@'localhost';
GRANT INSERT (notificacion_id) ON pruebas_por_borrar TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT, UPDATE ON turnos_prueba TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT, UPDATE ON altas_webhook TO 'apientidades_api'@'localhost';
GRANT SELECT (id, entidad_id, plaza, correo, avisos, fecha_alta, confirmado_en, codigo_emitido, codigo_intentos, rechazado_en),
      INSERT (entidad_id, plaza, correo, avisos, codigo_emitido),
      UPDATE (avisos, confirmado_en, codigo_emitido, codigo_intentos, rechazado_en, rechazo), DELETE
  ON contactos TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT, DELETE ON codigos_pedidos TO 'apientidades_api'@'localhost';
GRANT SELECT, INSERT (entidad_id, clave, webhook_id, cuerpo_clave, cuerpo_huella, respuesta), DELETE
  ON claves_idempotencia TO 'apientidades_api'@'localhost';
