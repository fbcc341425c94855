// Finds the pipeline of a span: of a pipeline's own span, or of one of its jobs. Span ids are not stored: they are derived again from the snapshots of
// stored pipelines, newest first.
import { runCard } from './run-card.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import type { FoundByIds } from './trace-search.ts'
import type { PagesParts } from '../ports.ts'

/** The snapshots of each pipeline have to be read: for how long for one page, ms, and of how many pipelines in one statement. */
const looked = { longest: 100, atOnce: 20 }

export function isSpanId(text: string | undefined): text is string {
  return /^[0-9a-f]{16}$/i.test(text ?? '') && !/^0+$/.test(text ?? '')
}

/** `before`: the `next.id` of the previous search. */
export async function searchSpan(
  { views, runs, hasSpan }: Pick<PagesParts, 'views' | 'runs' | 'hasSpan'>,
  given: string,
  before?: number,
): Promise<FoundByIds> {
  const spanId = given.toLowerCase()
  const began = performance.now()
  for (let from = before; ;) {
    const keys = await views.listedKeys(looked.atOnce, from)
    const chunksOf = await views.chunksOf(keys)
    const found = keys.find(({ id }) => chunksOf.get(id)?.some(chunk => hasSpan(chunk, spanId)))
    if (found !== undefined) {
      const stored = await runs.get(found)
      return { cards: stored?.run.pipeline === undefined ? [] : [runCard(stored)] }
    }
    const last = keys.at(-1)
    if (last === undefined || keys.length < looked.atOnce) return { cards: [] }
    from = last.id
    if (performance.now() - began > looked.longest)
      return { cards: [], next: { id: last.id, createdAt: last.createdAt } }
    await breathe()
  }
}
