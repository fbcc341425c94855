// The routes of the JSON API about exports: what is pending, dead letters, and the actions on both.
import { chosen, exportsQuery, tried, wholeNumber } from './api-queries.ts'
import { deadLetterDetail, deadLetterDetailShape } from '../exports/dead-letter-detail.ts'
import { exportsShape, exportsView, perform } from '../exports/exports.ts'
import { z } from 'zod'
import type { ApiRoute } from './api-route.ts'
import type { PagesParts, TriedNow } from '../ports.ts'

const count = z.object({ count: z.number() })

const triedNow = z.object({
  due: z.number().describe('Number of exports that waited for their next try.'),
  probes: z.number().describe('Number of queues whose circuit breaker was open.'),
}) satisfies z.ZodType<TriedNow>

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
      answer: exportsShape,
      handle: async ({ query }) => exportsView(parts, exportsQuery.parse(query).sort),
    },
    {
      method: 'GET',
      path: '/exports/dead-letters/:deadLetterId',
      says: 'One dead letter with the spans or the record that the backend refused.',
      params: z.object({ deadLetterId: wholeNumber }),
      answer: deadLetterDetailShape,
      handle: async ({ params }) => deadLetterDetail(parts, params.deadLetterId as number),
    },
    {
      method: 'POST',
      path: '/exports/try',
      says: 'Retries pending exports now, and lets open circuit breakers probe at once, for one destination or all.',
      body: tried,
      answer: triedNow,
      handle: async ({ body }) => parts.tryNow(tried.parse(body).destination),
    },
    {
      method: 'POST',
      path: '/dead-letters/retry',
      says: 'Sends the named dead letters again, or all of them.',
      body: chosen,
      answer: count,
      handle: async ({ body }) => changed('retry', body),
    },
    {
      method: 'POST',
      path: '/dead-letters/drop',
      says: 'Drops the named dead letters for good, or all of them.',
      body: chosen,
      answer: count,
      handle: async ({ body }) => changed('drop', body),
    },
  ]
}
