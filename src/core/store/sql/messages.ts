// Writes messages with their outbox entries, as steps of a transaction. Also deletes messages that are no longer pending for any destination.
//
// Messages are encoded here, and not earlier, because the transaction still adds data to them: deployment ids, the job of an event, and the time of
// an event.
import { each, forRows, type Steps, type StepValue, type Within } from './steps.ts'
import { groupPathOf } from './owners.ts'
import { isEvent, type AnyChunk } from '../../../model/event.ts'
import { number, record, text, oneOf, plainText } from './columns.ts'
import { signals, type ExportQueue } from '../ports/outbox.ts'
import type { Millis } from '../../../model/instant.ts'

export interface Unsent {
  readonly chunk: AnyChunk
  readonly to: readonly ExportQueue[]
  /** The key of the event, if the message is about an event. */
  readonly key?: string | undefined
  readonly dueAt: Millis
}

export function* writeMessages(unsent: readonly Unsent[], { encode, now }: Within): Steps<void> {
  const messages = unsent.flatMap(one => encode(one.chunk, one.to).map(message => ({ ...one, ...message })))
  const rows = yield each(
    insertMessages,
    messages.map(({ chunk, key, signal, body }) => messageValues(chunk, key, signal, body)),
  )
  // Message ids are in the order in which the messages are written.
  const ids = rows.map(idOf).sort((a, b) => a - b)
  yield each(
    insertEntries,
    messages.flatMap(({ signal, destinations, dueAt }, at) =>
      destinations.map(destination => [ids[at] ?? 0, signal, destination, now, dueAt]),
    ),
  )
}

function messageValues(chunk: AnyChunk, eventKey: string | undefined, signal: string, body: Uint8Array): StepValue[] {
  const { project } = chunk
  const of = isEvent(chunk)
    ? [null, 1, 1, project?.id ?? null, pathOf(project?.path), groupPathOf(chunk), eventKey ?? null, chunk.event.kind]
    : [chunk.key.pipelineId, chunk.attempt, chunk.number, chunk.project.id, pathOf(project?.path), '', null, null]
  const observedAt = chunk.observedAt === undefined ? null : Math.round(chunk.observedAt)
  return [signal, body, chunk.key.instance, ...of, observedAt]
}

function pathOf(path: string | undefined): string | null {
  return path === undefined ? null : plainText(path)
}

const insertMessages = forRows(
  ['text', 'bytea', 'text', 'bigint', 'int', 'int', 'bigint', 'text', 'text', 'text', 'text', 'bigint'],
  ({ rows }) =>
    `INSERT INTO messages (signal, body, instance, pipeline_id, attempt, number, project_id, project, group_path, event_key, kind, observed_at)
     ${rows} RETURNING id`,
)
const insertEntries = forRows(
  ['bigint', 'text', 'text', 'bigint', 'bigint'],
  ({ rows }) => `INSERT INTO outbox (message_id, signal, destination, pending_since, due_at) ${rows}`,
)
const idOf = number('id')

/**
 * Re-encodes an event that waited for the span of its job, and makes its message due. A message that was already leased or sent stays unchanged,
 * because every repetition must be identical.
 */
export function* releaseMessages(chunk: AnyChunk, key: string, { encode, now }: Within): Steps<void> {
  for (const row of yield [selectOfEvent, [key]]) {
    const [id, queue] = [idOf(row), queueOf(row)]
    const freed = yield [freeEntries, [now, id]]
    const [message] = freed.length === entriesOf(row) ? encode(chunk, [queue]) : []
    if (message !== undefined) yield ['UPDATE messages SET body = ?1 WHERE id = ?2', [message.body, id]]
  }
}

const selectOfEvent = `
  SELECT m.id, m.signal, min(o.destination) AS destination, count(*) AS entries
  FROM messages m JOIN outbox o ON o.message_id = m.id WHERE m.event_key = ?1 GROUP BY m.id, m.signal ORDER BY m.id`
const freeEntries = `
  UPDATE outbox SET due_at = CAST(?1 AS bigint)
  WHERE message_id = ?2 AND state = 'pending' AND lease IS NULL AND tries = 0 AND due_at > CAST(?1 AS bigint) RETURNING id`
const queueOf = record({ destination: text('destination'), signal: oneOf('signal', signals) })
const entriesOf = number('entries')

/**
 * Deletes messages without outbox entries. The messages are locked first: if two replicas delete the last entries at the same time, the second
 * replica then sees that no entry is left.
 */
export function* deleteUnused(messages: readonly number[], { isShared }: Pick<Within, 'isShared'>): Steps<void> {
  const rows = [...new Set(messages)].sort((a, b) => a - b).map(id => [id])
  if (rows.length === 0) return
  if (isShared) yield each(lockMessages, rows)
  yield each(deleteMessages, rows)
}

const lockMessages = forRows(
  ['bigint'],
  ({ among, forUpdate }) => `SELECT id FROM messages WHERE ${among('id')} ORDER BY id ${forUpdate}`,
)
const deleteMessages = forRows(
  ['bigint'],
  ({ among }) =>
    `DELETE FROM messages WHERE ${among('id')} AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.message_id = messages.id)`,
)
