// Deployments on both databases.
import { deploymentsExercise } from './deployments-exercise.ts'
import { newDatabase } from './new-database.ts'
import { postgresBenches, sqliteBench } from './benches.ts'

deploymentsExercise('SQLite', sqliteBench)
deploymentsExercise('PostgreSQL', postgresBenches(newDatabase))
