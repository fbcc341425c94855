// The routes of the JSON API about exports: what is pending, dead letters, and the actions on both.
import { chosen, exportsQuery, tried } from './api-queries.ts'
import { deadLetterDetail, deadLetterDetailShape } from '../exports/dead-letter-detail.ts'
import { exportsShape, exportsView, perform, tryNow } from '../exports/exports.ts'
import { z } from 'zod'
import { get, post, type ApiRoute } from './api-route.ts'
import type { PagesParts, TriedNow } from '../ports.ts'

const count = z.object({ count: z.number() })

const triedNow = z.object({
  due: z.number().describe('Number of exports that waited for their next try.'),
  probes: z.number().describe('Number of queues whose circuit breaker was open.'),
}) satisfies z.ZodType<TriedNow>

export function exportRoutes(parts: PagesParts): readonly ApiRoute[] {
  return [
    get(
      '/exports',
      'The backlog of each destination and signal, and the newest dead letters.',
      { query: exportsQuery, answer: exportsShape },
      async ({ sort }) => exportsView(parts, sort),
    ),
    get(
      '/exports/dead-letters/:deadLetterId',
      'One dead letter with the spans or the record that the backend refused.',
      { answer: deadLetterDetailShape },
      async ({ deadLetterId }) => deadLetterDetail(parts, deadLetterId),
    ),
    post(
      '/exports/try',
      'Retries pending exports now, and lets open circuit breakers probe at once, for one destination or all.',
      { body: tried, answer: triedNow, isOfAll: true },
      async ({ destination }, by) => tryNow(parts, by, destination),
    ),
    post(
      '/dead-letters/retry',
      'Sends the named dead letters again, or all of them.',
      { body: chosen, answer: count },
      async ({ ids }, by) => ({ count: await perform(parts, { verb: 'retry', which: ids }, by) }),
    ),
    post(
      '/dead-letters/drop',
      'Drops the named dead letters for good, or all of them.',
      { body: chosen, answer: count },
      async ({ ids }, by) => ({ count: await perform(parts, { verb: 'drop', which: ids }, by) }),
    ),
  ]
}
