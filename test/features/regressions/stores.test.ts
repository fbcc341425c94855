// What every store promises of regressions.
import { afterAll, beforeAll } from 'vitest'
import { postgresBenches, sqliteBench } from '../../store/benches.ts'
import { regressionExercise } from './regression-exercise.ts'
import { sectionExercise } from './section-exercise.ts'
import { startPostgres, type PostgresServer } from '../../store/postgres-server.ts'

// A server of its own: what is taken into figures over time waits for every transaction on the server that is still open.
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

regressionExercise('SQLite', sqliteBench)
sectionExercise('SQLite', sqliteBench)
const bench = postgresBenches(async () => server.newDatabase())
regressionExercise('PostgreSQL', bench)
sectionExercise('PostgreSQL', bench)
