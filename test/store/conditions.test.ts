// Conditions that people are notified about, on both databases.
import { conditionsExercise } from './conditions-exercise.ts'
import { newDatabase } from './new-database.ts'
import { postgresBenches, sqliteBench } from './benches.ts'

conditionsExercise('SQLite', sqliteBench)
conditionsExercise('PostgreSQL', postgresBenches(newDatabase))
