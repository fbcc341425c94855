// Which rows of a queue belong to the territories of tokens, as SQL.
import type { Condition } from './leased-queue.ts'
import type { Statements } from './statements.ts'
import type { Which } from '../ports/enrichment-queue.ts'
import type { Territory, TerritoryPart } from '../../../model/territory.ts'

/** The rows that may be leased; undefined: all. `run`: the id of a row's run. The values are numbered after the first `before`. */
export function thoseIn(
  sql: Pick<Statements, 'pathOfRun'>,
  run: string,
  which: Which | undefined,
  before: number,
): Condition {
  if (which === undefined) return ['due_at IS NOT NULL', []]
  if ('only' in which) return inTerritories(sql, run, which.only, before)
  const [within, values] = inTerritories(sql, run, which.except, before)
  return [`NOT ${within}`, values]
}

function inTerritories(
  sql: Pick<Statements, 'pathOfRun'>,
  run: string,
  territories: readonly Territory[],
  before: number,
): Condition {
  if (territories.length === 0) return ['1 = 0', []]
  const values: string[] = []
  const place = (value: string): string => `CAST(?${before + values.push(value)} AS text)`
  const below = (group: string): string => {
    if (group === '') return '1 = 1'
    const prefix = place(`${group.toLowerCase()}/`)
    return `substr(lower(coalesce(${sql.pathOfRun}, '')), 1, length(${prefix})) = ${prefix}`
  }
  const part = ({ group, except }: TerritoryPart): string =>
    [below(group), ...except.map(one => `NOT ${below(one)}`)].join(' AND ')
  const within = territories.map(
    ({ instance, parts }) => `(runs.instance = ${place(instance)} AND (${parts.map(part).join(' OR ')}))`,
  )
  return [`EXISTS (SELECT 1 FROM runs WHERE runs.id = ${run} AND (${within.join(' OR ')}))`, values]
}
