-- Run after every migration, as root, after triggers.sql and before evaluacion.sql. No migration makes these routines: on MySQL with
-- a binary log only an administrator may create a function (error 1419), and a routine without its definer fails (1449), so
-- the definer is the locked user of triggers.sql. A routine keeps the sql_mode and the character set with which it is made.
-- To replace one waits until no transaction has called it, and fails after lock_wait_timeout. Each is replaced alone: after a failure
-- all are there, some of them as before, so a routine whose parameters change needs another name. MariaDB's DROP would
-- take away the EXECUTE rights even where it then fails. MySQL has no CREATE OR REPLACE for routines.
SET NAMES utf8mb4;
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO', lock_wait_timeout = 5;
-- Made here, too: if it is missing, MariaDB's GRANT would make it without a lock.
CREATE USER IF NOT EXISTS 'apientidades_triggers'@'localhost' ACCOUNT LOCK;
GRANT SELECT (id, nombre, activa) ON entidades TO 'apientidades_triggers'@'localhost';
GRANT SELECT (id, entidad_id, plaza, eventos, activo) ON webhooks TO 'apientidades_triggers'@'localhost';
GRANT SELECT (webhook_id, ultima_ejecucion, fallos, fallos_desde, fallos_ultimo) ON webhook_ejecuciones TO 'apientidades_triggers'@'localhost';
GRANT SELECT (webhook_id) ON cambios_webhook TO 'apientidades_triggers'@'localhost';
GRANT INSERT (id, entidad_id, evento, datos, ocurrida_en, clave, caduca_en, no_antes_de, urgente),
  SELECT (id, entidad_id, evento, datos, ocurrida_en, clave, caduca_en, no_antes_de, urgente, clave_unica)
  ON notificaciones_pendientes TO 'apientidades_triggers'@'localhost';
DELIMITER //

-- The fields of docs/events.md, in its order, each with its type: i is int, n is number, t is string, d is date, h is date-time, f is a
-- date or date-time. NULL: not an event. CAST, because a comparison of texts ignores trailing blanks.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS campos_del_evento */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION campos_del_evento(evento VARCHAR(255) CHARACTER SET utf8mb4)
RETURNS VARCHAR(100) CHARACTER SET ascii DETERMINISTIC NO SQL
RETURN CASE CAST(evento AS BINARY)
  WHEN 'evaluacion.abierta' THEN ',evaluacionId:i,titulo:t'
  WHEN 'evaluacion.prorroga' THEN ',evaluacionId:i,fechaInicio:d,fechaFin:d'
  WHEN 'evaluacion.cierre_proximo' THEN ',evaluacionId:i,fechaCierre:h,diasRestantes:i'
  WHEN 'evaluacion.cerrada' THEN ',evaluacionId:i,titulo:t'
  WHEN 'resultados.provisionales' THEN ',evaluacionId:i,declaracionId:i,notaFinal:n'
  WHEN 'resultados.definitivos' THEN ',evaluacionId:i,declaracionId:i,notaFinal:n'
  WHEN 'alegaciones.periodo_abierto' THEN ',evaluacionId:i,declaracionId:i,fechaFin:f'
  WHEN 'alegaciones.periodo_cierre' THEN ',evaluacionId:i,declaracionId:i'
  WHEN 'incidencia.respuesta' THEN ',incidenciaId:i,titulo:t'
  WHEN 'incidencia.cerrada' THEN ',incidenciaId:i,titulo:t'
  WHEN 'documento.disponible' THEN ',documentoId:i,declaracionId:i,tipo:i,descripcion:t'
END//
GRANT EXECUTE ON FUNCTION campos_del_evento TO 'apientidades_triggers'@'localhost'//

-- platform::parse_date. The servers' own functions know no year 0, and take other spellings.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS es_fecha */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION es_fecha(texto LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
RETURNS BOOLEAN DETERMINISTIC NO SQL
BEGIN
  DECLARE ano, mes INT;
  IF texto NOT REGEXP '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])\\z' THEN RETURN FALSE; END IF;
  SET ano = LEFT(texto, 4), mes = SUBSTR(texto, 6, 2);
  RETURN RIGHT(texto, 2) <= CASE WHEN mes IN (4, 6, 9, 11) THEN 30 WHEN mes <> 2 THEN 31
    WHEN ano % 4 = 0 AND (ano % 100 <> 0 OR ano % 400 = 0) THEN 29 ELSE 28 END;
END//
GRANT EXECUTE ON FUNCTION es_fecha TO 'apientidades_triggers'@'localhost'//

/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS es_fecha_y_hora */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION es_fecha_y_hora(texto LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
RETURNS BOOLEAN DETERMINISTIC NO SQL
RETURN texto REGEXP '^.{10}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?Z\\z' AND es_fecha(LEFT(texto, 10))//
GRANT EXECUTE ON FUNCTION es_fecha_y_hora TO 'apientidades_triggers'@'localhost'//

-- Whether a number of valid JSON is beyond a double, as the parser of the programs sees it: a zero with such an exponent is, and so is
-- an integer of 310 digits, whatever its exponent. `limite` lies between the greatest double and the next power of 2: strtod rounds
-- it to infinity. (An integer of 309 digits that begins with 17976931348623157 may be within the greatest double: the parser's
-- rounding decides, and this does not repeat it.)
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS numero_demasiado_grande */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION numero_demasiado_grande(numero LONGTEXT CHARACTER SET ascii COLLATE ascii_bin)
RETURNS BOOLEAN DETERMINISTIC NO SQL
BEGIN
  DECLARE limite CHAR(255) CHARACTER SET ascii COLLATE ascii_bin DEFAULT CONCAT('17976931348623158079372897140530341507993413271003',
    '782693617377898044496829276475094664901797758720709633028641669288791094655554785194040263065748867150582068190890200070',
    '8383676273854845817711531764475730270069855571366959622842914819860834936475292719074');
  DECLARE cifras, entero, fraccion LONGTEXT CHARACTER SET ascii COLLATE ascii_bin;
  DECLARE exponente BIGINT DEFAULT 0;
  SET cifras = LOWER(TRIM(LEADING '-' FROM numero));
  IF LOCATE('e', cifras) THEN
    SET entero = TRIM(LEADING '+' FROM SUBSTRING_INDEX(cifras, 'e', -1)), cifras = SUBSTRING_INDEX(cifras, 'e', 1);
    SET fraccion = TRIM(LEADING '0' FROM TRIM(LEADING '-' FROM entero));
    SET exponente = IF(LENGTH(fraccion) > 9, 999999999, CONCAT('0', fraccion)) * IF(entero LIKE '-%', -1, 1);
  END IF;
  SET entero = SUBSTRING_INDEX(cifras, '.', 1), fraccion = IF(LOCATE('.', cifras), SUBSTRING_INDEX(cifras, '.', -1), '');
  IF LENGTH(entero) > 309 OR (LENGTH(entero) = 309 AND LEFT(entero, 17) >= '17976931348623157') THEN RETURN TRUE; END IF;
  SET cifras = TRIM(LEADING '0' FROM CONCAT(entero, fraccion));
  IF cifras = '' THEN RETURN exponente > 308 + LENGTH(fraccion); END IF;
  SET exponente = exponente + LENGTH(cifras) - LENGTH(fraccion);
  RETURN exponente > 309 OR (exponente = 309 AND RPAD(cifras, 255, '0') >= limite);
END//
GRANT EXECUTE ON FUNCTION numero_demasiado_grande TO 'apientidades_triggers'@'localhost'//

-- What is wrong between the quotes of a string: NULL, or the byte (from 0) and the reason. A lone low surrogate is found at the
-- string's end: its byte is the length and one.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS error_en_la_cadena */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION error_en_la_cadena(cadena LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
RETURNS VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE bueno, resto LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  SET bueno = COALESCE(REGEXP_SUBSTR(cadena, CONCAT('^(?:[^\\x00-\\x1f\\\\]++|\\\\["\\\\/bfnrt]|\\\\u(?![dD][89abAB])[0-9a-fA-F]{4}',
    '|\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2})*+')), '');
  SET resto = SUBSTR(cadena, CHAR_LENGTH(bueno) + 1);
  IF CHAR_LENGTH(resto) = 0 THEN
    SET resto = REPLACE(cadena, '\\\\', '');
    IF resto NOT REGEXP '\\\\u[dD][c-fC-F]' OR REGEXP_REPLACE(resto, '\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]', '') NOT REGEXP '\\\\u[dD][c-fC-F]'
    THEN RETURN NULL; END IF;
    RETURN CONCAT(LENGTH(cadena) + 1, ' un carácter \\u incompleto (sustituto suelto)');
  END IF;
  RETURN CONCAT(LENGTH(bueno), CASE
    WHEN ORD(resto) = 0 THEN ' falta la comilla de cierre de una cadena'
    WHEN resto NOT LIKE '\\\\u%' THEN ' una cadena lleva un escape no válido o un carácter de control sin escapar'
    WHEN resto NOT REGEXP '^\\\\u[0-9a-fA-F]{4}' OR (resto REGEXP '^.{6}\\\\u' AND resto NOT REGEXP '^.{8}[0-9a-fA-F]{4}')
      THEN ' un \\u necesita cuatro cifras hexadecimales'
    ELSE ' un carácter \\u incompleto (sustituto suelto)' END);
END//
GRANT EXECUTE ON FUNCTION error_en_la_cadena TO 'apientidades_triggers'@'localhost'//

-- clase: `n` is a number, `s` is what is between the quotes of a string; others have none of the types.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS tiene_tipo */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION tiene_tipo(
  tipo CHAR(1) CHARACTER SET ascii, clase CHAR(1) CHARACTER SET ascii, valor LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
RETURNS BOOLEAN DETERMINISTIC NO SQL
BEGIN
  IF tipo IN ('i', 'n') THEN
    RETURN clase = 'n' AND (tipo = 'n' OR (valor REGEXP '^-?[0-9]{1,19}\\z'
      AND CAST(valor AS DECIMAL(20)) BETWEEN -9223372036854775808 AND 9223372036854775807));
  END IF;
  IF clase <> 's' OR tipo = 't' THEN RETURN clase = 's'; END IF;
  IF LOCATE('\\', valor) THEN SET valor = JSON_UNQUOTE(CONCAT('"', valor, '"')); END IF;
  RETURN (tipo IN ('d', 'f') AND es_fecha(valor)) OR (tipo IN ('h', 'f') AND es_fecha_y_hora(valor));
END//
GRANT EXECUTE ON FUNCTION tiene_tipo TO 'apientidades_triggers'@'localhost'//

-- hallados: for each field of the event that the data have, `;name=` and class, first byte and length of its value in `datos`.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS motivo_de_los_campos */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION motivo_de_los_campos(
  campos VARCHAR(100) CHARACTER SET ascii, hallados VARCHAR(1000) CHARACTER SET ascii, datos LONGBLOB)
RETURNS VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE campo, tipo, valor VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  WHILE campos <> '' DO
    SET campo = SUBSTRING_INDEX(SUBSTR(campos, 2), ':', 1), tipo = SUBSTR(campos, LENGTH(campo) + 3, 1), campos = SUBSTR(campos, LENGTH(campo) + 4);
    IF LOCATE(CONCAT(';', campo, '='), hallados) = 0 THEN RETURN CONCAT('datos.', campo, ': falta'); END IF;
    SET valor = SUBSTRING_INDEX(SUBSTRING_INDEX(hallados, CONCAT(';', campo, '='), -1), ';', 1);
    IF NOT tiene_tipo(tipo, LEFT(valor, 1),
      CONVERT(SUBSTR(datos, SUBSTRING_INDEX(SUBSTR(valor, 2), '+', 1), SUBSTRING_INDEX(valor, '+', -1)) USING utf8mb4)) THEN
      RETURN CONCAT('datos.', campo, ': debe ser ', CASE tipo
        WHEN 'i' THEN 'un entero de 64 bits, sin fracción ni exponente'
        WHEN 'n' THEN 'un número'
        WHEN 't' THEN 'una cadena'
        WHEN 'd' THEN 'una fecha que exista, AAAA-MM-DD'
        WHEN 'h' THEN 'una fecha y hora UTC que exista, AAAA-MM-DDThh:mm:ss[.fracción]Z'
        ELSE 'una fecha que exista, AAAA-MM-DD o AAAA-MM-DDThh:mm:ss[.fracción]Z' END);
    END IF;
  END WHILE;
  RETURN NULL;
END//
GRANT EXECUTE ON FUNCTION motivo_de_los_campos TO 'apientidades_triggers'@'localhost'//

-- Parses `datos` as json::parse does (RFC 8259), because JSON_VALID of either server takes repeated names, numbers beyond a double and
-- lone surrogates. One turn of the loop reads one token. `espera` says which: v is a value, e is a value or `]`, k is a name or
-- `}`, K is a name, `:` is that, `,` is that or the end of the innermost list or object (`abierto`: `[` or `{`), `$` is the end of the
-- text. `p` is the byte to read next, from 1; `fallo` a byte from 0. `comillas` is `datos` without escaped quotes. `nombres` has the
-- names of all open objects; those of the innermost begin at `desde`, and `repite` says whether it repeats one. `pila` has these
-- two and `abierto` of each list and object around it, in 8 bytes. `clase` is that of a value that was read: s is a string, n a number,
-- o another.
-- Elements of a list that are certainly right (`elementos`: numbers, strings, and lists and objects that hold these or lists of these)
-- are skipped together, up to 4,000 bytes, because a turn of the loop costs 0.05 ms. Where there is none, the pattern is not tried for
-- 1,000 bytes (`salto`). Its objects have 400 bytes at most, because the search for a repeated name costs their square, and
-- MySQL ends a pattern that takes too many steps.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS motivo_de_los_datos */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION motivo_de_los_datos(
  campos VARBINARY(100), datos LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
RETURNS VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE texto, comillas LONGBLOB DEFAULT CAST(datos AS BINARY);
  DECLARE nombres LONGBLOB DEFAULT '\n';
  DECLARE desde INT DEFAULT 0;
  DECLARE repite BOOLEAN DEFAULT FALSE;
  DECLARE abierto VARBINARY(1) DEFAULT '';
  DECLARE pila VARBINARY(320) DEFAULT '';
  DECLARE cadena, nombre LONGBLOB DEFAULT '';
  DECLARE numero, bueno LONGTEXT CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE espera, c VARBINARY(1) DEFAULT 'v';
  DECLARE p INT DEFAULT 1;
  DECLARE fallo, fin, nivel, hondo INT DEFAULT 0;
  DECLARE clase VARBINARY(1) DEFAULT '';
  DECLARE es_objeto BOOLEAN DEFAULT FALSE;
  DECLARE escapes, controles BOOLEAN;
  DECLARE salto INT DEFAULT 1;
  DECLARE simple VARCHAR(1000) CHARACTER SET ascii DEFAULT CONCAT('(?:"(?:[^"\\\\{}\\x00-\\x1f]++|\\\\["\\\\/bfnrt])*+"',
    '|-?(?:0|[1-9][0-9]{0,17}+)(?:\\.[0-9]{1,17}+)?(?:[eE][-+]?[0-9]{1,2}+)?|true|false|null) *+');
  DECLARE valor VARCHAR(1000) CHARACTER SET ascii DEFAULT CONCAT('(?:', simple, '|\\[ *+(?:', simple, '(?:, *+', simple, ')*+)?\\] *+)');
  DECLARE miembro VARCHAR(1000) CHARACTER SET ascii DEFAULT CONCAT('"[^"\\\\{}\\x00-\\x1f]*+" *+: *+', valor);
  DECLARE elementos VARCHAR(5000) CHARACTER SET ascii DEFAULT REPLACE(CONCAT('^(?:(?:', simple,
    '|\\[ *+(?:', valor, '(?:, *+', valor, ')*+)?\\] *+',
    '|(?=\\{[^{}]{0,400}\\})(?!\\{(?:[^{}]*,)? *+"([^"]*)" *+:[^{}]*, *+"\\1" *+:)\\{ *+(?:', miembro, '(?:, *+', miembro, ')*+)?\\} *+), *+)++'),
    ' *+', '[ \\n\\r\\t]*+');
  DECLARE hallados VARCHAR(1000) CHARACTER SET ascii DEFAULT '';
  DECLARE motivo VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

  IF LEFT(texto, 3) = X'EFBBBF' THEN RETURN 'datos: JSON no válido: quite la marca de orden de bytes (BOM) del principio (byte 0)'; END IF;
  IF LOCATE(X'00', LEFT(texto, 2)) THEN RETURN 'datos: JSON no válido: el texto debe ir en UTF-8 (byte 0)'; END IF;
  SET escapes = LOCATE('\\', texto) > 0, controles = datos REGEXP '[\\x00-\\x1f]';
  IF escapes THEN SET comillas = REPLACE(REPLACE(texto, '\\\\', '  '), '\\"', '  '); END IF;

  fichas: LOOP
    SET c = SUBSTR(texto, p, 1), clase = '';
    IF c IN (' ', '\n', '\r', '\t') THEN
      SET p = p + 1;
      ITERATE fichas;
    END IF;
    IF abierto = '[' AND espera IN ('v', 'e') AND nivel < 30 AND p >= salto THEN
      SET numero = CONVERT(SUBSTR(texto, p, 4000) USING latin1), fin = LENGTH(COALESCE(REGEXP_SUBSTR(numero, elementos), ''));
      IF fin > 0 THEN
        SET p = p + fin, espera = 'v';
        ITERATE fichas;
      END IF;
      SET salto = p + 1000;
    END IF;
    SET fallo = p - 1;
    IF (c = '}' AND abierto = '{' AND espera IN ('k', ',')) OR (c = ']' AND abierto = '[' AND espera IN ('e', ',')) THEN
      IF repite THEN RETURN CONCAT('datos: JSON no válido: un objeto repite el nombre de un miembro (byte ', p, ')'); END IF;
      SET nombres = LEFT(nombres, desde), abierto = TRIM(LEFT(RIGHT(pila, 8), 1)), repite = SUBSTR(pila, -7, 1) = '1';
      SET desde = RIGHT(pila, 6), pila = LEFT(pila, LENGTH(pila) - 8), nivel = nivel - 1, espera = IF(nivel = 0, '$', ','), p = p + 1;
    ELSEIF espera = ',' THEN
      IF c <> ',' THEN
        SET motivo = IF(abierto = '{', 'falta una coma o la llave de cierre', 'falta una coma o el corchete de cierre');
        LEAVE fichas;
      END IF;
      SET espera = IF(abierto = '{', 'K', 'v'), p = p + 1;
    ELSEIF espera = ':' THEN
      IF c <> ':' THEN
        SET motivo = 'faltan los dos puntos después de un nombre';
        LEAVE fichas;
      END IF;
      SET espera = 'v', p = p + 1;
    ELSEIF espera = '$' THEN
      IF p <= LENGTH(texto) THEN RETURN CONCAT('datos: JSON no válido: sobra texto después del valor (byte ', fallo, ')'); END IF;
      LEAVE fichas;
    ELSEIF espera IN ('k', 'K') AND c <> '"' THEN
      SET motivo = 'falta el nombre de un miembro, entre comillas';
      LEAVE fichas;
    ELSEIF c = '"' THEN
      SET fin = LOCATE('"', comillas, p + 1), cadena = SUBSTR(texto, p + 1, IF(fin = 0, LENGTH(texto), fin - p - 1));
      IF controles OR fin = 0 OR (escapes AND LOCATE('\\', cadena) > 0) THEN
        SET motivo = error_en_la_cadena(CONVERT(cadena USING utf8mb4));
        SET fallo = p + COALESCE(SUBSTRING_INDEX(motivo, ' ', 1), 0), motivo = SUBSTR(motivo, LOCATE(' ', motivo) + 1);
        IF fin = 0 AND (motivo IS NULL OR fallo > LENGTH(texto)) THEN
          SET fallo = LENGTH(texto), motivo = 'falta la comilla de cierre de una cadena';
        END IF;
        IF fallo = fin THEN RETURN CONCAT('datos: JSON no válido: ', motivo, ' (byte ', fallo, ')'); END IF;
        IF motivo IS NOT NULL THEN LEAVE fichas; END IF;
      END IF;
      IF espera IN ('k', 'K') THEN
        SET nombre = cadena, espera = ':', p = fin + 1;
        IF escapes AND LOCATE('\\', nombre) > 0 THEN
          SET nombre = CAST(JSON_UNQUOTE(CONCAT('"', CONVERT(nombre USING utf8mb4), '"')) AS BINARY);
          SET nombre = REPLACE(REPLACE(nombre, '\\', '\\\\'), '\n', '\\n');
        END IF;
        SET repite = repite OR LOCATE(CONCAT('\n', nombre, '\n'), nombres, desde) > 0, nombres = CONCAT(nombres, nombre, '\n');
      ELSE
        SET clase = 's', fallo = p + 1, p = fin + 1, fin = fin - fallo;
      END IF;
    ELSEIF c IN ('{', '[') THEN
      IF nivel = 32 THEN RETURN CONCAT('datos: JSON no válido: más de 32 niveles de listas y objetos (byte ', p, ')'); END IF;
      SET es_objeto = es_objeto OR (nivel = 0 AND c = '{'), pila = CONCAT(pila, RPAD(abierto, 1, ' '), IF(repite, '1', '0'), LPAD(desde, 6, '0'));
      SET nivel = nivel + 1, hondo = GREATEST(hondo, nivel), abierto = c, repite = FALSE, desde = LENGTH(nombres);
      SET espera = IF(c = '{', 'k', 'e'), p = p + 1;
    ELSEIF c IN ('t', 'f', 'n') THEN
      SET cadena = CASE c WHEN 't' THEN 'true' WHEN 'f' THEN 'false' ELSE 'null' END, fin = 1;
      WHILE fin < LENGTH(cadena) AND SUBSTR(texto, p + fin, 1) = SUBSTR(cadena, fin + 1, 1) DO SET fin = fin + 1; END WHILE;
      SET p = p + fin, fallo = p - 1;
      IF fin < LENGTH(cadena) THEN
        SET motivo = 'se esperaba un valor';
        LEAVE fichas;
      END IF;
      SET clase = 'o', fin = 0;
    ELSE
      SET numero = CONVERT(SUBSTR(texto, p, 330) USING latin1);
      SET bueno = COALESCE(REGEXP_SUBSTR(numero, '^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?'), '');
      IF LENGTH(bueno) > 320 THEN
        SET numero = CONVERT(SUBSTR(texto, p) USING latin1);
        SET bueno = REGEXP_SUBSTR(numero, '^-?(0|[1-9][0-9]*+)(\\.[0-9]++)?([eE][-+]?[0-9]++)?');
      END IF;
      SET fin = LENGTH(bueno), c = SUBSTR(texto, p + fin, 1);
      IF bueno = '' THEN
        SET fallo = IF(c = '-', p, p - 1), motivo = IF(nivel = 0 AND c IN ('', X'00'), 'el texto está vacío', 'se esperaba un valor');
      ELSEIF (fin > 200 OR LOCATE('e', LOWER(bueno)) > 0) AND numero_demasiado_grande(bueno) THEN
        SET motivo = 'un número demasiado grande';
      ELSEIF c = '.' AND LOCATE('.', bueno) = 0 AND LOCATE('e', LOWER(bueno)) = 0 THEN
        SET fallo = p + fin, motivo = 'faltan cifras después del punto de un número';
      ELSEIF c IN ('e', 'E') AND LOCATE('e', LOWER(bueno)) = 0 THEN
        SET fallo = p + fin + (SUBSTR(texto, p + fin + 1, 1) IN ('+', '-')), motivo = 'faltan cifras en el exponente de un número';
      END IF;
      IF motivo IS NOT NULL THEN LEAVE fichas; END IF;
      SET clase = 'n', fallo = p, p = p + fin;
    END IF;
    IF clase <> '' THEN SET espera = IF(nivel = 0, '$', ','); END IF;
    IF nivel = 1 AND clase <> '' AND abierto = '{' AND NOT repite AND LOCATE(CONCAT(',', nombre, ':'), campos) > 0 THEN
      SET hallados = CONCAT(hallados, ';', nombre, '=', clase, fallo, '+', fin);
    ELSEIF nivel = 2 AND espera IN ('k', 'e') AND RIGHT(pila, 8) LIKE '{0%' AND LOCATE(CONCAT(',', nombre, ':'), campos) > 0 THEN
      SET hallados = CONCAT(hallados, ';', nombre, '=o1+0');
    END IF;
  END LOOP;
  IF motivo IS NOT NULL THEN
    IF SUBSTR(texto, fallo + 1, 1) = X'00' THEN SET motivo = 'el texto lleva un byte cero (en una cadena se escribe \\u0000)'; END IF;
    RETURN CONCAT('datos: JSON no válido: ', motivo, ' (byte ', fallo, ')');
  END IF;
  IF NOT es_objeto THEN RETURN 'datos: debe ser un objeto JSON'; END IF;
  IF hondo > 31 THEN RETURN 'datos: no puede pasar de 31 niveles de listas y objetos'; END IF;
  RETURN motivo_de_los_campos(campos, hallados, texto);
END//
GRANT EXECUTE ON FUNCTION motivo_de_los_datos TO 'apientidades_triggers'@'localhost'//

-- Whether the data are certainly right: one flat object on one line, without escapes, with short numbers, no repeated name and each
-- field of its type. Most data are, and one pattern costs a fifth of the parser. FALSE: the parser decides.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS datos_sencillos */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION datos_sencillos(
  campos VARCHAR(100) CHARACTER SET ascii, datos LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
RETURNS BOOLEAN DETERMINISTIC NO SQL
BEGIN
  DECLARE dia VARCHAR(200) CHARACTER SET ascii DEFAULT CONCAT('[0-9]{4}-',
    '(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)');
  DECLARE hora VARCHAR(100) CHARACTER SET ascii DEFAULT 'T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?Z';
  DECLARE valor VARCHAR(200) CHARACTER SET ascii DEFAULT CONCAT('(?:"[^"\\\\\\x00-\\x1f]*"',
    '|-?(?:0|[1-9][0-9]{0,17})(?:\\.[0-9]{1,17})?|true|false|null)');
  RETURN LENGTH(datos) <= 1000 AND datos REGEXP CONCAT('(?s)^(?!.*"([^"]*)" *:.*"\\1" *:)',
    REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(campos, ',', '(?=.*"'),
      ':i', '" *: *-?(?:0|[1-9][0-9]{0,17}) *[,}])'), ':n', '" *: *[-0-9])'), ':t', '" *: *")'),
      ':d', CONCAT('" *: *"', dia, '")')), ':h', CONCAT('" *: *"', dia, hora, '")')), ':f', CONCAT('" *: *"', dia, '(?:', hora, ')?")')),
    ' *\\{ *"[^"\\\\\\x00-\\x1f]*" *: *', valor, ' *(?:, *"[^"\\\\\\x00-\\x1f]*" *: *', valor, ' *)*\\} *\\z');
END//
GRANT EXECUTE ON FUNCTION datos_sencillos TO 'apientidades_triggers'@'localhost'//

-- NULL, or the sentence with which the dispatcher would reject the row, or the INSERT would fail. ocurrida_en: NULL is its default.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS motivo_de_rechazo */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION motivo_de_rechazo(
  entidad_id BIGINT, evento VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, datos LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  ocurrida_en DATETIME(3))
RETURNS VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT DETERMINISTIC READS SQL DATA
BEGIN
  DECLARE campos VARCHAR(100) CHARACTER SET ascii DEFAULT campos_del_evento(evento);
  DECLARE esta BOOLEAN DEFAULT (SELECT activa FROM entidades WHERE id = entidad_id);
  IF esta IS NULL THEN RETURN CONCAT('entidad_id: la entidad ', COALESCE(entidad_id, 'NULL'), ' no existe'); END IF;
  IF NOT esta THEN RETURN CONCAT('entidad_id: la entidad ', entidad_id, ' está desactivada'); END IF;
  IF NOT ocurrida_en + INTERVAL 0 DAY <=> ocurrida_en THEN RETURN 'ocurrida_en: no es una fecha del calendario'; END IF;
  IF ocurrida_en < '1970-01-01' THEN RETURN 'ocurrida_en: es anterior a 1970'; END IF;
  IF ocurrida_en > UTC_TIMESTAMP(3) + INTERVAL 5 MINUTE THEN RETURN 'ocurrida_en: va por delante del reloj UTC del servidor (se admiten 5 minutos)'; END IF;
  IF campos IS NULL THEN RETURN 'evento: no es uno de los 11 eventos'; END IF;
  IF datos IS NULL THEN RETURN 'datos: no puede ser NULL'; END IF;
  IF LENGTH(datos) > 65536 THEN RETURN 'datos: tiene más de 65536 bytes'; END IF;
  IF datos_sencillos(campos, datos) THEN RETURN NULL; END IF;
  RETURN motivo_de_los_datos(campos, datos);
END//
GRANT EXECUTE ON FUNCTION motivo_de_rechazo TO 'apientidades_triggers'@'localhost'//

/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS comprobar */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION comprobar(
  entidad_id BIGINT, evento VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, datos LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  ocurrida_en DATETIME(3))
RETURNS BOOLEAN NOT DETERMINISTIC READS SQL DATA
BEGIN
  DECLARE motivo VARCHAR(128) CHARACTER SET utf8mb4 DEFAULT motivo_de_rechazo(entidad_id, evento, datos, ocurrida_en);
  IF motivo IS NOT NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = motivo; END IF;
  RETURN TRUE;
END//
GRANT EXECUTE ON FUNCTION comprobar TO 'apientidades_triggers'@'localhost'//

-- Inserts a notification, unless the entity's `clave` is used: then `numero` is the id of that row. The failed INSERT has locked
-- that row's key, so the row stays, and is read although this transaction's snapshot may not have it. MariaDB 11.8 would refuse
-- to lock such a row (1020).
/*M! DO 0 */ /*!80000 DROP PROCEDURE IF EXISTS escribir_aviso */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' PROCEDURE escribir_aviso(
  entidad BIGINT, evento VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, datos LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  clave VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, ocurrida DATETIME(3), caduca DATETIME(3), no_antes DATETIME(3), urgente BOOLEAN,
  OUT numero BIGINT, OUT conocida BOOLEAN)
MODIFIES SQL DATA
BEGIN
  DECLARE EXIT HANDLER FOR 1062 BEGIN
    /*M!110602 SET STATEMENT innodb_snapshot_isolation = OFF FOR */
    SELECT n.id INTO numero FROM notificaciones_pendientes n
      WHERE n.entidad_id = entidad AND n.clave = clave AND n.clave_unica = CAST(clave AS BINARY) LOCK IN SHARE MODE;
    IF numero IS NULL THEN RESIGNAL; END IF;
    SET conocida = TRUE;
  END;
  SET numero = NULL, conocida = FALSE;
  INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave, ocurrida_en, caduca_en, no_antes_de, urgente)
    VALUES (entidad, evento, datos, clave, ocurrida, caduca, no_antes, urgente);
  SET numero = LAST_INSERT_ID();
END//
GRANT EXECUTE ON PROCEDURE escribir_aviso TO 'apientidades_triggers'@'localhost'//

/*M! DO 0 */ /*!80000 DROP PROCEDURE IF EXISTS avisar */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' PROCEDURE avisar(
  entidad BIGINT, evento VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, datos LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  clave VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
MODIFIES SQL DATA
BEGIN
  DECLARE numero BIGINT;
  DECLARE conocida BOOLEAN;
  CALL escribir_aviso(entidad, evento, datos, clave, NULL, NULL, NULL, FALSE, numero, conocida);
  SELECT numero AS id, conocida;
END//
GRANT EXECUTE ON PROCEDURE avisar TO 'apientidades_triggers'@'localhost'//

-- A time of ISO 8601, in UTC: `YYYY-MM-DDThh:mm[:ss[.fraction]]`, with a blank or T, then Z or an offset (+02:00, -0300). Java leaves
-- out seconds of 0. NULL: it is no time, has no zone, or is before 1970. The year 9999, which is refused as ahead of the clock, is not
-- shifted: that might overflow.
/*M! DO 0 */ /*!80000 DROP FUNCTION IF EXISTS hora_del_aviso */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' FUNCTION hora_del_aviso(texto VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
RETURNS DATETIME(3) DETERMINISTIC NO SQL
BEGIN
  DECLARE zona VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE minutos INT;
  SET texto = REPLACE(texto, ' ', 'T'), zona = COALESCE(REGEXP_SUBSTR(texto, '(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])\\z'), '');
  SET texto = LEFT(texto, CHAR_LENGTH(texto) - CHAR_LENGTH(zona));
  IF texto REGEXP 'T[0-9]{2}:[0-9]{2}\\z' THEN SET texto = CONCAT(texto, ':00'); END IF;
  IF zona = '' OR LEFT(texto, 4) < '1970' OR NOT es_fecha_y_hora(CONCAT(texto, 'Z')) THEN RETURN NULL; END IF;
  IF zona = 'Z' OR texto >= '9999' THEN RETURN CAST(LEFT(texto, 23) AS DATETIME(3)); END IF;
  SET minutos = 60 * SUBSTR(zona, 2, 2) + RIGHT(zona, 2);
  RETURN CAST(LEFT(texto, 23) AS DATETIME(3)) - INTERVAL IF(LEFT(zona, 1) = '+', minutos, -minutos) MINUTE;
END//
GRANT EXECUTE ON FUNCTION hora_del_aviso TO 'apientidades_triggers'@'localhost'//

-- avisar with a time that names its zone, so that no driver and no session can shift it.
/*M! DO 0 */ /*!80000 DROP PROCEDURE IF EXISTS avisar_con_hora */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' PROCEDURE avisar_con_hora(
  entidad BIGINT, evento VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, datos LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  clave VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, hora VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
MODIFIES SQL DATA
BEGIN
  DECLARE numero BIGINT;
  DECLARE conocida BOOLEAN;
  DECLARE ocurrida DATETIME(3) DEFAULT hora_del_aviso(hora);
  IF hora IS NOT NULL AND ocurrida IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'ocurrida_en: debe ser una fecha y hora con su zona desde 1970, AAAA-MM-DDThh:mm:ss[.fracción] y Z o ±hh:mm';
  END IF;
  CALL escribir_aviso(entidad, evento, datos, clave, ocurrida, NULL, NULL, FALSE, numero, conocida);
  SELECT numero AS id, conocida;
END//
GRANT EXECUTE ON PROCEDURE avisar_con_hora TO 'apientidades_triggers'@'localhost'//

-- avisos: a JSON array of objects with entidad_id, evento, datos (a string, because MySQL rewrites objects), clave, ocurrida_en,
-- caduca_en, no_antes_de and urgente. The last five may be absent or null. The result is a JSON array of as many objects: id, id and conocida, or motivo. It grows by
-- parts, because appending to a long text copies it. Data like those of the row before are not judged again: most batches tell
-- many entities the same.
/*M! DO 0 */ /*!80000 DROP PROCEDURE IF EXISTS avisar_lote */ //
CREATE /*M! OR REPLACE */ DEFINER = 'apientidades_triggers'@'localhost' PROCEDURE avisar_lote(avisos LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
MODIFIES SQL DATA
BEGIN
  DECLARE entidad, hora, plazo, espera, urgencia VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE evento, evento_visto VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE clave VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE fila, datos, datos_vistos, parte, resultado LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
  DECLARE motivo VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE ocurrida, caduca, no_antes DATETIME(3);
  DECLARE numero BIGINT;
  DECLARE conocida, terminado BOOLEAN DEFAULT FALSE;
  DECLARE activa BOOLEAN;
  DECLARE filas CURSOR FOR SELECT t.fila, t.entidad, t.evento, t.datos, t.clave, t.hora, t.plazo, t.espera, t.urgencia, e.activa FROM JSON_TABLE(avisos, '$[*]' COLUMNS (
    fila JSON PATH '$', entidad VARCHAR(100) CHARACTER SET utf8mb4 PATH '$.entidad_id', evento VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.evento',
    datos LONGTEXT CHARACTER SET utf8mb4 PATH '$.datos', clave VARCHAR(200) CHARACTER SET utf8mb4 PATH '$.clave',
    hora VARCHAR(100) CHARACTER SET utf8mb4 PATH '$.ocurrida_en', plazo VARCHAR(100) CHARACTER SET utf8mb4 PATH '$.caduca_en',
    espera VARCHAR(100) CHARACTER SET utf8mb4 PATH '$.no_antes_de', urgencia VARCHAR(100) CHARACTER SET utf8mb4 PATH '$.urgente')) t
    LEFT JOIN entidades e ON e.id = CAST(t.entidad AS SIGNED);
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET terminado = TRUE;
  IF NOT COALESCE(JSON_VALID(avisos), 0) OR JSON_TYPE(avisos) <> 'ARRAY' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'avisar_lote: debe recibir una lista JSON de avisos';
  END IF;
  OPEN filas;
  avisos: LOOP
    FETCH filas INTO fila, entidad, evento, datos, clave, hora, plazo, espera, urgencia, activa;
    IF terminado THEN LEAVE avisos; END IF;
    SET ocurrida = IF(hora IS NULL, NULL, hora_del_aviso(hora)), caduca = IF(plazo IS NULL, NULL, hora_del_aviso(plazo)),
      no_antes = IF(espera IS NULL, NULL, hora_del_aviso(espera)), motivo = CASE
      WHEN JSON_TYPE(fila) <> 'OBJECT' THEN 'fila: debe ser un objeto JSON'
      WHEN JSON_LENGTH(JSON_REMOVE(fila, '$.entidad_id', '$.evento', '$.datos', '$.clave', '$.ocurrida_en', '$.caduca_en',
        '$.no_antes_de', '$.urgente')) > 0
        THEN 'fila: solo puede tener entidad_id, evento, datos, clave, ocurrida_en, caduca_en, no_antes_de y urgente'
      WHEN entidad IS NULL OR entidad NOT REGEXP '^-?[0-9]{1,18}\\z' THEN 'entidad_id: debe ser un entero de 18 cifras o menos'
      WHEN datos IS NULL THEN 'datos: debe ser una cadena con el texto del objeto JSON'
      WHEN CHAR_LENGTH(clave) NOT BETWEEN 1 AND 64 OR (clave IS NULL AND JSON_TYPE(JSON_EXTRACT(fila, '$.clave')) <> 'NULL')
        THEN 'clave: debe tener de 1 a 64 caracteres'
      WHEN ocurrida IS NULL AND JSON_TYPE(JSON_EXTRACT(fila, '$.ocurrida_en')) <> 'NULL'
        THEN 'ocurrida_en: debe ser una fecha y hora con su zona desde 1970, AAAA-MM-DDThh:mm:ss[.fracción] y Z o ±hh:mm'
      WHEN caduca IS NULL AND JSON_TYPE(JSON_EXTRACT(fila, '$.caduca_en')) <> 'NULL'
        THEN 'caduca_en: debe ser una fecha y hora con su zona desde 1970, AAAA-MM-DDThh:mm:ss[.fracción] y Z o ±hh:mm'
      WHEN no_antes IS NULL AND JSON_TYPE(JSON_EXTRACT(fila, '$.no_antes_de')) <> 'NULL'
        THEN 'no_antes_de: debe ser una fecha y hora con su zona desde 1970, AAAA-MM-DDThh:mm:ss[.fracción] y Z o ±hh:mm'
      WHEN COALESCE(urgencia, '') NOT IN ('0', '1', 'false', 'true') AND JSON_TYPE(JSON_EXTRACT(fila, '$.urgente')) <> 'NULL'
        THEN 'urgente: debe ser 0 o 1'
      WHEN caduca <= no_antes THEN 'no_antes_de: debe ser anterior a caduca_en'
      WHEN no_antes > UTC_TIMESTAMP(3) + INTERVAL 1 YEAR THEN 'no_antes_de: no puede pasar de un año'
      WHEN activa AND hora IS NULL AND CAST(evento AS BINARY) = CAST(evento_visto AS BINARY) AND CAST(datos AS BINARY) = CAST(datos_vistos AS BINARY)
        THEN NULL
      ELSE motivo_de_rechazo(entidad, evento, datos, ocurrida) END;
    IF motivo IS NULL THEN
      CALL escribir_aviso(entidad, evento, datos, clave, ocurrida, caduca, no_antes, COALESCE(urgencia IN ('1', 'true'), FALSE), numero, conocida);
      SET evento_visto = evento, datos_vistos = datos;
    END IF;
    SET parte = CONCAT(parte, ',', CASE WHEN motivo IS NOT NULL THEN CONCAT('{"motivo": ', JSON_QUOTE(motivo), '}')
      WHEN conocida THEN CONCAT('{"id": ', numero, ', "conocida": true}') ELSE CONCAT('{"id": ', numero, '}') END);
    IF LENGTH(parte) > 8000 THEN SET resultado = CONCAT(resultado, parte), parte = ''; END IF;
  END LOOP;
  CLOSE filas;
  SELECT CONCAT('[', SUBSTR(CONCAT(resultado, parte), 2), ']') AS resultado;
END//
GRANT EXECUTE ON PROCEDURE avisar_lote TO 'apientidades_triggers'@'localhost'//
DELIMITER ;
-- An INSERT into this view fails with 1644 and the sentence where the dispatcher would reject the row. A trigger that calls a function
-- would cost each INSERT into the table half as much again, whether it checks or not: the server opens what a trigger may use. A row
-- that is being inserted has no id yet, so reading costs no check.
CREATE OR REPLACE ALGORITHM = MERGE DEFINER = 'apientidades_triggers'@'localhost' VIEW notificaciones_comprobadas AS
  SELECT id, entidad_id, evento, datos, ocurrida_en, clave, caduca_en, no_antes_de, urgente FROM notificaciones_pendientes
  WHERE id <> 0 OR comprobar(entidad_id, evento, datos, ocurrida_en) WITH CHECK OPTION;
-- To whom a notification would go now. A row is a seek, and all rows are one pass over the webhooks; with subqueries for each entity
-- they would be several. A webhook works unless a failure streak goes on (lib/store/webhooks/failing.cpp). `eventos + 0` is the SET as bits, and MAKE_SET
-- names them in the order of the SET's definition.
CREATE OR REPLACE DEFINER = 'apientidades_triggers'@'localhost' VIEW destinatarios AS
  SELECT t.id AS entidad_id, MAX(t.nombre) AS nombre, MAX(t.activa) AS activa,
    MAKE_SET(BIT_OR(IF(x.webhook_id IS NULL, w.eventos + 0, 0)),
      'evaluacion.abierta', 'evaluacion.prorroga', 'evaluacion.cierre_proximo', 'evaluacion.cerrada',
      'resultados.provisionales', 'resultados.definitivos', 'alegaciones.periodo_abierto', 'alegaciones.periodo_cierre',
      'incidencia.respuesta', 'incidencia.cerrada', 'documento.disponible') AS eventos,
    MAKE_SET(BIT_OR(w.eventos + 0) & ~BIT_OR(IF(x.webhook_id IS NULL, w.eventos + 0, 0)),
      'evaluacion.abierta', 'evaluacion.prorroga', 'evaluacion.cierre_proximo', 'evaluacion.cerrada',
      'resultados.provisionales', 'resultados.definitivos', 'alegaciones.periodo_abierto', 'alegaciones.periodo_cierre',
      'incidencia.respuesta', 'incidencia.cerrada', 'documento.disponible') AS eventos_que_fallan,
    MIN(x.fallos_desde) AS falla_desde
  FROM entidades t
  LEFT JOIN webhooks w ON w.entidad_id = t.id AND w.plaza IS NOT NULL AND w.activo
  LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id AND x.fallos > 0
    AND COALESCE(x.fallos_ultimo, x.ultima_ejecucion) > UTC_TIMESTAMP(3) - INTERVAL 48 HOUR
    AND (SELECT c.webhook_id FROM cambios_webhook c WHERE c.webhook_id = w.id) IS NULL
  GROUP BY t.id;
