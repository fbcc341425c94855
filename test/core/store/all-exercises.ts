// Lists all exercises, that is, the tests that every store must pass.
import { exercise } from './exercise.ts'
import { pruningExercise } from './pruning-exercise.ts'
import { eventsExercise } from './events-exercise.ts'
import { storedRunsExercise } from './stored-runs-exercise.ts'
import { totalsExercise } from './totals-exercise.ts'
import { enrichmentQueueExercise } from './enrichment-queue-exercise.ts'
import { settlerExercise } from './settler-exercise.ts'
import { damageExercise } from './damage-exercise.ts'
import { viewsExercise } from './views-exercise.ts'
import type { BareBench } from './benches.ts'

export function allExercises(name: string, bench: () => Promise<BareBench>): void {
  exercise(name, bench)
  pruningExercise(name, bench)
  eventsExercise(name, bench)
  storedRunsExercise(name, bench)
  totalsExercise(name, bench)
  enrichmentQueueExercise(name, bench)
  settlerExercise(name, bench)
  damageExercise(name, bench)
  viewsExercise(name, bench)
}
