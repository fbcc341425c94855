// Writes a received event, as steps of the transaction that takes it in. If the event is already stored, nothing is written.
import { number, record, text } from './columns.ts'
import { shownAs, type EventChunk } from '../../../model/event.ts'
import { storedJson } from './stored-json.ts'
import type { ReceivedEvent } from '../ports/runs.ts'
import { groupPathOf } from './owners.ts'
import { writeMessages, releaseMessages } from './messages.ts'
import type { Steps, Within } from './steps.ts'
import type { Millis } from '../../../model/instant.ts'
import type { JobSpan } from '../../../model/trace-context.ts'

// Completes events that wait for the span of their job, as steps of a transaction.

/** The lock name that serialises all writers of a job's deployment and of the events that wait for that job. */
export function nameOfJob(instance: string, jobId: number): string {
  return `deployment of job ${jobId} ${instance}`
}

/** Adds the job's span to the events that wait for it, and makes those events due. */
export function* joinWaiting(instance: string, job: JobSpan, within: Within): Steps<void> {
  for (const row of yield [selectWaiting, [instance, job.jobId]]) {
    const id = number('chunk_id')(row)
    yield ['UPDATE events SET waits_for = NULL WHERE chunk_id = ?1', [id]]
    const known = within.damaged.row('events', row, one => storedJson<EventChunk>(one.content))
    if (known === undefined) continue
    const chunk = { ...known, job }
    yield ['UPDATE chunks SET content = ?1 WHERE id = ?2', [JSON.stringify(chunk), id]]
    yield* releaseMessages(chunk, keyOf(row), within)
  }
}

const selectWaiting = `SELECT e.chunk_id, e.key, c.content FROM events e JOIN chunks c ON c.id = e.chunk_id
  WHERE e.instance = ?1 AND e.waits_for = ?2 ORDER BY e.chunk_id`
const keyOf = text('key')

// Some events have neither a time nor an id, for example feature flag events. The order of arrival then decides whether two deliveries report the
// same event: they do if the second reports the same state within ten minutes, because a project's hook and a group's hook may both send it. A flag
// that is switched on, off and on again yields three events. Pure.

/** The state of an object as a delivery reports it. */
export interface ReportedState {
  readonly content: string
  readonly receivedAt: Millis
}

/** The time in ms after which an identical delivery counts as a new event. */
export const sameWithin = 600_000

/** Whether a delivery repeats the state that was reported before it. */
export function isAgain(before: ReportedState | undefined, own: ReportedState): boolean {
  return before?.content === own.content && Math.abs(own.receivedAt - before.receivedAt) <= sameWithin
}

/**
 * Returns the time of an event that has none: the time at which it was received, but always later than the previous event, even if the clock was set
 * back.
 */
export function timeAfter(before: Millis | undefined, receivedAt: Millis): Millis {
  const isSetBack = before !== undefined && before >= receivedAt && before - receivedAt <= sameWithin
  return isSetBack ? before + 1 : receivedAt
}

/** Writes an event, unless it is already stored. An event without a key is compared with the last reported state of its object. */
export function* writeEvent(received: ReceivedEvent, within: Within): Steps<void> {
  const { event, chunk } = received
  if (event.key === undefined) {
    yield* writeState(received, within)
    return
  }
  const known = yield ['SELECT 1 AS known FROM events WHERE key = ?1', [event.key]]
  if (known.length === 0) yield* insert(chunk, event.key, received, within)
}

/** Writes an event that reports the state of an object. Each object has one row, with its last reported state and the event that reported it. */
function* writeState(received: ReceivedEvent, within: Within): Steps<void> {
  const { event, chunk } = received
  const { object, content } = event
  const [before] = (yield [selectState, [object]]).map(state)
  const own: ReportedState = { content, receivedAt: chunk.observedAt }
  if (isAgain(before, own)) {
    yield ['UPDATE event_states SET received_at = ?1 WHERE object = ?2', [own.receivedAt, object]]
    return
  }
  const happenedAt = timeAfter(before?.happenedAt, chunk.at)
  const number = (before?.number ?? 0) + 1
  const key = `${object} ${number} ${own.receivedAt}`
  const id = yield* insert({ ...chunk, at: happenedAt }, key, received, within)
  yield [upsertState, [object, number, content, own.receivedAt, id]]
}

function* insert(
  received: EventChunk,
  key: string,
  { to, waits }: Pick<ReceivedEvent, 'to' | 'waits'>,
  within: Within,
): Steps<number> {
  const { now } = within
  const { instance } = received.key
  const job = waits && (yield* waits.spanOf(instance, waits.jobId, within))
  const chunk = job === undefined ? received : { ...received, job }
  const dueAt = now + (job === undefined ? (waits?.ms ?? 0) : 0)
  const [row] = yield [
    'INSERT INTO chunks (attempt, number, content, snapshot_at) VALUES (1, 1, ?1, ?2) RETURNING id',
    [JSON.stringify(chunk), now],
  ]
  const id = number('id')(row ?? {})
  const { event, project, at } = chunk
  const waitsFor = job === undefined ? (waits?.jobId ?? null) : null
  yield [
    `INSERT INTO events (chunk_id, key, kind, shown_as, instance, project_id, project, happened_at, taken_at, waits_for, group_path)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
    [
      ...[id, key, event.kind, shownAs(event) ?? null, instance, project?.id ?? null, project?.path ?? null],
      ...[Math.round(at), now, waitsFor, groupPathOf(chunk)],
    ],
  ]
  yield* writeMessages([{ chunk, to, key, dueAt }], within)
  return id
}

const selectState = `
  SELECT s.number, s.content, s.received_at, e.happened_at FROM event_states s JOIN events e ON e.chunk_id = s.chunk_id
  WHERE s.object = ?1`

const upsertState = `
  INSERT INTO event_states (object, number, content, received_at, chunk_id) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (object) DO UPDATE SET number = excluded.number, content = excluded.content, received_at = excluded.received_at,
    chunk_id = excluded.chunk_id`

const state = record({
  number: number('number'),
  content: text('content'),
  receivedAt: number('received_at'),
  happenedAt: number('happened_at'),
})
