// Finds the pipeline of a span: of a pipeline's own span, or of one of its jobs. Span ids are not stored: they are derived again from the snapshots of
// stored pipelines, newest first.
import { runCard } from './run-card.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import type { FoundByIds } from './trace-search.ts'
import type { PagesParts } from './ports.ts'

/** A snapshot has to be read for each pipeline: for one page as many as that takes, ms. Pipelines before the event loop gets a turn. */
const looked = { longest: 120, atOnce: 50 }

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
    for (const { id, createdAt, instance, pipelineId } of keys) {
      const key = { instance, pipelineId }
      if ((await views.chunks(key)).some(chunk => hasSpan(chunk, spanId))) {
        const stored = await runs.get(key)
        return { cards: stored?.run.pipeline === undefined ? [] : [runCard(stored)] }
      }
      // Each of them is a request to a database that may be slow.
      if (performance.now() - began > looked.longest) return { cards: [], next: { id, createdAt } }
    }
    const last = keys.at(-1)
    if (last === undefined || keys.length < looked.atOnce) return { cards: [] }
    from = last.id
    await breathe()
  }
}
