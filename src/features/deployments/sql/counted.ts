// Deployments, changes and incidents, which are reported many times and counted once, for both databases. Each kind declares its table (`CountedTable`); merging reports, and
// counting due rows, are written here.
import type { Reading } from '../../../core/store/sql/reading.ts'
import {
  concurrently,
  forUpdate,
  lockNames,
  type StepOf,
  type Steps,
  type StepValue,
  type Within,
} from '../../../core/store/sql/steps.ts'
import { number, optional, type Column, type Row } from '../../../core/store/sql/columns.ts'
import { inScope, type ProjectScope } from '../../../core/store/ports/project-scope.ts'
import { writeReports } from '../../../core/store/sql/runs.ts'
import { writeEvent } from '../../../core/store/sql/events.ts'
import type { Countable, Decide, Decided, Reported } from '../countable.ts'
import type { DamagedRows } from '../../../core/store/sql/damaged-rows.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ProjectFacts } from '../../../model/observation.ts'
import type { Statements, Value } from '../../../core/store/sql/statements.ts'

/** Rows have `id`, `content` (the merged reports), `due_at` and `known_at`. `State`: what was counted. `Around`: what it is compared with. */
export interface CountedTable<Of, State, Around = undefined> {
  readonly table: 'deployments' | 'changes' | 'incidents'
  /** Names one row in the log. */
  readonly name: string
  /** Throws DataError if it is damaged. */
  readonly content: Column<Of>
  readonly merge: (known: Of, reported: Of) => Of
  /** The locked row of a reported thing. */
  readonly own: (report: Of, within: Within) => Steps<Row | undefined>
  /** Written with each report. */
  readonly columns: readonly string[]
  readonly values: (of: Of, now: Millis) => readonly StepValue[]
  /** What is to be counted, given its row: nothing if empty. The delay begins again when this changes. */
  readonly uncounted: (of: Of, row: Row | undefined, damaged: DamagedRows) => readonly unknown[]
  /** Not written while nothing else is known about it. */
  readonly isNothing?: (report: Of) => boolean
  /** `known_at` is not the time of the first report, but when there was first something to count. */
  readonly isKnownLater?: true
  readonly state: (row: Row, damaged: DamagedRows) => State | undefined
  /** The columns of what was counted: an assignment with values from `?2` on. */
  readonly setCounted: string
  readonly countedValues: (state: State | undefined, now: Millis) => readonly StepValue[]
  /** Which of the due ones are counted together; undefined: all. */
  readonly together?: string
  /** An assignment to columns that only this table has, when `due_at` becomes `?1`. */
  readonly setDue?: string
  /** Finds the rows to compare with. `lock`: no other replica counts things of the same name meanwhile. */
  readonly compared?: {
    readonly lock: (row: Row) => string
    readonly around: (row: Row, damaged: DamagedRows) => Steps<Around>
  }
  /** Which rows `d` of the table `prune` deletes, with `?1`: before when; and in which order. */
  readonly pruned: { readonly where: string; readonly by: string }
}

/** Merges reports into their rows, in order. */
export function* writeReported<Of, State, Around>(
  kind: CountedTable<Of, State, Around>,
  reported: readonly Reported<Of>[],
  within: Within,
): Steps<void> {
  const { now, damaged } = within
  for (const { report, countIn } of reported) {
    const row = yield* kind.own(report, within)
    if (row === undefined && kind.isNothing?.(report) === true) continue
    // Of a damaged one is known what is reported from now on.
    const known = damaged.row(kind.table, row, kind.content)
    const of = known === undefined ? report : kind.merge(known, report)
    if (known !== undefined && JSON.stringify(of) === JSON.stringify(known)) continue
    const left = JSON.stringify(kind.uncounted(of, row, damaged))
    const isAsBefore = known !== undefined && left === JSON.stringify(kind.uncounted(known, row, damaged))
    const due = left === '[]' ? null : ((row && isAsBefore ? dueOf(row) : undefined) ?? now + countIn)
    const knownAt = due === null && (row !== undefined || kind.isKnownLater === true) ? null : now
    if (row !== undefined) yield updateRow(kind, row, { of, due, knownAt, now })
    else yield [insertInto(kind), [due, knownAt, JSON.stringify(of), ...kind.values(of, now)]]
  }
}

/** Things with a number in their project. */
interface Numbered {
  readonly instance: string
  readonly project: ProjectFacts
  readonly iid: number
}

export function ownByNumber(table: 'changes' | 'incidents'): CountedTable<Numbered, unknown>['own'] {
  return function* ({ instance, project, iid }, within) {
    const own = `SELECT * FROM ${table} WHERE instance = ?1 AND project_id = ?2 AND iid = ?3 ${forUpdate(within)}`
    return (yield [own, [instance, project.id, iid]])[0]
  }
}

/** Serialises all writers of one. */
export function nameOf({ name }: { readonly name: string }, { instance, project, iid }: Numbered): string {
  return `${name} ${iid} of ${project.id} ${instance}`
}

const written = ['due_at', 'known_at', 'content']

function insertInto({ table, columns }: Pick<CountedTable<unknown, unknown>, 'table' | 'columns'>): string {
  const all = [...written, ...columns]
  return `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map((_, at) => `?${at + 1}`).join(', ')})`
}

export function updateRow<Of>(
  { table, columns, values, setDue }: Pick<CountedTable<Of, unknown>, 'table' | 'columns' | 'values' | 'setDue'>,
  row: Row,
  { of, due, knownAt, now }: { of: Of; due: Millis | null; knownAt: Millis | null; now: Millis },
): StepOf {
  const set = ['content', ...columns].map((column, at) => `${column} = ?${at + 3}`)
  const all = [
    'due_at = CAST(?1 AS bigint)',
    'known_at = coalesce(known_at, ?2)',
    ...set,
    ...(setDue === undefined ? [] : [setDue]),
  ]
  return [
    `UPDATE ${table} SET ${all.join(', ')} WHERE id = ?${columns.length + 4}`,
    [due, knownAt, JSON.stringify(of), ...values(of, now), idOf(row)],
  ]
}

export function countable<Of, State, Around>(
  sql: Statements,
  kind: CountedTable<Of, State, Around>,
): Countable<Of, State, Around> {
  const { table, together = 'due_at IS NOT NULL', pruned } = kind
  const isDue = `due_at <= ?1 AND ${together} ORDER BY due_at, id LIMIT ?2`
  const due = async (limit: number): Promise<number[]> =>
    (await sql.all(`SELECT id FROM ${table} WHERE ${isDue}`, [await sql.now(), limit])).map(idOf)
  const count = async (
    select: (within: Within) => StepOf,
    decide: DecideOne<Of, State, Around>,
  ): Promise<Decided<State>[]> =>
    sql.transaction(function* (within) {
      return yield* countRows(kind, yield select(within), decide, within)
    })
  return {
    // Usually nothing is due, and a SELECT needs no transaction. Locked rows are skipped: another replica counts them.
    countDue: async (limit, decide) =>
      (await due(1)).length === 0
        ? []
        : count(({ now }) => [`SELECT * FROM ${table} WHERE ${isDue} ${sql.skipLocked}`, [now, limit]], decide),
    due,
    count: async (id, decide) => {
      const own = `SELECT * FROM ${table} WHERE id = ?1 AND due_at IS NOT NULL`
      return (await count(within => [`${own} ${forUpdate(within)}`, [id]], decide))[0]
    },
    defer: async (id, ms, counted) => {
      const tries = counted ? ', tries = tries + 1' : ''
      const leased = kind.setDue === undefined ? '' : ', leased = 0'
      const values = [(await sql.now()) + ms, id]
      await sql.change(`UPDATE ${table} SET due_at = ?1${leased}${tries} WHERE id = ?2 AND due_at IS NOT NULL`, values)
    },
    prune: async (before, limit) =>
      sql.change(
        `DELETE FROM ${table} WHERE id IN (SELECT d.id FROM ${table} d WHERE ${pruned.where} ORDER BY d.${pruned.by} LIMIT ?2)`,
        [before, limit],
      ),
  }
}

type DecideOne<Of, State, Around> = (
  ...of: Parameters<Decide<Of, State, Around>>
) => ReturnType<Decide<Of, State, Around>> | undefined

/** Locks rows first, then the rows to compare with, then totals, like all other transactions. */
function* countRows<Of, State, Around>(
  kind: CountedTable<Of, State, Around>,
  rows: readonly Row[],
  decide: DecideOne<Of, State, Around>,
  within: Within,
): Steps<Decided<State>[]> {
  const { now, damaged } = within
  const { compared } = kind
  if (compared !== undefined) yield* lockNames(rows.map(compared.lock), within)
  const around = compared && (yield* concurrently(rows.map(row => compared.around(row, damaged))))
  const all = rows.flatMap((row, at): { readonly id: number; readonly decided: Decided<State> }[] => {
    const id = idOf(row)
    const of = damaged.row(kind.table, row, kind.content)
    if (of === undefined) return [{ id, decided: 'damaged' }]
    const due = { id, of, knownAt: knownAtOf(row) ?? now, counted: kind.state(row, damaged) }
    const decided = decide(due, around?.[at] as Around)
    return decided === undefined ? [] : [{ id, decided }]
  })
  yield* concurrently(all.map(one => writeDecided(kind, one, within)))
  const counted = all.flatMap(({ decided }) => (typeof decided === 'object' ? decided.written : []))
  yield* writeReports(
    counted.flatMap(({ reports }) => reports ?? []),
    counted.flatMap(({ totals }) => totals ?? []),
    within,
  )
  return all.map(({ decided }) => decided)
}

function* writeDecided<Of, State, Around>(
  { table, setDue, setCounted, countedValues }: CountedTable<Of, State, Around>,
  { id, decided }: { readonly id: number; readonly decided: Decided<State> },
  within: Within,
): Steps<void> {
  const { now } = within
  const done = `UPDATE ${table} SET due_at = NULL${setDue === undefined ? '' : ', leased = 0'}`
  if (decided === 'damaged') yield [`${done} WHERE id = ?1`, [id]]
  else if (decided === 'apart')
    yield [`UPDATE ${table} SET apart = 1, leased = 0, due_at = ?2 WHERE id = ?1`, [id, now]]
  else {
    yield [`${done}, ${setCounted} WHERE id = ?1`, [id, ...countedValues(decided.counted, now)]]
    for (const { sent } of decided.written) if (sent !== undefined) yield* writeEvent(sent, within)
  }
}

/** The rows for pages, the latest first. `where`: with `values`. Damaged ones are left out. */
export async function listed<T>(
  { ask, damaged }: Reading,
  { table }: Pick<CountedTable<unknown, unknown>, 'table'>,
  { where, values, by, project, limit }: Listed,
  read: (row: Row) => T | undefined,
): Promise<T[]> {
  const all = [...values, limit]
  const own = project === undefined ? '' : `AND ${inScope('project', project, path => `?${all.push(path)}`)}`
  const rows = await ask(
    `SELECT * FROM ${table} d WHERE ${where} AND {visible d} ${own} ORDER BY ${by} DESC, id DESC LIMIT ?${values.length + 1}`,
    all,
  )
  return damaged.rows(table, rows, read)
}

export interface Listed {
  readonly where: string
  readonly values: readonly Value[]
  readonly by: string
  readonly project?: ProjectScope | undefined
  readonly limit: number
}

const idOf = number('id')
const dueOf = optional(number, 'due_at')
const knownAtOf = optional(number, 'known_at')
