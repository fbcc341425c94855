// What snapshots add to the figures over time, until it is added to them (`fold.ts`): the transaction that takes them appends a row for each project, and
// reads and locks nothing.
import { countedOf, failuresIn, type CountedChunk, type Failures } from './counted-chunk.ts'
import { each, forRows } from '../../../core/store/sql/steps.ts'
import { writtenJson } from './stored-counted.ts'
import { reportsBy, type LineStep } from '../../../core/store/ports/reporter.ts'
import type { Reporter, Reports } from '../../../core/store/ports/runs.ts'
import type { Run } from '../../../model/run.ts'

export function countingStep(): LineStep {
  let last: { readonly run: Run; readonly failures: Failures } | undefined
  return {
    // What is not exported is not counted either.
    onSnapshot: (chunk, { run, isSent }) => {
      if (!isSent) return []
      // The chunks of a large pipeline come one after the other.
      if (last?.run !== run) last = { run, failures: failuresIn(run) }
      return reported(countedOf(chunk, last.failures))
    },
    onInside: (chunk, { isSent }) => (isSent ? reported(countedOf(chunk, new Map())) : []),
  }
}

function reported(counted: CountedChunk | undefined): Reports[] {
  return reportsBy(countedReporter, counted === undefined ? [] : [counted])
}

const countedReporter: Reporter<CountedChunk> = {
  order: 90,
  *write(reports) {
    const byProject = Map.groupBy(reports, ({ projectId }) => projectId)
    yield each(
      insertAdded,
      [...byProject].map(([projectId, some]) => [projectId, writtenJson(some)]),
    )
  },
}

const insertAdded = forRows(['bigint', 'json'], ({ rows }) => `INSERT INTO figures_added (project_id, content) ${rows}`)
