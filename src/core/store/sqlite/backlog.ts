// Counts the backlog on SQLite in slices: a statement blocks the main thread, and one over a million exports takes half a second.
//
// A backlog of one slice is counted at one moment. With several slices, an export that is sent and delayed meanwhile may be counted twice.
import { setImmediate as breathe } from 'node:timers/promises'
import { optional, text, type Row } from '../sql/columns.ts'
import type { Ask, Value } from '../sql/statements.ts'

interface Walk {
  readonly where: string
  /** The columns of the index that is walked. A slice ends with all rows that equal its last in these: they are never walked again. */
  readonly by: readonly string[]
  readonly counts: string
}

const walks: readonly Walk[] = [
  {
    where: `state = 'pending'`,
    by: ['destination', 'signal', 'due_at'],
    counts: 'count(*) AS pending, min(id) AS first, 0 AS dead, NULL AS error, 0 AS put_off',
  },
  {
    where: `state = 'pending' AND error IS NOT NULL`,
    by: ['destination', 'signal', 'error'],
    counts: '0 AS pending, NULL AS first, 0 AS dead, max(error) AS error, count(*) AS put_off',
  },
  {
    where: `state = 'dead'`,
    by: ['id'],
    counts: '0 AS pending, NULL AS first, count(*) AS dead, NULL AS error, 0 AS put_off',
  },
]

const destination = text('destination')
const signal = text('signal')
const error = optional(text, 'error')

/** As `selectQueues` returns them. `slice`: rows of an index that one statement walks, some milliseconds. */
export async function countBacklog(ask: Ask, slice = 20_000): Promise<Row[]> {
  const counted: Row[] = []
  for (const walk of walks) counted.push(...(await countOf(ask, walk, slice)))
  const queues: Row[] = []
  for (const [, rows] of Map.groupBy(counted, row => `${destination(row)}\n${signal(row)}`)) {
    const sum = (name: string): number => rows.reduce((total, row) => total + Number(row[name]), 0)
    const firsts = rows.flatMap(row => (row.first === null ? [] : Number(row.first)))
    const errors = rows.flatMap(row => error(row) ?? [])
    const [oldest] =
      firsts.length === 0 ? [] : await ask('SELECT pending_since FROM outbox WHERE id = ?1', [Math.min(...firsts)])
    queues.push({
      ...{ destination: rows[0]?.destination, signal: rows[0]?.signal },
      ...{ pending: sum('pending'), dead: sum('dead'), put_off: sum('put_off') },
      ...{ oldest: oldest?.pending_since ?? null, error: errors.sort().at(-1) ?? null },
    })
  }
  return queues.sort((a, b) => order(destination(a), destination(b)) || order(signal(a), signal(b)))
}

async function countOf(ask: Ask, { where, by, counts }: Walk, slice: number): Promise<Row[]> {
  const rows: Row[] = []
  const columns = by.join(', ')
  const compared = (how: '>' | '<=', values: readonly Value[]): string =>
    values.length === 0 ? '' : `AND (${columns}) ${how} (${values.map(() => '?').join(', ')})`
  for (let after: readonly Value[] = []; ;) {
    const from = `FROM outbox WHERE ${where} ${compared('>', after)}`
    const [last] = await ask(`SELECT ${columns} ${from} ORDER BY ${columns} LIMIT 1 OFFSET ${slice - 1}`, after)
    const until = last === undefined ? [] : by.map(name => last[name] as Value)
    rows.push(
      ...(await ask(
        `SELECT destination, signal, ${counts} ${from} ${compared('<=', until)} GROUP BY destination, signal`,
        [...after, ...until],
      )),
    )
    if (last === undefined) return rows
    after = until
    await breathe()
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
