// Starts the loops that look after the store.
import { createTotalsLoop, createMaintenance } from '../core/store/maintenance/maintenance.ts'
import type { Context } from './context.ts'
import type { ExportParts } from './export.ts'
import type { Loop } from '../lib/loop.ts'
import { startLoop, type Started } from './steps.ts'

/** Prunes. `queues`: the configured ones; entries for other queues are dropped in the end. */
export function startMaintenance({ config, store, clock, log }: Context, queues: ExportParts['queues']): Started<Loop> {
  const { retention, remember } = config
  const loop = createMaintenance({
    ...{ store, served: queues, retention, remember, clock, log },
    keepFigures: config.trends.keep,
  })
  return startLoop(loop, 'pruning continues after the next start')
}

export function startTotals({ store, clock, log }: Context): Started<Loop> {
  const loop = createTotalsLoop(store, clock, log)
  return startLoop(loop, 'what is not in the totals yet is stored')
}
