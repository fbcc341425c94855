// The shape of the JSON API's answer about a job's log. What is unknown is left out.
import { z } from 'zod'
import { millis, ms } from './api-units.ts'

/** A section of a log, as the page of a pipeline has it, too. */
export const section = z.object({
  ordinal: z.number(),
  parent: z.number().optional().describe('Ordinal of the enclosing section.'),
  name: z.string(),
  title: z.string().optional(),
  kind: z.enum(['runner', 'script', 'custom']),
  clock: z.enum(['line', 'marker']),
  start: millis,
  end: millis,
  clockShift: ms.optional().describe("How far its times were shifted into its job's, in ms."),
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
    found: z.number().describe('Number of matching lines; the first 1,000 are returned.'),
    sections: z.array(section),
    missing: z
      .object({ lines: z.number(), bytes: z.number(), number: z.number() })
      .optional()
      .describe('What is left out in the middle; `number`: the first line that is left out.'),
    isWhole: z.boolean().describe('False if the log is longer than what is read.'),
  }),
  z.strictObject({ as: z.literal('traced') }).describe('The log has the variables of its job, so none of it is shown.'),
  z.strictObject({
    as: z.literal('refused').describe('The platform did not return it.'),
    what: z.string(),
    remedy: z.string(),
  }),
])
