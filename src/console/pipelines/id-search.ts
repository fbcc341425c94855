// Finds the pipelines of a trace by the trace ID, or one pipeline by its own span ID or the span ID of one of its jobs. Trace and span IDs are not
// stored. They are recomputed from the IDs or snapshots of stored pipelines, newest first, and compared.
import { maxGenerations } from '../../model/family.ts'
import { runCard, type RunCard } from './run-card.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import type { ListedKey, RunCursor } from '../../core/store/ports/views.ts'
import type { PagesParts } from '../ports.ts'
import type { RunKey } from '../../model/observation.ts'

/** The maximum time spent searching for one page of results, ms. */
const maxSearch = 100
/**
 * The number of pipelines compared before yielding to the event loop. Comparing a thousand IDs takes about a millisecond. Snapshots take longer,
 * because they must be read first.
 */
const atOnce = { ids: 5_000, snapshots: 20 }
/** The maximum number of pipelines shown for a trace. */
const maxOfFamily = 60

export interface FoundByIds {
  /** The pipelines found. For a trace, these are the root pipeline, if it is stored, and the pipelines it triggered. */
  readonly cards: readonly RunCard[]
  /** The cursor at which the next search continues, if this search stopped early. All pipelines newer than the cursor have been searched. */
  readonly next?: RunCursor | undefined
}

type Parts = Pick<PagesParts, 'views' | 'runs' | 'isTraceOf' | 'hasSpan' | 'clock'>

export function isTraceId(text: string | undefined): text is string {
  return /^[0-9a-f]{32}$/i.test(text ?? '') && !/^0+$/.test(text ?? '')
}

export function isSpanId(text: string | undefined): text is string {
  return /^[0-9a-f]{16}$/i.test(text ?? '') && !/^0+$/.test(text ?? '')
}

/** Finds the pipelines of a trace. `before` is the cursor that the previous search returned as `next`. */
export async function searchTrace(parts: Parts, given: string, before?: RunCursor): Promise<FoundByIds> {
  const traceId = given.toLowerCase()
  return searchBack(parts, atOnce.ids, before, async keys => {
    for (const { instance, pipelineId, parentId } of keys) {
      // The parent is also tried as the root of the trace, because the actual root pipeline may have been pruned.
      for (const id of [pipelineId, ...(parentId === undefined ? [] : [parentId])]) {
        const root = { instance, pipelineId: id }
        if (parts.isTraceOf(traceId, root)) return familyBelow(parts, root)
      }
    }
    return undefined
  })
}

/** Finds a pipeline by the ID of its span or of the span of one of its jobs. `before` is the cursor that the previous search returned as `next`. */
export async function searchSpan(parts: Parts, given: string, before?: RunCursor): Promise<FoundByIds> {
  const spanId = given.toLowerCase()
  return searchBack(parts, atOnce.snapshots, before, async keys => {
    const chunksOf = await parts.views.chunksOf(keys)
    const found = keys.find(({ id }) => chunksOf.get(id)?.some(chunk => parts.hasSpan(chunk, spanId)))
    return found && cardsOf(parts, found)
  })
}

/** Searches backwards in time until `find` finds something, all pipelines have been searched, or `maxSearch` has elapsed. */
async function searchBack(
  { views }: Parts,
  limit: number,
  before: RunCursor | undefined,
  find: (keys: readonly ListedKey[]) => Promise<readonly RunCard[] | undefined>,
): Promise<FoundByIds> {
  const began = performance.now()
  for (let from = before; ;) {
    const keys = await views.listedKeys(limit, from)
    const cards = await find(keys)
    const last = keys.at(-1)
    if (cards !== undefined || last === undefined || keys.length < limit) return { cards: cards ?? [] }
    from = { createdAt: last.createdAt, pipelineId: last.pipelineId }
    if (performance.now() - began > maxSearch) return { cards: [], next: from }
    await breathe()
  }
}

async function cardsOf({ runs, clock }: Parts, key: RunKey): Promise<RunCard[]> {
  const stored = await runs.get(key)
  return stored?.run.pipeline === undefined ? [] : [runCard(stored, clock)]
}

async function familyBelow(parts: Parts, root: RunKey): Promise<RunCard[]> {
  const cards = await cardsOf(parts, root)
  let generation = [root]
  for (let depth = 0; depth < maxGenerations && generation.length > 0 && cards.length < maxOfFamily; depth += 1) {
    const children = (await Promise.all(generation.map(async key => parts.views.children(key)))).flat()
    cards.push(...children.map(run => runCard(run, parts.clock)))
    generation = children.map(({ run }) => run.key)
  }
  return cards.slice(0, maxOfFamily)
}
