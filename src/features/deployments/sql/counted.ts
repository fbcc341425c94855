// Stores items that are reported many times but counted once (deployments, changes and incidents), in SQLite and PostgreSQL. A report is written
// together with the delivery or run that contained it, and is merged into the item's row. The item is counted after a delay, because later reports
// may arrive. Each kind declares its table (`CountedTable`); this file merges the reports and counts the due rows.
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
  /**
   * The delay before the item is counted, ms. During the delay, later reports may arrive about the item and about the rows that it is compared with.
   */
  readonly countIn: Millis
}

/** The data that is written when an item is counted. */
export interface Counted {
  readonly totals?: ProjectIncrements | undefined
  /** An event that has one metric point for each counted item, for destinations with delta metrics. */
  readonly sent?: ReceivedEvent | undefined
  /** Reports about the counted item, for other features. */
  readonly reports?: readonly Reports[] | undefined
}

/** An item that is due to be counted. `State` describes the parts of the item that were already counted. */
export interface Due<Of, State> {
  readonly id: number
  /** All reports of this item, merged. */
  readonly of: Of
  /** When the fact to be counted was first reported. */
  readonly knownAt: Millis
  readonly counted: State | undefined
}

export interface Decision<State> {
  /** Everything counted for the item, now and earlier. Undefined if the item is never counted. */
  readonly counted: State | undefined
  readonly written: readonly Counted[]
  /** The names of the daemon's counters to increment. */
  readonly measures: readonly string[]
}

/**
 * Decides what to count for an item. `Around` describes the rows that the item is compared with. `apart` means that the item's commits must be
 * requested first, so it is counted separately. `skip` means that these rows have changed since the commits were requested, so the item is not
 * counted yet.
 */
export type Decide<Of, State, Around = undefined> = (
  due: Due<Of, State>,
  around: Around,
) => Decision<State> | 'apart' | 'skip'

/** `damaged` means that the stored item cannot be read and will never be counted. */
export type Decided<State> = Decision<State> | 'apart' | 'damaged'

/**
 * Describes a table whose rows are counted once. Its columns include `id`, `content` (the merged reports), `due_at` and `known_at`. `State` describes
 * what was counted.
 */
export interface CountedTable<Of, State, Around = undefined> {
  readonly table: 'deployments' | 'changes' | 'incidents'
  /** Reads the merged reports from a row; throws DataError if they are damaged. */
  readonly content: Column<Of>
  readonly merge: (known: Of, reported: Of) => Of
  /** Selects and locks the row of a reported item. */
  readonly own: (report: Of, within: Within) => Steps<Row | undefined>
  /** The columns that are written with each report. */
  readonly columns: readonly string[]
  readonly values: (of: Of, now: Millis) => readonly StepValue[]
  /**
   * Returns what is still to be counted for an item, given its row; empty if nothing is left. A report that changes this result restarts the delay
   * before counting.
   */
  readonly uncounted: (of: Of, row: Row | undefined, damaged: DamagedRows) => readonly unknown[]
  /** Returns true for a report that is written only if the item already has a row. */
  readonly isNothing?: (report: Of) => boolean
  /** If set, `known_at` is the time of the first report with which the item can be counted, instead of its first report. */
  readonly isKnownLater?: true
  readonly state: (row: Row, damaged: DamagedRows) => State | undefined
  /** An SQL assignment to the columns that record what was counted. Its placeholders are numbered from `?2`. */
  readonly setCounted: string
  readonly countedValues: (state: State | undefined, now: Millis) => readonly StepValue[]
  /**
   * Finds the rows to compare an item with. Only a table with this field has the columns `apart` and `leased`. `lock` returns the name of a lock;
   * only one replica at a time counts items with the same lock.
   */
  readonly compared?: {
    readonly lock: (row: Row) => string
    readonly around: (row: Row, damaged: DamagedRows) => Steps<Around>
  }
  /**
   * An SQL condition for the rows (alias `d`) that `prune` deletes, and the column by which these rows are ordered. `?1` is the time before which
   * rows are deleted.
   */
  readonly pruned: { readonly where: string; readonly by: string }
}

/** Merges reports into the rows of their items, in the given order. */
export function* writeReported<Of, State, Around>(
  kind: CountedTable<Of, State, Around>,
  reported: readonly Reported<Of>[],
  within: Within,
): Steps<void> {
  const { now, damaged } = within
  for (const { report, countIn } of reported) {
    const row = yield* kind.own(report, within)
    if (row === undefined && kind.isNothing?.(report) === true) continue
    // A damaged row is replaced, so the new row contains only what is reported from then on.
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

/** An item that is identified by its number (iid) in its project. */
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
    // A new due time ends the row's lease.
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
    /**
     * Counts due rows, earliest due first, in one transaction: if it throws, nothing is counted. Rows that another replica is counting are skipped.
     */
    countDue: async (limit: number, decide: Decide<Of, State, Around>) =>
      // Usually no row is due. Checking that with a SELECT needs no transaction.
      (await due(1)).length === 0
        ? []
        : count(({ now }) => [`SELECT * FROM ${table} WHERE ${isDue} ${sql.skipLocked}`, [now, limit]], decide),
    /** Returns the ids of the rows that `countDue` would count. */
    due,
    /** Counts one row in a transaction. Returns undefined if the row was already counted or is skipped. */
    count: async (id: number, decide: Decide<Of, State, Around>): Promise<Decided<State> | undefined> => {
      const own = `SELECT * FROM ${table} WHERE id = ?1 AND due_at IS NOT NULL`
      return (await count(within => [`${own} ${forUpdate(within)}`, [id]], decide))[0]
    },
    /** Makes a row due again in `ms`. If `counted` is true, this counts as a failed attempt. */
    defer: async (id: number, ms: number, counted: boolean): Promise<void> => {
      const set = `${compared === undefined ? '' : ', leased = 0'}${counted ? ', tries = tries + 1' : ''}`
      const values = [(await sql.now()) + ms, id]
      await sql.change(`UPDATE ${table} SET due_at = ?1${set} WHERE id = ?2 AND due_at IS NOT NULL`, values)
    },
    prune: async (before: Millis, limit: number): Promise<number> =>
      sql.change(
        `DELETE FROM ${table} WHERE id IN (SELECT d.id FROM ${table} d WHERE ${pruned.where} ORDER BY d.${pruned.by} LIMIT ?2)`,
        [before, limit],
      ),
  }
}

/** Counts rows. All transactions lock in the same order: first the rows, then the rows that they are compared with, then the totals. */
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

/** Returns rows for the pages, latest first, without damaged rows. `where` is an SQL condition, and `values` are its parameters. */
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
