// El sistema de evaluación, con TypeORM, avisa de que se ha abierto una evaluación, y después mira qué fue de los avisos.
// Node 18 o posterior.
//
//   npm ci
//   node evaluacion.js abrir 42 'Convocatoria 2026' 7 8 9      la evaluación 42, a las entidades 7, 8 y 9
//   node evaluacion.js ver 42
//
// Se conecta como dicen EVALUACION_SERVIDOR (o EVALUACION_SOCKET), EVALUACION_BASE, EVALUACION_USUARIO y EVALUACION_CONTRASENA
// (vacía, si el servidor reconoce al usuario por el socket).
const { DataSource, EntitySchema, Raw } = require('typeorm')

const ESTRICTO = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'"

function obligatoria(nombre) {
  if (process.env[nombre] === undefined) {
    console.error(`falta ${nombre}: póngala como dicen las primeras líneas de evaluacion.js`)
    process.exit(1)
  }
  return process.env[nombre]
}

const Resultado = new EntitySchema({
  name: 'Resultado',
  tableName: 'notificaciones_resultado', // una vista del servicio: no se escribe
  columns: {
    notificacion_id: { type: 'bigint', primary: true },
    entidad_id: { type: 'bigint' },
    evento: { type: 'varchar' },
    clave: { type: 'varchar', nullable: true },
    ocurrida_en: { type: 'datetime' },
    estado: { type: 'varchar' },
    webhooks: { type: 'int' },
    entregadas: { type: 'int' },
    ultimo_error: { type: 'varchar', nullable: true },
  },
})

const fuente = new DataSource({
  type: 'mysql',
  host: process.env.EVALUACION_SERVIDOR ?? 'localhost',
  socketPath: process.env.EVALUACION_SOCKET,
  database: process.env.EVALUACION_BASE ?? 'apientidades',
  username: process.env.EVALUACION_USUARIO ?? 'evaluacion',
  password: obligatoria('EVALUACION_CONTRASENA'),
  charset: 'utf8mb4', // con otro juego de caracteres las eñes y los emojis llegan estropeados
  timezone: 'Z', // la tabla y la vista tienen horas UTC
  entities: [Resultado],
})

// Una fila por entidad. Si la clave ya se usó, esta entidad ya está avisada: un proceso que se repite no avisa dos veces.
async function avisar(gestor, entidad, evento, datos, clave) {
  const [[fila]] = await gestor.query('CALL avisar(?, ?, ?, ?)', [entidad, evento, JSON.stringify(datos), clave])
  if (Number(fila.conocida)) console.log(`entidad ${entidad}: ya estaba avisada`)
}

// Todo en una transacción: si algo falla no se abre la evaluación, ni se avisa a nadie. Con el nivel de aislamiento de serie,
// una transacción abierta puede retrasar los avisos de todas las entidades.
async function abrir(evaluacion, titulo, entidades) {
  await fuente.transaction('READ COMMITTED', async (gestor) => {
    await gestor.query(ESTRICTO) // sin el modo estricto, un valor que no cabe se cambia por otro sin avisar
    // Aquí van los cambios de su programa: await gestor.update(MiEvaluacion, evaluacion, { estado: 'abierta' })
    for (const entidad of entidades) {
      await avisar(gestor, entidad, 'evaluacion.abierta', { evaluacionId: evaluacion, titulo }, `abierta-${evaluacion}`)
    }
  })
}

async function ver(evaluacion) {
  const filas = await fuente.getRepository(Resultado).find({
    where: {
      evento: 'evaluacion.abierta',
      ocurrida_en: Raw((columna) => `${columna} >= UTC_TIMESTAMP() - INTERVAL 30 DAY`),
      clave: `abierta-${evaluacion}`,
    },
    order: { entidad_id: 'ASC' },
  })
  for (const fila of filas) {
    const error = fila.ultimo_error === null ? '' : `; ${fila.ultimo_error}`
    console.log(`entidad ${fila.entidad_id}: ${fila.estado}, ${fila.entregadas} de ${fila.webhooks} entregadas${error}`)
  }
}

// Con un número mayor, JavaScript avisaría de otra evaluación.
function identificador(texto) {
  const numero = Number(texto)
  if (!Number.isSafeInteger(numero)) throw new Error(`la evaluación debe ser un entero de ${Number.MAX_SAFE_INTEGER} o menos, y es ${texto}`)
  return numero
}

async function principal([orden, texto, titulo, ...entidades]) {
  const evaluacion = identificador(texto)
  await fuente.initialize()
  try {
    await (orden === 'abrir' ? abrir(evaluacion, titulo, entidades) : ver(evaluacion))
  } finally {
    await fuente.destroy()
  }
}

principal(process.argv.slice(2)).catch((error) => {
  console.error(error)
  process.exit(1)
})
