// Writes an event, as steps of the transaction that erases its delivery from the inbox. For a known event only the arrival is written.
import { number, optional, record, text } from './columns.ts'
import { placeBetween, timeAfter, type ReportedState } from '../../model/event-order.ts'
import { shownAs } from '../../model/shown-event.ts'
import { storedJson } from './stored-json.ts'
import type { EventChunk } from '../../model/event.ts'
import type { Millis } from '../../model/instant.ts'
import type { ReceivedEvent } from '../ports/events.ts'
import { groupPathOf } from './owners.ts'
import { jobSpanOf, type WrittenEvent } from './waiting-events.ts'
import type { DamagedRows } from './stored-json.ts'
import type { StepOf, Steps } from './steps.ts'

/** `order`: by its place of arrival, or after all others. */
export function* writeEvent(
  received: ReceivedEvent,
  now: Millis,
  order: 'by arrival' | 'last',
  damaged: DamagedRows,
): Steps<readonly WrittenEvent[]> {
  const { event, chunk, to, waits } = received
  if (event.key === undefined) return yield* writeState(received, now, order, damaged)
  const known = yield ['SELECT 1 AS known FROM events WHERE key = ?1', [event.key]]
  return known.length > 0 ? [] : [yield* insert(chunk, { key: event.key }, { to, waits, damaged }, now)]
}

function* writeState(
  { event: { object, content }, chunk, arrival, to, waits }: ReceivedEvent,
  now: Millis,
  order: 'by arrival' | 'last',
  damaged: DamagedRows,
): Steps<readonly WrittenEvent[]> {
  const place = order === 'last' ? Number.MAX_SAFE_INTEGER : arrival
  const [before] = (yield [neighbour('<', 'DESC'), [object, place]]).map(state)
  const [after] = (yield [neighbour('>', 'ASC'), [object, place]]).map(state)
  const own: ReportedState = { content, receivedAt: chunk.observedAt }
  const at = order === 'last' ? (before?.arrival ?? 0) + 1 : arrival
  const is = placeBetween(before, after, own)
  const same = before?.content === content ? before : after
  if (is === 'again' && same !== undefined) {
    yield stateOf(object, at, own, same.chunkId)
    return []
  }
  const isEarlier = before !== undefined && (before.creator ?? 0) < at
  const happenedAt = timeAfter(isEarlier ? before.happenedAt : undefined, chunk.at)
  const first = yield* insert({ ...chunk, at: happenedAt }, identity(object, at, own), { to, waits, damaged }, now)
  yield stateOf(object, at, own, first.id)
  if (is !== 'between' || before === undefined || after === undefined) return [first]
  // Its neighbours counted as one event, and now are two: the second gets the same content.
  const other = isEarlier ? after : before
  if (other.creator === other.arrival) return [first]
  const [row] = yield ['SELECT content FROM chunks WHERE id = ?1', [before.chunkId]]
  const { receivedAt } = other
  const repeated = { ...storedJson<EventChunk>(row?.content), at: receivedAt, observedAt: receivedAt }
  const second = yield* insert(repeated, identity(object, other.arrival, other), { to, waits, damaged }, now)
  yield ['UPDATE event_states SET chunk_id = ?1 WHERE object = ?2 AND arrival = ?3', [second.id, object, other.arrival]]
  return [first, second]
}

interface Identity {
  readonly key: string
  readonly arrival?: number | undefined
}

interface Sending extends Pick<ReceivedEvent, 'to' | 'waits'> {
  readonly damaged: DamagedRows
}

function* insert(
  received: EventChunk,
  { key, arrival }: Identity,
  { to, waits, damaged }: Sending,
  now: Millis,
): Steps<WrittenEvent> {
  const { instance } = received.key
  const job = waits && (yield* jobSpanOf(instance, waits.jobId, damaged))
  const chunk = job === undefined ? received : { ...received, job }
  const dueAt = now + (job === undefined ? (waits?.ms ?? 0) : 0)
  const content = JSON.stringify(chunk)
  const [row] = yield [
    'INSERT INTO chunks (attempt, number, content, snapshot_at) VALUES (1, 1, ?1, ?2) RETURNING id',
    [content, now],
  ]
  const id = number('id')(row ?? {})
  const { event, project, at } = chunk
  const waitsFor = job === undefined ? (waits?.jobId ?? null) : null
  yield [
    `INSERT INTO events (chunk_id, key, kind, shown_as, instance, project_id, project, happened_at, taken_at, arrival, waits_for, group_path)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
    [
      ...[id, key, event.kind, shownAs(event) ?? null, instance, project?.id ?? null, project?.path ?? null],
      ...[Math.round(at), now, arrival ?? null, waitsFor, groupPathOf(chunk)],
    ],
  ]
  for (const { signal, destination } of to) {
    yield [
      `INSERT INTO outbox (chunk_id, signal, destination, state, pending_since, due_at)
       VALUES (?1, ?2, ?3, 'pending', ?4, ?5)`,
      [id, signal, destination, now, dueAt],
    ]
  }
  return { id, chunk, size: content.length }
}

function neighbour(side: '<' | '>', order: 'ASC' | 'DESC'): string {
  return `SELECT s.arrival, s.content, s.received_at, s.chunk_id, e.happened_at, e.arrival AS creator
          FROM event_states s LEFT JOIN events e ON e.chunk_id = s.chunk_id
          WHERE s.object = ?1 AND s.arrival ${side} ?2 ORDER BY s.arrival ${order} LIMIT 1`
}

const state = record({
  arrival: number('arrival'),
  content: text('content'),
  receivedAt: number('received_at'),
  chunkId: number('chunk_id'),
  happenedAt: optional(number, 'happened_at'),
  /** The place of arrival of the delivery that the event was made from. */
  creator: optional(number, 'creator'),
})

function stateOf(object: string, arrival: number, { content, receivedAt }: ReportedState, chunkId: number): StepOf {
  const values = [object, arrival, content, receivedAt, chunkId]
  return [
    'INSERT INTO event_states (object, arrival, content, received_at, chunk_id) VALUES (?1, ?2, ?3, ?4, ?5)',
    values,
  ]
}

function identity(object: string, arrival: number, { receivedAt }: ReportedState): Identity {
  return { key: `${object} ${arrival} ${receivedAt}`, arrival }
}
