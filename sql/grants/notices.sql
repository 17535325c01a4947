-- apientidades-notices: decides what the contacts of entities are told by mail, and writes what it has told. It sees no data of a
-- notification, no secret and no hash of a token. Besides its own table it only marks contacts that the mail server refuses.
GRANT SELECT (id, nombre, activa) ON entidades TO 'apientidades_notices'@'localhost';
GRANT SELECT (id, entidad_id, plaza, correo, avisos, confirmado_en, codigo_emitido, rechazado_en), UPDATE (rechazado_en, rechazo)
  ON contactos TO 'apientidades_notices'@'localhost';
GRANT SELECT (id, entidad_id, plaza, nombre, url, activo, motivo, desactivado_en, secreto_anterior_hasta, fecha_modificacion)
  ON webhooks TO 'apientidades_notices'@'localhost';
GRANT SELECT (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, fallos, fallos_desde, fallos_ultimo, certificado_caduca)
  ON webhook_ejecuciones TO 'apientidades_notices'@'localhost';
GRANT SELECT (webhook_id) ON cambios_webhook TO 'apientidades_notices'@'localhost';
GRANT SELECT (id, entidad_id, etiqueta, fecha_alta, caduca, revocado) ON tokens_acceso TO 'apientidades_notices'@'localhost';
GRANT SELECT (espera, webhook_id, proximo_intento, terminada_en, entregada_en, prueba) ON entregas TO 'apientidades_notices'@'localhost';
GRANT SELECT (despachador, tipo, desde, hasta, visto_en, entregas, id) ON cortes_envio TO 'apientidades_notices'@'localhost';
GRANT SELECT (id, hora, salto_ms) ON reloj_visto TO 'apientidades_notices'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON avisos TO 'apientidades_notices'@'localhost';
GRANT SELECT ON migraciones TO 'apientidades_notices'@'localhost';
