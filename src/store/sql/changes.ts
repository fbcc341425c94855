// Writes and counts changes (merge requests), as steps of a transaction: reports are merged into what is known.
import { json, number, optional, text, type Row } from './columns.ts'
import { mergeChange, viewChange, type Change } from '../../model/change.ts'
import { latest, type Millis } from '../../model/instant.ts'
import { plainText } from './plain-text.ts'
import { uncounted, type ChangeFigures, type CountedTimes } from '../../model/change-figures.ts'
import { writeEvent } from './events.ts'
import type { Changes, ReportedChange } from '../ports/changes.ts'
import type { Counted } from '../ports/counted.ts'
import type { DamagedRows } from './stored-json.ts'
import type { Steps, StepValue } from './steps.ts'
import type { WrittenEvent } from './waiting-events.ts'

/** Serialises all writers of one change. */
export function lockOfChange({ instance, project, iid }: Pick<Change, 'instance' | 'project' | 'iid'>): string {
  return `change ${iid} of ${project.id} ${instance}`
}

export function* writeChanges(reported: readonly ReportedChange[], now: Millis, damaged: DamagedRows): Steps<void> {
  for (const { change, countIn } of reported) yield* writeChange(change, now + countIn, now, damaged)
}

function* writeChange(reported: Change, dueAt: Millis, now: Millis, damaged: DamagedRows): Steps<void> {
  const { instance, project, iid } = reported
  const [row] = yield [selectOwn, [instance, project.id, iid]]
  const known = row && contentOf(row, damaged)
  const change = known === undefined ? reported : mergeChange(known, reported)
  if (row === undefined) {
    const due = uncounted(change, {}).length > 0 ? dueAt : null
    yield [insert, [...valuesOf(change, now), due, instance, project.id, iid, now]]
    return
  }
  if (known !== undefined && JSON.stringify(change) === JSON.stringify(known)) return
  const counted = countedOf(row, damaged)
  const times = JSON.stringify(uncounted(change, counted))
  const isNew = known === undefined || times !== JSON.stringify(uncounted(known, counted))
  const due = times === '[]' ? null : isNew ? dueAt : (dueOf(row) ?? dueAt)
  yield [update, [...valuesOf(change, now), due, number('id')(row)]]
}

/** The lock of a change with a time to be counted; undefined if it has none. */
export function* lockOfDue(id: number): Steps<string | undefined> {
  const [row] = yield [`SELECT instance, project_id, iid FROM changes WHERE id = ?1 AND due_at IS NOT NULL`, [id]]
  return (
    row &&
    lockOfChange({
      instance: text('instance')(row),
      project: { id: number('project_id')(row) },
      iid: number('iid')(row),
    })
  )
}

/** Returns what was counted, with the totals to add and the events that were written. */
export function* countChange(
  id: number,
  now: Millis,
  damaged: DamagedRows,
  decide: Parameters<Changes['count']>[1],
): Steps<{ figures: ChangeFigures; counted: Counted; written: readonly WrittenEvent[] } | undefined> {
  const [row] = yield ['SELECT * FROM changes WHERE id = ?1 AND due_at IS NOT NULL', [id]]
  if (row === undefined) return undefined
  const change = content(row)
  const before = countedOf(row, damaged)
  const [time, ...others] = uncounted(change, before)
  if (time === undefined) {
    yield ['UPDATE changes SET due_at = NULL WHERE id = ?1', [id]]
    return undefined
  }
  const { measure, at, took } = time
  const { head, base } = viewChange(change) ?? {}
  const figures = { measure, at, took, ...(head !== undefined && { head }), ...(base !== undefined && { base }) }
  const counted = decide(change, figures)
  const all: CountedTimes = { ...before, [measure]: { at, took } }
  const due = others.length > 0 ? now : null
  yield ['UPDATE changes SET due_at = ?1, leased = 0, counted = ?2 WHERE id = ?3', [due, JSON.stringify(all), id]]
  const written = counted.sent === undefined ? [] : yield* writeEvent(counted.sent, now, 'last', damaged)
  return { figures, counted, written }
}

const columns = ['project', 'state', 'happened_at', 'content', 'due_at']
const identity = ['instance', 'project_id', 'iid', 'known_at']
const selectOwn =
  'SELECT id, content, due_at, counted FROM changes WHERE instance = ?1 AND project_id = ?2 AND iid = ?3'
const inserted = [...columns, ...identity]
const insert = `INSERT INTO changes (${inserted.join(', ')}) VALUES (${inserted.map((_, at) => `?${at + 1}`).join(', ')})`
/** A new due time ends the lease. */
const update = `UPDATE changes SET ${columns.map((column, at) => `${column} = ?${at + 1}`).join(', ')},
  leased = CASE WHEN due_at = ?${columns.indexOf('due_at') + 1} THEN leased ELSE 0 END WHERE id = ?${columns.length + 1}`

/** Of all columns except `due_at`. */
function valuesOf(change: Change, now: Millis): StepValue[] {
  const { project, event, createdAt, stateAt, approvedAt, mergedAt, pipeline } = change
  const at = latest([createdAt, stateAt, approvedAt, mergedAt, pipeline?.createdAt])
  const state = event === undefined ? null : (viewChange(change)?.state ?? null)
  const path = project.path === undefined ? null : plainText(project.path)
  return [path, state, Math.round(at ?? now), JSON.stringify(change)]
}

const dueOf = optional(number, 'due_at')
const content = json<Change>('content')
const counted = optional(json<CountedTimes>, 'counted')

function contentOf(row: Row, damaged: DamagedRows): Change | undefined {
  return damaged.orNothing({ change: row.id }, 'it is known by what is reported of it from now on', () => content(row))
}

/** If it is damaged, all times count as counted: nothing may be counted twice. */
export function countedOf(row: Row, damaged: DamagedRows): CountedTimes {
  const all = { at: 0, took: 0 }
  const lost: CountedTimes = { pipeline: all, approval: all, merge: all }
  return damaged.orNothing({ change: row.id }, 'nothing more is counted of it', () => counted(row) ?? {}) ?? lost
}
