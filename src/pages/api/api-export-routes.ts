// The routes of the JSON API about exports: what is pending, dead letters, and the actions on both.
import { chosen, exportsQuery, tried, wholeNumber } from './api-queries.ts'
import { deadLetterDetail } from '../exports/dead-letter-detail.ts'
import { exportsView, perform } from '../exports/exports.ts'
import { z } from 'zod'
import * as shapes from './api-export-shapes.ts'
import type { ApiRoute } from './api-route.ts'
import type { PagesParts } from '../ports.ts'

export function exportRoutes(parts: PagesParts): readonly ApiRoute[] {
  const changed = async (verb: 'retry' | 'drop', body: unknown): Promise<unknown> => {
    const { ids } = chosen.parse(body)
    return { count: await perform(parts, { verb, which: ids }) }
  }
  return [
    {
      method: 'GET',
      path: '/exports',
      says: 'The backlog of each destination and signal, and the newest dead letters.',
      query: exportsQuery,
      answer: shapes.exports,
      handle: async ({ query }) => exportsView(parts, exportsQuery.parse(query).sort),
    },
    {
      method: 'GET',
      path: '/exports/dead-letters/:deadLetterId',
      says: 'One dead letter with the spans or the record that the backend refused.',
      params: z.object({ deadLetterId: wholeNumber }),
      answer: shapes.deadLetterDetail,
      handle: async ({ params }) => deadLetterDetail(parts, params.deadLetterId as number),
    },
    {
      method: 'POST',
      path: '/exports/try',
      says: 'Retries pending exports now, and lets open circuit breakers probe at once, for one destination or all.',
      body: tried,
      answer: shapes.triedNow,
      handle: async ({ body }) => parts.tryNow(tried.parse(body).destination),
    },
    {
      method: 'POST',
      path: '/dead-letters/retry',
      says: 'Sends the named dead letters again, or all of them.',
      body: chosen,
      answer: shapes.count,
      handle: async ({ body }) => changed('retry', body),
    },
    {
      method: 'POST',
      path: '/dead-letters/drop',
      says: 'Drops the named dead letters for good, or all of them.',
      body: chosen,
      answer: shapes.count,
      handle: async ({ body }) => changed('drop', body),
    },
  ]
}
