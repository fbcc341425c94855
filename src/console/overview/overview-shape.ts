// The shape of the overview: what its page shows, the JSON API answers, and `pipespan top` reads.
import { z } from 'zod'
import { flowShape } from './flow.ts'
import { lastHourShape } from './last-hour.ts'
import { runList } from '../pipelines/run-card.ts'
import { overviewParts } from './overview-part.ts'
import type { PagesParts } from '../ports.ts'
import type { Shaped } from '../layout/shape.ts'
import { noticeShape, type Health } from './notices.ts'
import { queueList } from '../exports/columns.ts'
import { configStatusShape, setupShape } from '../sources/setup-shape.ts'

export const overviewShape = z.object({
  config: configStatusShape.optional(),
  notices: z.array(noticeShape),
  flow: flowShape,
  quarantined: z.number().describe('Deliveries that could not be decoded.'),
  queues: z.array(queueList.shape),
  setup: setupShape,
  hasRuns: z.boolean(),
  hooksOff: z.array(z.string()),
  running: z.array(runList.shape),
  active: z.number(),
  silent: z.array(runList.shape).describe('Running, but without an event for an hour.'),
  silentCount: z.number(),
  lastHour: lastHourShape,
  finished: z.array(runList.shape),
  finishedCount: z.number().describe('How many pipelines finished in the last hour.'),
})

/** With the fields of features. */
export function overviewShapeOf(parts: Pick<PagesParts, 'fillings'>) {
  return overviewShape.extend(
    Object.assign({}, ...overviewParts.of(parts).map(({ fields }) => fields)) as z.ZodRawShape,
  )
}

export interface Overview extends Health, Shown {}
type Shown = Omit<Shaped<typeof overviewShape>, keyof Health>
