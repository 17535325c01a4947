-- The evaluation system's one table. It inserts (entidad_id, evento, datos [, ocurrida_en, clave]); the rest is ours.
-- No foreign key to entidades: what depends on data must never break the writer's transaction.
-- The CHECKs hold whatever the writer's sql_mode; LIKE '% ' because comparisons ignore trailing blanks.

CREATE TABLE IF NOT EXISTS notificaciones_pendientes (
  id           BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  entidad_id   BIGINT       NOT NULL,
  evento       VARCHAR(40)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  datos        LONGTEXT     NOT NULL,
  clave        VARCHAR(128) NULL,
  ocurrida_en  DATETIME(3)  NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  estado       ENUM('pendiente', 'procesada', 'rechazada', 'cancelada') CHARACTER SET ascii COLLATE ascii_bin
                            NOT NULL DEFAULT 'pendiente',
  origen       ENUM('evaluacion', 'prueba') CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'evaluacion',
  error        VARCHAR(500) NULL,
  terminada_en DATETIME(3)  NULL,
  -- Bytes, so that the comparison is exact; NULL once rejected, so that a corrected row may use the key again.
  clave_unica  VARBINARY(256) GENERATED ALWAYS AS (IF(error IS NULL, CAST(clave AS BINARY), NULL)) STORED,
  UNIQUE KEY notificaciones_clave (entidad_id, clave_unica),
  KEY notificaciones_por_expandir (estado, entidad_id, id),
  CONSTRAINT evento_no_es_uno_de_los_11 CHECK (evento NOT LIKE '% ' AND evento IN (
    'evaluacion.abierta', 'evaluacion.prorroga', 'evaluacion.cierre_proximo', 'evaluacion.cerrada',
    'resultados.provisionales', 'resultados.definitivos', 'alegaciones.periodo_abierto',
    'alegaciones.periodo_cierre', 'incidencia.respuesta', 'incidencia.cerrada', 'documento.disponible')),
  CONSTRAINT datos_no_es_json CHECK (JSON_VALID(datos)),
  CONSTRAINT datos_de_mas_de_64_KiB CHECK (origen = 'prueba' OR LENGTH(datos) <= 65536),
  CONSTRAINT clave_de_1_a_64_caracteres CHECK (CHAR_LENGTH(clave) BETWEEN 1 AND 64),
  -- A month or day of 0, which some modes let in, has no place in time; TO_DAYS says so.
  CONSTRAINT ocurrida_en_no_es_fecha CHECK (ocurrida_en >= '1970-01-01' AND TO_DAYS(ocurrida_en) IS NOT NULL),
  CONSTRAINT notificaciones_terminada CHECK ((estado = 'pendiente') = (terminada_en IS NULL)),
  -- A rejected row that the operator discards is cancelada and keeps its reason.
  CONSTRAINT notificaciones_motivo CHECK ((estado <> 'rechazada' OR error IS NOT NULL)
                                          AND (error IS NULL OR estado IN ('rechazada', 'cancelada')))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
