-- Takes: 5 s for 1,000,000 rows each of entregas and intentos_entrega, which stay in use: only rows with such a date are changed
-- Takes: (MariaDB 10.11 with 256 MB of buffer pool, 2 busy cores). MariaDB adds the CHECKs at once (INSTANT).
-- A date that the calendar lacks (0000-00-00, 2026-00-15, 2026-02-31) is refused, whatever the session's sql_mode: MariaDB's default
-- sql_mode accepts the first two. `+ INTERVAL 0 DAY` of such a date is NULL. Such dates of before become the present time; IGNORE,
-- because a strict sql_mode makes that NULL an error.
-- Each CHECK belongs to its column, because MariaDB copies a table to add a CHECK of the table. A later MODIFY of such a column must
-- repeat the CHECK. MySQL names the CHECKs of a table TABLE_chk_1 and so on, and copies the table: entregas and intentos_entrega, if
-- they have more than a million rows, get no CHECK there (docs/installation.md#upgrade).

UPDATE IGNORE entregas
SET proximo_intento = IF(proximo_intento + INTERVAL 0 DAY <=> proximo_intento, proximo_intento, UTC_TIMESTAMP(3)),
  arriendo_hasta = IF(arriendo_hasta + INTERVAL 0 DAY <=> arriendo_hasta, arriendo_hasta, UTC_TIMESTAMP(3)),
  no_antes = IF(no_antes + INTERVAL 0 DAY <=> no_antes, no_antes, UTC_TIMESTAMP(3)),
  creada_en = IF(creada_en + INTERVAL 0 DAY <=> creada_en, creada_en, UTC_TIMESTAMP(3)),
  entregada_en = IF(entregada_en + INTERVAL 0 DAY <=> entregada_en, entregada_en, UTC_TIMESTAMP(3)),
  terminada_en = IF(terminada_en + INTERVAL 0 DAY <=> terminada_en, terminada_en, UTC_TIMESTAMP(3))
WHERE NOT (proximo_intento + INTERVAL 0 DAY <=> proximo_intento
  AND arriendo_hasta + INTERVAL 0 DAY <=> arriendo_hasta
  AND no_antes + INTERVAL 0 DAY <=> no_antes
  AND creada_en + INTERVAL 0 DAY <=> creada_en
  AND entregada_en + INTERVAL 0 DAY <=> entregada_en
  AND terminada_en + INTERVAL 0 DAY <=> terminada_en);
SET @entregas_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND constraint_name = 'entregas_chk_1')
  OR (VERSION() NOT LIKE '%MariaDB%' AND (SELECT COUNT(*) FROM (SELECT 1 FROM entregas LIMIT 1000001) filas) > 1000000),
  'DO 0',
  "ALTER TABLE entregas
     MODIFY COLUMN proximo_intento DATETIME(3) NOT NULL CHECK (proximo_intento + INTERVAL 0 DAY <=> proximo_intento),
     MODIFY COLUMN arriendo_hasta DATETIME(3) NULL CHECK (arriendo_hasta + INTERVAL 0 DAY <=> arriendo_hasta),
     MODIFY COLUMN no_antes DATETIME(3) NULL
       COMMENT 'the Retry-After of its last attempt'
       CHECK (no_antes + INTERVAL 0 DAY <=> no_antes),
     MODIFY COLUMN creada_en DATETIME(3) NOT NULL CHECK (creada_en + INTERVAL 0 DAY <=> creada_en),
     MODIFY COLUMN entregada_en DATETIME(3) NULL
       COMMENT 'the first 2xx ever; NULL while that is the delivery''s end, terminada_en'
       CHECK (entregada_en + INTERVAL 0 DAY <=> entregada_en),
     MODIFY COLUMN terminada_en DATETIME(3) NULL CHECK (terminada_en + INTERVAL 0 DAY <=> terminada_en)");
PREPARE entregas_con_fechas FROM @entregas_con_fechas;
EXECUTE entregas_con_fechas;
DEALLOCATE PREPARE entregas_con_fechas;

UPDATE IGNORE intentos_entrega
SET inicio = IF(inicio + INTERVAL 0 DAY <=> inicio, inicio, UTC_TIMESTAMP(3))
WHERE NOT (inicio + INTERVAL 0 DAY <=> inicio);
SET @intentos_entrega_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'intentos_entrega' AND constraint_name = 'intentos_entrega_chk_1')
  OR (VERSION() NOT LIKE '%MariaDB%' AND (SELECT COUNT(*) FROM (SELECT 1 FROM intentos_entrega LIMIT 1000001) filas) > 1000000),
  'DO 0',
  "ALTER TABLE intentos_entrega
     MODIFY COLUMN inicio DATETIME(3) NOT NULL CHECK (inicio + INTERVAL 0 DAY <=> inicio)");
PREPARE intentos_entrega_con_fechas FROM @intentos_entrega_con_fechas;
EXECUTE intentos_entrega_con_fechas;
DEALLOCATE PREPARE intentos_entrega_con_fechas;

UPDATE IGNORE entidades
SET fecha_alta = IF(fecha_alta + INTERVAL 0 DAY <=> fecha_alta, fecha_alta, UTC_TIMESTAMP(3))
WHERE NOT (fecha_alta + INTERVAL 0 DAY <=> fecha_alta);
SET @entidades_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'entidades' AND constraint_name = 'entidades_chk_1'),
  'DO 0',
  "ALTER TABLE entidades
     MODIFY COLUMN fecha_alta DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)) CHECK (fecha_alta + INTERVAL 0 DAY <=> fecha_alta)");
PREPARE entidades_con_fechas FROM @entidades_con_fechas;
EXECUTE entidades_con_fechas;
DEALLOCATE PREPARE entidades_con_fechas;

UPDATE IGNORE webhooks
SET fecha_alta = IF(fecha_alta + INTERVAL 0 DAY <=> fecha_alta, fecha_alta, UTC_TIMESTAMP(3)),
  fecha_modificacion = IF(fecha_modificacion + INTERVAL 0 DAY <=> fecha_modificacion, fecha_modificacion, UTC_TIMESTAMP(3)),
  fecha_baja = IF(fecha_baja + INTERVAL 0 DAY <=> fecha_baja, fecha_baja, UTC_TIMESTAMP(3)),
  secreto_anterior_hasta = IF(secreto_anterior_hasta + INTERVAL 0 DAY <=> secreto_anterior_hasta, secreto_anterior_hasta, UTC_TIMESTAMP(3))
WHERE NOT (fecha_alta + INTERVAL 0 DAY <=> fecha_alta
  AND fecha_modificacion + INTERVAL 0 DAY <=> fecha_modificacion
  AND fecha_baja + INTERVAL 0 DAY <=> fecha_baja
  AND secreto_anterior_hasta + INTERVAL 0 DAY <=> secreto_anterior_hasta);
SET @webhooks_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'webhooks' AND constraint_name = 'webhooks_chk_1'),
  'DO 0',
  "ALTER TABLE webhooks
     MODIFY COLUMN fecha_alta DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)) CHECK (fecha_alta + INTERVAL 0 DAY <=> fecha_alta),
     MODIFY COLUMN fecha_modificacion DATETIME(3) NULL
       COMMENT 'by its entity; NULL: never'
       CHECK (fecha_modificacion + INTERVAL 0 DAY <=> fecha_modificacion),
     MODIFY COLUMN fecha_baja DATETIME(3) NULL CHECK (fecha_baja + INTERVAL 0 DAY <=> fecha_baja),
     MODIFY COLUMN secreto_anterior_hasta DATETIME(3) NULL
       COMMENT 'until then the other one signs, too'
       CHECK (secreto_anterior_hasta + INTERVAL 0 DAY <=> secreto_anterior_hasta)");
PREPARE webhooks_con_fechas FROM @webhooks_con_fechas;
EXECUTE webhooks_con_fechas;
DEALLOCATE PREPARE webhooks_con_fechas;

UPDATE IGNORE webhook_ejecuciones
SET ultima_ejecucion = IF(ultima_ejecucion + INTERVAL 0 DAY <=> ultima_ejecucion, ultima_ejecucion, UTC_TIMESTAMP(3)),
  descansa_hasta = IF(descansa_hasta + INTERVAL 0 DAY <=> descansa_hasta, descansa_hasta, UTC_TIMESTAMP(3)),
  fallos_desde = IF(fallos_desde + INTERVAL 0 DAY <=> fallos_desde, fallos_desde, UTC_TIMESTAMP(3)),
  fallos_ultimo = IF(fallos_ultimo + INTERVAL 0 DAY <=> fallos_ultimo, fallos_ultimo, UTC_TIMESTAMP(3)),
  adelantar_en = IF(adelantar_en + INTERVAL 0 DAY <=> adelantar_en, adelantar_en, UTC_TIMESTAMP(3))
WHERE NOT (ultima_ejecucion + INTERVAL 0 DAY <=> ultima_ejecucion
  AND descansa_hasta + INTERVAL 0 DAY <=> descansa_hasta
  AND fallos_desde + INTERVAL 0 DAY <=> fallos_desde
  AND fallos_ultimo + INTERVAL 0 DAY <=> fallos_ultimo
  AND adelantar_en + INTERVAL 0 DAY <=> adelantar_en);
SET @webhook_ejecuciones_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'webhook_ejecuciones' AND constraint_name = 'webhook_ejecuciones_chk_1'),
  'DO 0',
  "ALTER TABLE webhook_ejecuciones
     MODIFY COLUMN ultima_ejecucion DATETIME(3) NULL CHECK (ultima_ejecucion + INTERVAL 0 DAY <=> ultima_ejecucion),
     MODIFY COLUMN descansa_hasta DATETIME(3) NULL CHECK (descansa_hasta + INTERVAL 0 DAY <=> descansa_hasta),
     MODIFY COLUMN fallos_desde DATETIME(3) NULL CHECK (fallos_desde + INTERVAL 0 DAY <=> fallos_desde),
     MODIFY COLUMN fallos_ultimo DATETIME(3) NULL COMMENT 'the last of `fallos`' CHECK (fallos_ultimo + INTERVAL 0 DAY <=> fallos_ultimo),
     MODIFY COLUMN adelantar_en DATETIME(3) NULL
       COMMENT 'from then on what waits is tried ahead of its schedule: one delivery while ultimo_error says something, else all'
       CHECK (adelantar_en + INTERVAL 0 DAY <=> adelantar_en)");
PREPARE webhook_ejecuciones_con_fechas FROM @webhook_ejecuciones_con_fechas;
EXECUTE webhook_ejecuciones_con_fechas;
DEALLOCATE PREPARE webhook_ejecuciones_con_fechas;

UPDATE IGNORE reenvios
SET desde = IF(desde + INTERVAL 0 DAY <=> desde, desde, UTC_TIMESTAMP(3)),
  hasta = IF(hasta + INTERVAL 0 DAY <=> hasta, hasta, UTC_TIMESTAMP(3)),
  pedido_en = IF(pedido_en + INTERVAL 0 DAY <=> pedido_en, pedido_en, UTC_TIMESTAMP(3)),
  terminado_en = IF(terminado_en + INTERVAL 0 DAY <=> terminado_en, terminado_en, UTC_TIMESTAMP(3))
WHERE NOT (desde + INTERVAL 0 DAY <=> desde
  AND hasta + INTERVAL 0 DAY <=> hasta
  AND pedido_en + INTERVAL 0 DAY <=> pedido_en
  AND terminado_en + INTERVAL 0 DAY <=> terminado_en);
SET @reenvios_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'reenvios' AND constraint_name = 'reenvios_chk_1'),
  'DO 0',
  "ALTER TABLE reenvios
     MODIFY COLUMN desde DATETIME(3) NULL CHECK (desde + INTERVAL 0 DAY <=> desde),
     MODIFY COLUMN hasta DATETIME(3) NULL CHECK (hasta + INTERVAL 0 DAY <=> hasta),
     MODIFY COLUMN pedido_en DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)) CHECK (pedido_en + INTERVAL 0 DAY <=> pedido_en),
     MODIFY COLUMN terminado_en DATETIME(3) NULL CHECK (terminado_en + INTERVAL 0 DAY <=> terminado_en)");
PREPARE reenvios_con_fechas FROM @reenvios_con_fechas;
EXECUTE reenvios_con_fechas;
DEALLOCATE PREPARE reenvios_con_fechas;

UPDATE IGNORE cortes_envio
SET desde = IF(desde + INTERVAL 0 DAY <=> desde, desde, UTC_TIMESTAMP(3)),
  hasta = IF(hasta + INTERVAL 0 DAY <=> hasta, hasta, UTC_TIMESTAMP(3)),
  visto_en = IF(visto_en + INTERVAL 0 DAY <=> visto_en, visto_en, UTC_TIMESTAMP(3))
WHERE NOT (desde + INTERVAL 0 DAY <=> desde
  AND hasta + INTERVAL 0 DAY <=> hasta
  AND visto_en + INTERVAL 0 DAY <=> visto_en);
SET @cortes_envio_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'cortes_envio' AND constraint_name = 'cortes_envio_chk_1'),
  'DO 0',
  "ALTER TABLE cortes_envio
     MODIFY COLUMN desde DATETIME(3) NOT NULL CHECK (desde + INTERVAL 0 DAY <=> desde),
     MODIFY COLUMN hasta DATETIME(3) NULL CHECK (hasta + INTERVAL 0 DAY <=> hasta),
     MODIFY COLUMN visto_en DATETIME(3) NOT NULL CHECK (visto_en + INTERVAL 0 DAY <=> visto_en)");
PREPARE cortes_envio_con_fechas FROM @cortes_envio_con_fechas;
EXECUTE cortes_envio_con_fechas;
DEALLOCATE PREPARE cortes_envio_con_fechas;

UPDATE IGNORE reloj_visto
SET hora = IF(hora + INTERVAL 0 DAY <=> hora, hora, UTC_TIMESTAMP(3))
WHERE NOT (hora + INTERVAL 0 DAY <=> hora);
SET @reloj_visto_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'reloj_visto' AND constraint_name = 'reloj_visto_chk_1'),
  'DO 0',
  "ALTER TABLE reloj_visto
     MODIFY COLUMN hora DATETIME(3) NOT NULL CHECK (hora + INTERVAL 0 DAY <=> hora)");
PREPARE reloj_visto_con_fechas FROM @reloj_visto_con_fechas;
EXECUTE reloj_visto_con_fechas;
DEALLOCATE PREPARE reloj_visto_con_fechas;

UPDATE IGNORE diagnosticos
SET pedido_en = IF(pedido_en + INTERVAL 0 DAY <=> pedido_en, pedido_en, UTC_TIMESTAMP(3)),
  iniciado_en = IF(iniciado_en + INTERVAL 0 DAY <=> iniciado_en, iniciado_en, UTC_TIMESTAMP(3)),
  arriendo_hasta = IF(arriendo_hasta + INTERVAL 0 DAY <=> arriendo_hasta, arriendo_hasta, UTC_TIMESTAMP(3))
WHERE NOT (pedido_en + INTERVAL 0 DAY <=> pedido_en
  AND iniciado_en + INTERVAL 0 DAY <=> iniciado_en
  AND arriendo_hasta + INTERVAL 0 DAY <=> arriendo_hasta);
SET @diagnosticos_con_fechas = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE table_schema = DATABASE() AND table_name = 'diagnosticos' AND constraint_name = 'diagnosticos_chk_1'),
  'DO 0',
  "ALTER TABLE diagnosticos
     MODIFY COLUMN pedido_en DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)) CHECK (pedido_en + INTERVAL 0 DAY <=> pedido_en),
     MODIFY COLUMN iniciado_en DATETIME(3) NULL CHECK (iniciado_en + INTERVAL 0 DAY <=> iniciado_en),
     MODIFY COLUMN arriendo_hasta DATETIME(3) NULL CHECK (arriendo_hasta + INTERVAL 0 DAY <=> arriendo_hasta)");
PREPARE diagnosticos_con_fechas FROM @diagnosticos_con_fechas;
EXECUTE diagnosticos_con_fechas;
DEALLOCATE PREPARE diagnosticos_con_fechas;
