// Updates figures over time, as steps of a transaction: reads new chunks into sums, and adds these to the stored figures.
import { addCosts, costValues, pruneCosts } from './costs-sql.ts'
import {
  counted,
  countedChunk,
  knownTrends,
  rowKey,
  rowsInMemory,
  rowValues,
  selectContents,
  takeInSql,
  writeTrends,
} from './trends-sql.ts'
import { cut } from '../sql/cut.ts'
import { day, hour, hoursStoredFor } from '../ports/trends.ts'
import { each, type Steps, type Within } from '../sql/steps.ts'
import { EarlierFailures } from './earlier-failures.ts'
import {
  knownSections,
  pruneSections,
  sectionDayKey,
  sectionsForgottenBefore,
  sectionValues,
  writeSections,
} from './section-figures-sql.ts'
import { number, optional, record, type Row } from '../sql/columns.ts'
import type { PipelineNames } from './pipeline-names.ts'
import { TrendSums } from './trend-sums.ts'
import type { DamagedRows } from '../sql/stored-json.ts'
import type { Chunk } from '../../model/chunk.ts'

/** The sums that are not yet written: of the chunks after `from` up to `last`. */
export interface Ahead {
  readonly from: number
  last: number
  readonly sums: TrendSums
  readonly failures: EarlierFailures
}

export function aheadOf(from: number, names: PipelineNames): Ahead {
  return { from, last: from, sums: new TrendSums(names), failures: new EarlierFailures() }
}

/** A chunk that is still in memory; undefined: it is read. */
type Recall = (id: number) => Chunk | undefined

/** Chunks read at once: those of large pipelines take hundreds of kilobytes each. */
const chunksAtOnce = 8

/** Reads chunks up to `until`, at most `limit`, at least one if there is one; returns how many. `recall`: returns chunks that are still in memory. */
export function* readAhead(
  ahead: Ahead,
  { until, limit, recall }: { readonly until: number; readonly limit: number; readonly recall?: Recall },
  damaged: DamagedRows,
): Steps<number> {
  const { sums, failures } = ahead
  let count = 0
  while (count < limit) {
    const wanted = Math.min(limit - count, chunksAtOnce)
    const rows = (yield [takeInSql.ids, [ahead.last, until, wanted]]).map(chunkOfRun)
    const recalled = new Map(rows.map(({ id, run }) => [id, run === undefined ? undefined : recall?.(id)]))
    const unread = rows.filter(({ id, run }) => run !== undefined && recalled.get(id) === undefined)
    const contents = contentsOf(
      yield each(
        selectContents,
        unread.map(({ id }) => [id]),
      ),
    )
    for (const { id, run, inside } of rows) {
      if (count > 0 && sums.size >= rowsInMemory) return count
      count += 1
      ahead.last = id
      const chunk = recalled.get(id) ?? (contents.has(id) ? countedChunk(damaged, id, contents.get(id)) : undefined)
      if (run === undefined || chunk === undefined) continue
      if (inside !== undefined) {
        counted(damaged, id, () => sums.sections.add(chunk))
        continue
      }
      if (failures.isMissing(run, chunk)) {
        for (const before of (yield [takeInSql.earlier, [run, id]]).map(idOf)) {
          const content = contentsOf(yield each(selectContents, [[before]])).get(before)
          const earlier = countedChunk(damaged, before, content)
          if (earlier !== undefined) failures.add(earlier)
        }
      }
      counted(damaged, id, () => {
        failures.add(chunk)
        sums.add(chunk, failures.upTo(chunk.attempt))
      })
    }
    if (rows.length < wanted) return count
  }
  return count
}

function contentsOf(rows: readonly Row[]): Map<number, unknown> {
  return new Map(rows.map(row => [idOf(row), row.content]))
}

/** Rows that one statement reads or writes. */
const rowsAtOnce = 1_000

export function* writeAhead({ last, sums }: Ahead, damaged: DamagedRows): Steps<void> {
  for (const some of cut(sums.additions(), () => 1, rowsAtOnce)) {
    const known = yield each(
      knownTrends,
      some.map((one, at) => [at, ...rowKey(one)]),
    )
    const before = new Map(known.map(row => [nth(row), row]))
    yield each(
      writeTrends,
      some.map((one, at) => rowValues(one, before.get(at), damaged)),
    )
  }
  for (const some of cut(sums.costs.rows(), () => 1, rowsAtOnce)) yield each(addCosts, some.map(costValues))
  const days = [...sums.sections.days()]
  const sections = Map.groupBy(
    yield each(
      knownSections,
      days.map((one, at) => [at, ...sectionDayKey(one)]),
    ),
    nth,
  )
  yield each(
    writeSections,
    days.flatMap((one, at) => sectionValues(one, sections.get(at) ?? [], damaged)),
  )
  yield [takeInSql.reached, []]
  yield ['UPDATE trends_reached SET chunk_id = ?1 WHERE id = 1', [last]]
}

/** Returns how many rows were deleted. `keep`: how long daily rows are stored, ms. */
export function* pruneFigures(keep: number, { now }: Within): Steps<number> {
  let gone = (yield [pruneCosts, [now - keep]]).length
  gone += (yield [pruneSections, [sectionsForgottenBefore(now, keep)]]).length
  for (const [step, stored] of [
    [hour, Math.min(hoursStoredFor, keep)],
    [day, keep],
  ] as const)
    gone += (yield ['DELETE FROM trends WHERE step = ?1 AND bucket < ?2 RETURNING 1', [step, now - stored]]).length
  return gone
}

const idOf = number('id')
const nth = number('nth')
const chunkOfRun = record({ id: idOf, run: optional(number, 'run_id'), inside: optional(number, 'inside') })
