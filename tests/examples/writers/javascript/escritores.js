// Writes a notification for each instant with each of JavaScript's lines in docs/drivers.md: node escritores.js ENTITY INSTANT…
// A row's clave is the line's name and the instant.
const mysql = require('mysql2/promise')
const { DataSource, EntitySchema } = require('typeorm')

const [entity, ...instants] = process.argv.slice(2)
const place = {
  socketPath: process.env.EVALUACION_SOCKET,
  database: process.env.EVALUACION_BASE,
  password: process.env.EVALUACION_CONTRASENA,
}
const VARIABLES = "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"
const INSERT = `INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en, clave)
  VALUES (?, 'incidencia.cerrada', '{}', ?, ?)`

async function writeWithMysql2() {
  const pool = mysql.createPool({ ...place, user: 'evaluacion', charset: 'utf8mb4', timezone: 'Z', connectionLimit: 1 })
  pool.on('connection', (c) => c.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'))
  const [rows] = await pool.query(VARIABLES)
  console.log(`isolation mysql2 ${rows[0].Value}`)
  for (const instant of instants) {
    const fecha = new Date(instant)
    await pool.query(INSERT, [entity, fecha, `mysql2 query ${instant}`])
    await pool.execute(INSERT, [entity, fecha, `mysql2 execute ${instant}`])
    const call = "CALL avisar_con_hora(?, 'incidencia.cerrada', '{}', ?, ?)"
    await pool.query(call, [entity, `mysql2 avisar_con_hora ${instant}`, fecha.toISOString()])
  }
  await pool.end()
}

const Aviso = new EntitySchema({
  name: 'Aviso',
  tableName: 'notificaciones_pendientes',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    entidad_id: { type: 'bigint' },
    evento: { type: 'varchar' },
    datos: { type: 'longtext' },
    clave: { type: 'varchar', nullable: true },
    ocurrida_en: { type: 'datetime', precision: 3 },
  },
})

async function writeWithTypeorm() {
  const source = new DataSource({ ...place, type: 'mysql', username: 'evaluacion', timezone: 'Z', entities: [Aviso] })
  await source.initialize()
  await source.transaction('READ COMMITTED', async (manager) => {
    for (const instant of instants) {
      const fecha = new Date(instant)
      const aviso = { entidad_id: entity, evento: 'incidencia.cerrada', datos: '{}', ocurrida_en: fecha }
      await manager.getRepository(Aviso).save({ ...aviso, clave: `TypeORM ${instant}` })
    }
  })
  await source.destroy()
}

writeWithMysql2().then(writeWithTypeorm).catch((error) => {
  console.error(error)
  process.exit(1)
})
