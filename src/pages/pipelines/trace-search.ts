// Finds the pipelines of a trace. Trace ids are not stored: each is derived from the root pipeline's id. So the ids of stored pipelines
// are derived again and compared, newest first.
import { maxGenerations } from '../../model/family.ts'
import { runCard } from './run-card.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import type { Millis } from '../../model/instant.ts'
import type { PagesParts } from '../ports.ts'
import type { RunCard } from './run-card.ts'
import type { RunKey } from '../../model/observation.ts'

/** How long is searched for one page, ms, and how many pipelines before the event loop gets a turn. A thousand take about a millisecond. */
const looked = { longest: 100, atOnce: 5_000 }
/** How many pipelines of a trace are shown. */
const mostOfFamily = 60

/** By an id of a trace or of a span. */
export interface FoundByIds {
  /** Of a trace: the root pipeline if it is stored, and those that it triggered. */
  readonly cards: readonly RunCard[]
  /** Set if the search stopped early: where to continue, and back to when it has searched. */
  readonly next?: { readonly id: number; readonly createdAt: Millis } | undefined
}

export function isTraceId(text: string | undefined): text is string {
  return /^[0-9a-f]{32}$/i.test(text ?? '') && !/^0+$/.test(text ?? '')
}

/** `before`: the `next.id` of the previous search. */
export async function searchTrace(
  parts: Pick<PagesParts, 'views' | 'runs' | 'isTraceOf'>,
  given: string,
  before?: number,
): Promise<FoundByIds> {
  const traceId = given.toLowerCase()
  const isOf = (key: RunKey): boolean => parts.isTraceOf(traceId, key)
  let from = before
  const began = performance.now()
  for (;;) {
    const keys = await parts.views.listedKeys(looked.atOnce, from)
    for (const { instance, pipelineId, parentId } of keys) {
      if (isOf({ instance, pipelineId })) return { cards: await familyBelow(parts, { instance, pipelineId }) }
      // The root may have been pruned.
      if (parentId === undefined || !isOf({ instance, pipelineId: parentId })) continue
      return { cards: await familyBelow(parts, { instance, pipelineId: parentId }) }
    }
    const last = keys.at(-1)
    if (last === undefined || keys.length < looked.atOnce) return { cards: [] }
    from = last.id
    if (performance.now() - began > looked.longest)
      return { cards: [], next: { id: last.id, createdAt: last.createdAt } }
    await breathe()
  }
}

async function familyBelow({ views, runs }: Pick<PagesParts, 'views' | 'runs'>, root: RunKey): Promise<RunCard[]> {
  const stored = await runs.get(root)
  const cards = stored?.run.pipeline === undefined ? [] : [runCard(stored)]
  let generation = [root]
  for (let depth = 0; depth < maxGenerations && generation.length > 0 && cards.length < mostOfFamily; depth += 1) {
    const children = (await Promise.all(generation.map(async key => views.children(key)))).flat()
    cards.push(...children.map(runCard))
    generation = children.map(({ run }) => run.key)
  }
  return cards.slice(0, mostOfFamily)
}
