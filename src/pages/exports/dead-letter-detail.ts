// Everything about one dead letter, for its page and the JSON API: the backend's answer, and what was refused.
import { z } from 'zod'
import { millis, type Shaped } from '../layout/shape.ts'
import { isEvent } from '../../model/event.ts'
import type { DeadLetter } from '../../store/ports/outbox.ts'
import type { Signal } from '../../store/ports/runs.ts'
import type { PagesSources } from '../ports.ts'

export const deadLetterShape = z.object({
  id: z.number(),
  destination: z.string(),
  signal: z.string<Signal>(),
  instance: z.string(),
  pipelineId: z.number().optional(),
  event: z.string().optional(),
  attempt: z.number(),
  chunk: z.number(),
  status: z.number(),
  error: z.string(),
  tries: z.number(),
  pendingSince: millis,
  settledAt: millis,
}) satisfies z.ZodType<DeadLetter>

export const deadLetterDetailShape = z.object({
  letter: deadLetterShape,
  projectId: z.number().optional(),
  contents: z
    .array(z.object({ name: z.string(), attributes: z.record(z.string(), z.unknown()) }))
    .optional()
    .describe('The spans, or the log record of an event. Absent: the stored data is damaged.'),
})
/** The project is that of its pipeline, if that is known. */
type DeadLetterDetail = Shaped<typeof deadLetterDetailShape>

/** Undefined if there is no such dead letter. */
export async function deadLetterDetail(
  { outbox, exported }: Pick<PagesSources, 'outbox' | 'exported'>,
  id: number,
): Promise<DeadLetterDetail | undefined> {
  const found = await outbox.deadLetter(id)
  if (found === undefined) return undefined
  const { letter, chunk } = found
  if (chunk === undefined) return { letter }
  if (isEvent(chunk)) return { letter, contents: [{ name: chunk.event.body, attributes: chunk.event.attributes }] }
  const contents = exported([chunk]).map(({ name, attributes }) => ({ name, attributes }))
  return { letter, projectId: chunk.project.id, contents }
}
