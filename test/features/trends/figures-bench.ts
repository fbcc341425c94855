// Sets up a store for tests of trends and costs: it observes pipelines, takes their snapshots, and reads the figures.
import { at, event, rules } from '../../flow/world.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { costsOn } from '../../../src/features/trends/cost/sql.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { pruneFigures } from '../../support/counted-figures.ts'
import { snapshotWork } from '../../core/store/exported-run.ts'
import { trendsOn } from '../../../src/features/trends/reading/sql.ts'
import { unbounded } from '../../../src/core/store/sql/reading.ts'
import type { BareBench } from '../../core/store/benches.ts'
import type { CostReads } from '../../../src/features/trends/cost/rows.ts'
import type { ObservedJob, PipelineFacts } from '../../../src/model/observation.ts'
import type { RateOf } from '../../../src/model/runner-time.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'
import type { TrendViews } from '../../../src/features/trends/counting/figures.ts'

export interface FiguresBench {
  readonly here: BareBench
  readonly store: Store
  readonly trends: TrendViews
  readonly costs: CostReads
  /** Stores an observation of a pipeline. Its times are in seconds after the time at which the bench starts. */
  readonly observe: (
    id: number,
    status: string,
    seconds: { readonly created: number; readonly finished?: number },
    facts?: Partial<PipelineFacts>,
    jobs?: ObservedJob[],
  ) => Promise<void>
  readonly takeSnapshot: (pipelineId: number, rateOf?: RateOf) => Promise<void>
  /** Deletes hourly figures after some days, and daily figures older than `keep` (ms). Returns the number of deleted rows. */
  readonly prune: (keep: number) => Promise<number>
}

export async function openFigures(bench: () => BareBench | Promise<BareBench>): Promise<FiguresBench> {
  const here = closeAfterTest(await bench())
  const store = await here.open()
  return {
    ...{ here, store },
    trends: store.on(sql => trendsOn(unbounded(sql))),
    costs: store.on(sql => costsOn(unbounded(sql))),
    observe: async (id, status, { created, finished }, facts = {}, jobs = []) => {
      const finishedAt = finished === undefined ? {} : { finishedAt: at(finished) }
      const observed = event(status, { createdAt: at(created), ...finishedAt }, jobs, facts, id)
      await store.runs.transact(mergeObservations([observed], 'webhook', rules))
    },
    takeSnapshot: async (pipelineId, rateOf) => {
      await store.runs.transact([snapshotWork(pipelineId, undefined, rateOf)])
    },
    prune: async keep => pruneFigures(store, keep, here.now()),
  }
}
