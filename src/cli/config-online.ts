// `pipespan config check --online`: runs each configured query once, and reports its result.
import { askQuery } from '../platform/inventory/query.ts'
import { call, platformClient } from './doctor/platform.ts'
import { querySpecOf } from '../app/inventory.ts'
import { reasonOf } from '../lib/fault.ts'
import type { Config } from '../config/options.ts'

export interface OnlineFinding {
  readonly ok: boolean
  readonly what: string
}

export async function tryQueries(config: Config): Promise<OnlineFinding[]> {
  if (config.queries.length === 0) return [{ ok: true, what: 'No queries are configured.' }]
  const client = platformClient(config)
  if (client === undefined) {
    return [{ ok: false, what: 'Queries cannot be checked without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.' }]
  }
  const found: OnlineFinding[] = []
  try {
    for (const query of config.queries) {
      try {
        const { points } = await askQuery(querySpecOf(query), client.asking(call))
        const [first] = points
        const values =
          points.length === 1 && first !== undefined ? JSON.stringify(first.value) : `${points.length} points`
        found.push({ ok: true, what: `${query.metric}: ${values}.` })
      } catch (error) {
        found.push({ ok: false, what: `${query.metric}: ${reasonOf(error)}` })
      }
    }
  } finally {
    await client.close()
  }
  return found
}
