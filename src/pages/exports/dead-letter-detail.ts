// Everything about one dead letter, for its page and the JSON API: the backend's answer, and what was refused.
import { isEvent } from '../../model/event.ts'
import type { DeadLetter } from '../../store/ports/outbox.ts'
import type { PagesSources } from '../ports.ts'

export interface DeadLetterDetail {
  readonly letter: DeadLetter
  /** Of its pipeline, if that is known. */
  readonly projectId?: number | undefined
  /** The spans, or the log record of an event. Undefined: the stored data is damaged. */
  readonly contents?: readonly RefusedItem[] | undefined
}

interface RefusedItem {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
}

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
