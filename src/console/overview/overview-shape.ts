// The shape of the overview: what its page shows, the JSON API answers, and `pipespan top` reads.
import { z } from 'zod'
import { fixFirstShape } from './fix-first-shape.ts'
import { flowShape } from './flow.ts'
import { lastHourShape } from './last-hour.ts'
import { runList } from '../pipelines/run-card.ts'
import type { Shaped } from '../layout/shape.ts'
import { noticeShape, type Health } from './notices.ts'
import { queueList } from '../exports/columns.ts'
import { regressionShape } from '../trends/regression-figures.ts'
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
  regressions: z.array(regressionShape).describe('Unresolved ones, newest first.'),
  regressionCount: z.number(),
  fixFirst: fixFirstShape,
  lastHour: lastHourShape,
  finished: z.array(runList.shape),
  finishedCount: z.number().describe('How many pipelines finished in the last hour.'),
})

export interface Overview extends Health, Shown {}
type Shown = Omit<Shaped<typeof overviewShape>, keyof Health>
