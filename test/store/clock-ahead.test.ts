import { clockAheadExercise } from './clock-ahead-exercise.ts'
import { newDatabase } from './new-database.ts'
import { postgresBenches, sqliteBench } from './benches.ts'

clockAheadExercise('SQLite', sqliteBench)
clockAheadExercise('PostgreSQL', postgresBenches(newDatabase))
