// Folds the rows that snapshots have appended (`counted-chunk.ts`) into the stored trends and costs, a few seconds later. All pipelines of a project
// share the same trend rows, so each of these is written once for many pipelines.
//
// One transaction deletes some rows from `figures_added` and adds their sums to the stored rows. So each appended row counts exactly once, even if
// the process is killed, and however many replicas fold.
import { addCosts, costValues } from '../cost/sql.ts'
import { createLoop, type Loop } from '../../../lib/loop.ts'
import { cut } from '../../../core/store/sql/job-pages.ts'
import { each, forRows, lockNames, type Steps, type StepValue, type Within } from '../../../core/store/sql/steps.ts'
import { number, record, text, type Row } from '../../../core/store/sql/columns.ts'
import { addFigures, PipelineNames, TrendSums, type Addition } from './sums.ts'
import { figuresOf } from '../reading/sql.ts'
import { storedJson, storedList } from '../../../core/store/sql/stored-json.ts'
import { wastedPurposes } from '../cost/rows.ts'
import type { CountedChunk, Ran, Used } from './counted-chunk.ts'
import type { Context } from '../../../daemon/context.ts'
import type { DamagedRows } from '../../../core/store/sql/damaged-rows.ts'
import type { Statements } from '../../../core/store/sql/statements.ts'

/** The pause between two rounds of folding, ms. With a longer pause, more pipelines are folded into one write, but more rows are pending. */
const every = 5_000

export function createFoldLoop({ store, clock, log }: Pick<Context, 'store' | 'clock' | 'log'>): Loop {
  const fold = store.on(foldingOn)
  return createLoop({
    ...{ name: 'trends', clock, log },
    // Each turn of the loop is one transaction. The loop can be stopped between turns, so stopping waits for at most one transaction, however many
    // rows are pending.
    turn: async () => ((await fold()) ? 0 : every),
  })
}

/**
 * Returns a function that folds some rows in one transaction, continuing where its previous call ended. The function returns whether more rows are
 * pending.
 */
export function foldingOn(sql: Statements): () => Promise<boolean> {
  const names = new PipelineNames()
  let next: Place | undefined
  return async () => {
    // A SELECT outside a transaction checks for rows first, because usually there are none.
    if (next === undefined && (await sql.all('SELECT 1 FROM figures_added LIMIT 1')).length === 0) return false
    const begin = next ?? { projectId: Number.MIN_SAFE_INTEGER, id: 0 }
    // If the transaction fails, the next call starts over at the first row.
    next = undefined
    next = await sql.transaction(within => foldSome(begin, names, within))
    return next !== undefined
  }
}

/** The position of a row in `figures_added`. Rows are read in order of project. */
interface Place {
  readonly projectId: number
  readonly id: number
}

/** The maximum numbers of rows deleted from `figures_added`, per statement and per transaction. */
const maxTaken = { perStatement: 50, perTransaction: 500 }
/**
 * The number of hourly trend rows and cost rows after which a transaction ends. In addition, it writes at most this many daily rows. Each row takes
 * about 8 µs. One chunk may exceed the number: in a pipeline of 40,000 jobs, each job may have its own row.
 */
const maxRows = 1_000

const takeAdded = `
  DELETE FROM figures_added WHERE id IN
    (SELECT id FROM figures_added WHERE (project_id, id) > (?1, ?2) ORDER BY project_id, id LIMIT ${maxTaken.perStatement})
  RETURNING id, project_id, content`
const placeOf: (row: Row) => Place = record({ projectId: number('project_id'), id: number('id') })
const contentOf = text('content')

/** Folds some rows. Returns the position from which to continue; undefined if no rows remain. */
function* foldSome(begin: Place, names: PipelineNames, within: Within): Steps<Place | undefined> {
  const { damaged } = within
  // Only one replica folds at a time, because two would wait for each other's locks on the same trend rows.
  yield* lockNames(['trends'], within)
  const sums = new TrendSums()
  let from: Place | undefined = begin
  for (
    let count = 0;
    from !== undefined && count < maxTaken.perTransaction && sums.size < maxRows;
    count += maxTaken.perStatement
  ) {
    const rows: readonly Row[] = yield [takeAdded, [from.projectId, from.id]]
    const sorted = rows.toSorted((a, b) => byPlace(placeOf(a), placeOf(b)))
    for (const some of damaged.rows('figures_added', sorted, row => storedList(storedJson(contentOf(row)), isCounted)))
      for (const one of some) sums.add({ ...one, pipelineName: names.of(one) })
    const last = sorted.at(-1)
    from = last === undefined || rows.length < maxTaken.perStatement ? undefined : placeOf(last)
  }
  yield* writeSums(sums, damaged)
  return from
}

/** Whether a stored chunk has all fields that the sums read. Throws if the value is not an object. */
function isCounted(stored: CountedChunk): boolean {
  const { instance, projectId, project, branch, source, pipelineName, pipeline, jobs } = stored
  const texts: unknown[] = [instance, project, branch, source, pipelineName]
  return (
    texts.every(one => typeof one === 'string') &&
    typeof projectId === 'number' &&
    (pipeline === undefined || (typeof pipeline.endedAt === 'number' && hasRan(pipeline))) &&
    jobs.every(
      ({ name, endedAt, ran, used }) =>
        typeof name === 'string' &&
        typeof endedAt === 'number' &&
        (ran === undefined || hasRan(ran)) &&
        (used === undefined || hasUsed(used)),
    )
  )
}

function hasRan({ failed, tookMs, queuedMs = 0 }: Ran): boolean {
  return typeof failed === 'boolean' && typeof tookMs === 'number' && typeof queuedMs === 'number'
}

function hasUsed({ worker, totalMs, cost = 0, wasted }: Used): boolean {
  const isPurpose = wasted === undefined || wastedPurposes.includes(wasted)
  return typeof worker === 'string' && typeof totalMs === 'number' && typeof cost === 'number' && isPurpose
}

function byPlace(a: Place, b: Place): number {
  return a.projectId - b.projectId || a.id - b.id
}

const keyTypes = ['bigint', 'bigint', 'text', 'bigint', 'text', 'text', 'text', 'text'] as const
const key = 'step, project_id, job, bucket, instance, branch, source, pipeline_name'

/** Reads stored trend rows by their keys (`rowKey`). Each key is passed with a number (`nth`), which is returned with its row. */
const knownTrends = forRows(
  ['bigint', ...keyTypes],
  ({ rows }) => `
  WITH k (nth, ${key}) AS (${rows})
  SELECT k.nth, t.runs, t.failed, t.flaky, t.total_ms, t.durations, t.queues FROM k JOIN trends t USING (${key})`,
)

/** Writes trend rows (`rowValues`), replacing the stored rows with the same keys. */
const writeTrends = forRows(
  [...keyTypes, ...(['text', 'bigint', 'bigint', 'bigint', 'bigint', 'json', 'json'] as const)],
  ({ rows }) => `
  INSERT INTO trends (${key}, project, runs, failed, flaky, total_ms, durations, queues) ${rows}
  ON CONFLICT (${key}) DO UPDATE SET
    project = excluded.project, runs = excluded.runs, failed = excluded.failed, flaky = excluded.flaky,
    total_ms = excluded.total_ms, durations = excluded.durations, queues = excluded.queues`,
)

function rowKey({ step, row }: Addition): StepValue[] {
  const { projectId, job, bucket, instance, branch, source, pipelineName } = row
  return [step, projectId, job, bucket, instance, branch, source, pipelineName]
}

/** Returns one row's values for `writeTrends`. */
function rowValues(addition: Addition, before: Row | undefined, damaged: DamagedRows): StepValue[] {
  const { row, step } = addition
  const { projectId, job, bucket } = row
  // A damaged trend row is replaced with a new one.
  const known = damaged.row('trends', before, figuresOf, { step, project_id: projectId, job, bucket })
  if (known !== undefined) addFigures(row, known)
  const { runs, failed, flaky, totalMs, durations, queues } = row
  return [...rowKey(addition), row.project, runs, failed, flaky, totalMs, durations.json(), queues.json()]
}

/** The maximum number of rows that one statement reads or writes. */
const maxRowsPerStatement = 1_000

function* writeSums(sums: TrendSums, damaged: DamagedRows): Steps<void> {
  for (const some of cut(sums.additions(), () => 1, maxRowsPerStatement)) {
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
  for (const some of cut(sums.costs.rows(), () => 1, maxRowsPerStatement)) yield each(addCosts, some.map(costValues))
}

const nth = number('nth')
