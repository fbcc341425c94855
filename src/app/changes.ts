// Starts what counts changes.
import { createChangeCounter, type ChangeCounter } from '../enrichment/change-counter.ts'
import type { Context } from './context.ts'
import type { ExportParts } from './export.ts'
import type { Started } from './steps.ts'

export function startChangeCounter(
  { config, store, events, clock, log }: Context,
  { queues, measure }: Pick<ExportParts, 'queues' | 'measure'>,
): Started<ChangeCounter> {
  const counter = createChangeCounter({
    ...{ changes: store.changes, measure, clock, log },
    to: queues.flatMap(({ destination, signal }) => (signal === 'metrics' ? [{ destination, signal }] : [])),
    profile: config.platform.profile,
    onCounted: () => events.pending.emit(),
  })
  counter.start()
  return {
    part: counter,
    why: 'changes that were not counted yet are counted after the next start',
    stop: async () => counter.stop(),
  }
}
