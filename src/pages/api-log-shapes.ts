// The shape of the JSON API's answer about a job's log. What is unknown is left out.
import { z } from 'zod'
import { millis } from './api-units.ts'

const section = z.object({
  ordinal: z.number(),
  parent: z.number().optional().describe('Ordinal of the enclosing section.'),
  name: z.string(),
  title: z.string().optional(),
  kind: z.enum(['runner', 'script', 'custom']),
  clock: z.enum(['line', 'marker']),
  start: millis,
  end: millis,
  clockShift: z.number().optional().describe('By how much its times were moved into those of its job, ms.'),
  failed: z.literal(true).optional().describe('The job failed in it.'),
})

export const jobLog = z.discriminatedUnion('as', [
  z.strictObject({
    as: z.literal('log'),
    lines: z.array(
      z.object({
        number: z.number(),
        text: z.string().describe('Redacted, without colours.'),
        section: z.number().optional().describe('The ordinal of the innermost section.'),
      }),
    ),
    found: z.number().describe('So many lines hold what is looked for; the first 1,000 are here.'),
    sections: z.array(section),
    missing: z
      .object({ lines: z.number(), bytes: z.number(), number: z.number() })
      .optional()
      .describe('What is left out between its beginning and its end; `number`: of the first such line.'),
    isWhole: z.boolean().describe('False where there is more than is read.'),
  }),
  z.strictObject({ as: z.literal('traced') }).describe('It shows the variables of its job, so none of it is shown.'),
  z.strictObject({
    as: z.literal('refused').describe('The platform did not give it.'),
    what: z.string(),
    remedy: z.string(),
  }),
])
