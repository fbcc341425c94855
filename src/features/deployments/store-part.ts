// The tables of deployments, changes and incidents, and how long their rows are kept.
import { changes } from './sql/changes.ts'
import { deployments } from './sql/deployments.ts'
import { incidents } from './sql/incidents.ts'
import { ofSilent, usual } from '../../core/store/sql/too-far-ahead.ts'
import { schema } from './sql/schema.ts'
import type { Kept } from '../../core/store/maintenance/steps.ts'
import type { StorePart } from '../../core/store/ports/store-part.ts'

const minute = 60_000
const day = 24 * 60 * minute
/** The job of a deployment is not reported again, because the tombstone of its run remembers it. */
const counted = { nearlyFull: day, full: 10 * minute }

export const deploymentTables: StorePart = {
  name: 'deployments',
  schema: [schema],
  queues: ['deployments'],
  waits: [
    { table: 'deployments', max: ofSilent },
    { table: 'changes', max: usual },
    { table: 'incidents', max: usual },
  ],
  kept: (on, { keepFigures: keep }, steps): readonly Kept[] => {
    const stored = on(deployments)
    const others = { changes: on(changes), incidents: on(incidents) }
    return [
      {
        ...{ kind: 'deployments', keep, spared: counted },
        sweep: early =>
          early === undefined
            ? async (before, isEnough) => steps.repeat(async rows => stored.prune(before, rows), isEnough)
            : steps.onward<number>(async (before, rows, from) =>
                stored.pruneEarly(before, rows, from, {
                  lastSince: early - keep,
                  withoutJobSince: early - counted.nearlyFull,
                }),
              ),
      },
      ...Object.entries(others).map(([kind, one]): Kept => ({
        ...{ kind, keep },
        sweep: () => async (before, isEnough) => steps.repeat(async rows => one.prune(before, rows), isEnough),
      })),
    ]
  },
}
