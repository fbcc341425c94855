// Counts chunks for the figures over time: those in memory once they were gathered for a while, and those whose runs are read.
import {
  giveUpGathered,
  NotGathered,
  pruneFigures,
  selectSomeUncounted,
  storeGathered,
  takeUncounted,
} from './trend-steps.ts'
import { PipelineNames } from './trend-sums.ts'
import type { Gathered } from './gathered-figures.ts'
import type { Statements } from '../sql/statements.ts'
import type { TrendViews } from '../ports/trends.ts'

/** Where several processes write, nothing is kept in memory: no row has this mark. */
const noMemory = -1
/** Rows of one transaction, which takes some milliseconds; those of one project are written together. */
const rowsAtOnce = 300

export function takingIn(sql: Statements): Pick<TrendViews, 'takeIn' | 'prune'> {
  const { gathered } = sql
  const mark = gathered?.mark ?? noMemory
  const names = new PipelineNames()
  /** When all runs that had to be read were read, ms of `performance.now()`. */
  let readAt = -Infinity

  async function read(limit: number): Promise<number> {
    // Checked first, so that an idle daemon begins no transactions, which would be synced.
    const [some] = await sql.all(selectSomeUncounted, [mark])
    const count = some === undefined ? 0 : await sql.transaction(within => takeUncounted(limit, mark, names, within))
    if (count < limit) readAt = performance.now()
    return count
  }

  async function store(projects: readonly Gathered[]): Promise<void> {
    const forget = (): void => gathered?.forget(projects)
    try {
      await sql.transaction(function* (within) {
        yield* storeGathered(projects, mark, within)
        sql.afterCommit?.(forget)
      })
    } catch (error) {
      if (!(error instanceof NotGathered)) throw error
      await sql.transaction(function* () {
        yield* giveUpGathered(projects, mark)
        sql.afterCommit?.(forget)
      })
    }
  }

  return {
    takeIn: async (limit, age = 0) => {
      gathered?.start()
      const projects = gathered?.due(age, rowsAtOnce) ?? []
      if (projects.length > 0) {
        await store(projects)
        return projects.reduce((sum, { chunks }) => sum + chunks, 0)
      }
      return performance.now() - readAt < age ? 0 : read(limit)
    },
    prune: async keep => sql.transaction(within => pruneFigures(keep, within)),
  }
}
