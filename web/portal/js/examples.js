// For each event, an example of its data, as in web/openapi.json (a test compares them).
export const EXAMPLES = {
  "evaluacion.abierta": "{\n  \"evaluacionId\": 42,\n  \"titulo\": \"Convocatoria 2026\"\n}",
  "evaluacion.prorroga": "{\n  \"evaluacionId\": 42,\n  \"fechaInicio\": \"2026-11-20\",\n  \"fechaFin\": \"2026-12-04\"\n}",
  "evaluacion.cierre_proximo": "{\n  \"evaluacionId\": 42,\n  \"fechaCierre\": \"2026-12-04T23:59:59Z\",\n  \"diasRestantes\": 3\n}",
  "evaluacion.cerrada": "{\n  \"evaluacionId\": 42,\n  \"titulo\": \"Convocatoria 2026\"\n}",
  "resultados.provisionales": "{\n  \"evaluacionId\": 42,\n  \"declaracionId\": 7,\n  \"notaFinal\": 7.5\n}",
  "resultados.definitivos": "{\n  \"evaluacionId\": 42,\n  \"declaracionId\": 7,\n  \"notaFinal\": 8\n}",
  "alegaciones.periodo_abierto": "{\n  \"evaluacionId\": 42,\n  \"declaracionId\": 7,\n  \"fechaFin\": \"2026-12-20\"\n}",
  "alegaciones.periodo_cierre": "{\n  \"evaluacionId\": 42,\n  \"declaracionId\": 7\n}",
  "incidencia.respuesta": "{\n  \"incidenciaId\": 9,\n  \"titulo\": \"No puedo subir el anexo\"\n}",
  "incidencia.cerrada": "{\n  \"incidenciaId\": 9,\n  \"titulo\": \"No puedo subir el anexo\"\n}",
  "documento.disponible": "{\n  \"documentoId\": 3,\n  \"declaracionId\": 7,\n  \"tipo\": 1,\n  \"descripcion\": \"Informe final\"\n}",
};
