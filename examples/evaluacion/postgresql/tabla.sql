-- La bandeja de salida, en la base de datos de su programa. Cada fila es un aviso que relevo.py aún no ha llevado.

CREATE TABLE avisos_salida (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  entidad_id  bigint NOT NULL,
  evento      text NOT NULL,
  datos       json NOT NULL CHECK (octet_length(datos::text) <= 65536),  -- json, y no jsonb: el texto no cambia
  clave       text NOT NULL DEFAULT gen_random_uuid() CHECK (length(clave) BETWEEN 1 AND 64),
  ocurrida_en timestamptz NOT NULL DEFAULT now() CHECK (isfinite(ocurrida_en)),
  caduca_en   timestamptz CHECK (isfinite(caduca_en)),  -- pasada esta hora no se envía; NULL: siempre
  rechazo     text  -- por qué no se puede avisar; con NULL otra vez, se vuelve a intentar
);

CREATE INDEX avisos_por_llevar ON avisos_salida (id) WHERE rechazo IS NULL;
