// The configured queries: things to ask about from time to time, and each tried once by `pipespan config check --online`.
import { askQuery } from '../../platform/inventory/query.ts'
import { createHash } from 'node:crypto'
import { isOfView, type Trial } from '../../daemon/feature.ts'
import { reasonOf } from '../../lib/fault.ts'
import type { InventoryOptions } from './options.ts'
import type { PlatformClient } from '../../platform/port.ts'
import type { Thing } from '../../platform/port/thing.ts'

/** Those for the token whose options these are. */
function queriesOf(options: InventoryOptions) {
  return options.queries
    .filter(({ platform, project, group }) => isOfView(options, platform, project ?? group))
    .map(query => ({ ...query, fields: query.fields ?? [], attributes: query.attributes ?? {} }))
}

export function queryThings(options: InventoryOptions): Thing[] {
  return queriesOf(options).map((query): Thing => {
    const { project, group, metric, every } = query
    const digest = createHash('sha256').update(JSON.stringify(query)).digest('hex').slice(0, 8)
    return {
      ...{ kind: 'query', of: `${metric} ${digest}`, every, atLeast: 1, isBlockable: true },
      ...(project !== undefined && { owner: { as: 'projects', named: project } }),
      ...(group !== undefined && { owner: { as: 'groups', named: group } }),
      collect: async ({ ask }) => {
        if (ask === undefined) throw new Error('no platform is configured')
        return askQuery(query, ask)
      },
    }
  })
}

export async function tryQueries(options: InventoryOptions, client: PlatformClient | undefined): Promise<Trial[]> {
  const queries = queriesOf(options)
  if (queries.length === 0) return []
  if (client === undefined) {
    const what = 'Queries cannot be checked without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.'
    return [{ ok: false, what }]
  }
  const ask = client.asking({ priority: 'enrich' })
  const found: Trial[] = []
  for (const query of queries) {
    const { metric } = query
    try {
      const { points, problem } = await askQuery(query, ask)
      if (problem !== undefined) found.push({ ok: false, what: `${metric}: ${problem}` })
      const [first] = points
      const isOne = points.length === 1 && first !== undefined
      found.push({ ok: true, what: `${metric}: ${isOne ? JSON.stringify(first.value) : `${points.length} points`}.` })
    } catch (error) {
      found.push({ ok: false, what: `${metric}: ${reasonOf(error)}` })
    }
  }
  return found
}
