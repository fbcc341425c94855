// Deployments, changes and incidents, which are reported many times and counted once, for both databases. Reports are written with the delivery or run
// that contained them, merged into one row for each thing. A thing is counted after a delay, in which late reports may arrive. Each kind declares its table
// (`CountedTable`); merging reports, and counting due rows, are written here.
import type { Reading } from '../../../core/store/sql/reading.ts'
import { concurrently, forUpdate, lockNames } from '../../../core/store/sql/steps.ts'
import type { StepOf, Steps, StepValue, Within } from '../../../core/store/sql/steps.ts'
import { number, optional, type Column, type Row } from '../../../core/store/sql/columns.ts'
import { inScope, type ProjectScope } from '../../../core/store/ports/project-scope.ts'
import { writeReports } from '../../../core/store/sql/runs.ts'
import { writeEvent } from '../../../core/store/sql/events.ts'
import type { DamagedRows } from '../../../core/store/sql/damaged-rows.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ProjectFacts } from '../../../model/observation.ts'
import type { ProjectIncrements } from '../../../model/totals.ts'
import type { ReceivedEvent, Reports } from '../../../core/store/ports/runs.ts'
import type { Statements, Value } from '../../../core/store/sql/statements.ts'

export interface Reported<Of> {
  readonly report: Of
  /** The delay before it is counted, ms: in that time, later reports may arrive, also about the rows that it is compared with. */
  readonly countIn: Millis
}

/** What is written when something is counted. */
export interface Counted {
  readonly totals?: ProjectIncrements | undefined
  /** For destinations with delta metrics: an event with one point for each thing. */
  readonly sent?: ReceivedEvent | undefined
  /** What features report about it. */
  readonly reports?: readonly Reports[] | undefined
}

/** A thing that is to be counted. `State`: what was counted of it. */
export interface Due<Of, State> {
  readonly id: number
  /** All its reports, merged. */
  readonly of: Of
  /** When the fact to be counted was first reported. */
  readonly knownAt: Millis
  readonly counted: State | undefined
}

export interface Decision<State> {
  /** What is counted of it, now and earlier. Undefined: it is never counted. */
  readonly counted: State | undefined
  readonly written: readonly Counted[]
  /** The daemon's counters to increase. */
  readonly measures: readonly string[]
}

/** `Around`: what it is compared with. `apart`: it waits for its commits, and is counted separately. `skip`: another replica has counted it. */
export type Decide<Of, State, Around = undefined> = (
  due: Due<Of, State>,
  around: Around,
) => Decision<State> | 'apart' | 'skip'

/** `damaged`: it will never be counted. */
export type Decided<State> = Decision<State> | 'apart' | 'damaged'

/** Rows have `id`, `content` (the merged reports), `due_at` and `known_at`. `State`: what was counted. */
export interface CountedTable<Of, State, Around = undefined> {
  readonly table: 'deployments' | 'changes' | 'incidents'
  /** Throws DataError if it is damaged. */
  readonly content: Column<Of>
  readonly merge: (known: Of, reported: Of) => Of
  /** The locked row of a reported thing. */
  readonly own: (report: Of, within: Within) => Steps<Row | undefined>
  /** The columns that are written with each report. */
  readonly columns: readonly string[]
  readonly values: (of: Of, now: Millis) => readonly StepValue[]
  /** What is to be counted, given its row: nothing if empty. The delay begins again when this changes. */
  readonly uncounted: (of: Of, row: Row | undefined, damaged: DamagedRows) => readonly unknown[]
  /** True for a report that is not written while nothing else is known about the thing. */
  readonly isNothing?: (report: Of) => boolean
  /** `known_at` is the time when there was first something to count, not the time of the first report. */
  readonly isKnownLater?: true
  readonly state: (row: Row, damaged: DamagedRows) => State | undefined
  /** The columns of what was counted: an assignment with values from `?2` on. */
  readonly setCounted: string
  readonly countedValues: (state: State | undefined, now: Millis) => readonly StepValue[]
  /** Finds the rows to compare with. Only such a table has `apart` and `leased`. `lock`: a name; one replica at a time counts things with that lock. */
  readonly compared?: {
    readonly lock: (row: Row) => string
    readonly around: (row: Row, damaged: DamagedRows) => Steps<Around>
  }
  /** Which rows `d` of the table `prune` deletes, and in which order. `?1`: the time before which they are deleted. */
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
    // A damaged row is replaced: it then has only what is reported from now on.
    const known = damaged.row(kind.table, row, kind.content)
    const of = known === undefined ? report : kind.merge(known, report)
    if (known !== undefined && JSON.stringify(of) === JSON.stringify(known)) continue
    const left = JSON.stringify(kind.uncounted(of, row, damaged))
    const isAsBefore = known !== undefined && left === JSON.stringify(kind.uncounted(known, row, damaged))
    const due = left === '[]' ? null : ((row && isAsBefore ? dueOf(row) : undefined) ?? now + countIn)
    const knownAt = due === null && (row !== undefined || kind.isKnownLater === true) ? null : now
    yield row === undefined
      ? insertRow(kind, [due, knownAt, JSON.stringify(of), ...kind.values(of, now)])
      : updateRow(kind, row, { of, due, knownAt, now })
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

/** The name of the lock that serialises all writers of one change or incident. */
export function lockOfNumber(table: 'changes' | 'incidents', { instance, project, iid }: Numbered): string {
  return `${table} ${iid} of ${project.id} ${instance}`
}

function insertRow(
  { table, columns }: Pick<CountedTable<never, never>, 'table' | 'columns'>,
  values: StepValue[],
): StepOf {
  const all = ['due_at', 'known_at', 'content', ...columns]
  return [`INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map((_, at) => `?${at + 1}`).join(', ')})`, values]
}

export function updateRow<Of, Around>(
  {
    table,
    columns,
    values,
    compared,
  }: Pick<CountedTable<Of, never, Around>, 'table' | 'columns' | 'values' | 'compared'>,
  row: Row,
  { of, due, knownAt, now }: { of: Of; due: Millis | null; knownAt: Millis | null; now: Millis },
): StepOf {
  const set = [
    'due_at = CAST(?1 AS bigint)',
    'known_at = coalesce(known_at, ?2)',
    ...['content', ...columns].map((column, at) => `${column} = ?${at + 3}`),
    // A new due time ends the lease.
    ...(compared === undefined ? [] : ['leased = CASE WHEN due_at = CAST(?1 AS bigint) THEN leased ELSE 0 END']),
  ]
  return [
    `UPDATE ${table} SET ${set.join(', ')} WHERE id = ?${columns.length + 4}`,
    [due, knownAt, JSON.stringify(of), ...values(of, now), idOf(row)],
  ]
}

export type Countable<Of, State, Around> = ReturnType<typeof countable<Of, State, Around>>

export function countable<Of, State, Around>(sql: Statements, kind: CountedTable<Of, State, Around>) {
  const { table, compared, pruned } = kind
  const isDue = `due_at <= ?1 AND ${compared === undefined ? 'due_at IS NOT NULL' : 'apart = 0'} ORDER BY due_at, id LIMIT ?2`
  const due = async (limit: number): Promise<number[]> =>
    (await sql.all(`SELECT id FROM ${table} WHERE ${isDue}`, [await sql.now(), limit])).map(idOf)
  const count = async (
    select: (within: Within) => StepOf,
    decide: Decide<Of, State, Around>,
  ): Promise<Decided<State>[]> =>
    sql.transaction(function* (within) {
      return yield* countRows(kind, yield select(within), decide, within)
    })
  return {
    /** Counts due rows, the longest due first, in one transaction: all of them, or none if it throws. Rows that another replica counts are skipped. */
    countDue: async (limit: number, decide: Decide<Of, State, Around>) =>
      // Usually nothing is due, and a SELECT needs no transaction.
      (await due(1)).length === 0
        ? []
        : count(({ now }) => [`SELECT * FROM ${table} WHERE ${isDue} ${sql.skipLocked}`, [now, limit]], decide),
    /** The ids of the rows that `countDue` would count. */
    due,
    /** Counts one row in a transaction. Undefined: it was already counted, or is skipped. */
    count: async (id: number, decide: Decide<Of, State, Around>): Promise<Decided<State> | undefined> => {
      const own = `SELECT * FROM ${table} WHERE id = ?1 AND due_at IS NOT NULL`
      return (await count(within => [`${own} ${forUpdate(within)}`, [id]], decide))[0]
    },
    /** Makes a row due again in `ms`. `counted`: whether this counts as a try. */
    defer: async (id: number, ms: number, counted: boolean): Promise<void> => {
      const set = `${compared === undefined ? '' : ', leased = 0'}${counted ? ', tries = tries + 1' : ''}`
      const values = [(await sql.now()) + ms, id]
      await sql.change(`UPDATE ${table} SET due_at = ?1${set} WHERE id = ?2 AND due_at IS NOT NULL`, values)
    },
    /** Deletes old rows; returns how many. */
    prune: async (before: Millis, limit: number): Promise<number> =>
      sql.change(
        `DELETE FROM ${table} WHERE id IN (SELECT d.id FROM ${table} d WHERE ${pruned.where} ORDER BY d.${pruned.by} LIMIT ?2)`,
        [before, limit],
      ),
  }
}

/** Counts rows. It locks the rows first, then the rows to compare with, then totals: the same order as in all other transactions. */
function* countRows<Of, State, Around>(
  kind: CountedTable<Of, State, Around>,
  rows: readonly Row[],
  decide: Decide<Of, State, Around>,
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
    return decided === 'skip' ? [] : [{ id, decided }]
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
  { table, compared, setCounted, countedValues }: CountedTable<Of, State, Around>,
  { id, decided }: { readonly id: number; readonly decided: Decided<State> },
  within: Within,
): Steps<void> {
  const { now } = within
  const done = `UPDATE ${table} SET due_at = NULL${compared === undefined ? '' : ', leased = 0'}`
  if (decided === 'damaged') yield [`${done} WHERE id = ?1`, [id]]
  else if (decided === 'apart')
    yield [`UPDATE ${table} SET apart = 1, leased = 0, due_at = ?2 WHERE id = ?1`, [id, now]]
  else {
    yield [`${done}, ${setCounted} WHERE id = ?1`, [id, ...countedValues(decided.counted, now)]]
    for (const { sent } of decided.written) if (sent !== undefined) yield* writeEvent(sent, within)
  }
}

/** The rows for pages, the latest first, without damaged ones. `where`: a condition with `values`. */
export async function listed<T>(
  { ask, damaged }: Reading,
  table: CountedTable<never, never>['table'],
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

interface Listed {
  readonly where: string
  readonly values: readonly Value[]
  readonly by: string
  readonly project?: ProjectScope | undefined
  readonly limit: number
}

const idOf = number('id')
const dueOf = optional(number, 'due_at')
const knownAtOf = optional(number, 'known_at')
