// The shape of what to fix first.
import { z } from 'zod'
import { millis, ms, type Shaped } from '../../../console/layout/shape.ts'

const fixShape = z.object({
  kind: z
    .string()
    .describe(
      '`failing`: a job that always fails. `wait`: jobs that wait for a runner with these tags. `flaky_test`, `superseded`, and what features add.',
    ),
  subject: z.string(),
  project: z.string().optional().describe('Full path; absent for waits, which several projects share.'),
  weekMs: ms.describe('What it costs per week, in ms.'),
  cost: z.number().optional().describe('In the currency unit; absent without a price table, and for waits.'),
  why: z.string(),
  path: z.string().describe('The page with more.'),
})
export type Fix = Shaped<typeof fixShape>

export const fixFirstShape = z.object({
  since: millis,
  unit: z.string().optional().describe('Currency unit; absent without a price table.'),
  fixes: z.array(fixShape).describe('The most expensive first.'),
})
export type FixFirst = Shaped<typeof fixFirstShape>
