// Which pipelines a trace has. Ids of traces are derived from the number of the pipeline that began it: they are not stored, but made
// again from the numbers of the pipelines that are, the last to be stored first.
import { maxGenerations } from '../model/family.ts'
import { runCard } from './run-card.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import type { Millis } from '../model/instant.ts'
import type { PagesParts } from './ports.ts'
import type { RunCard } from './run-card.ts'
import type { RunKey } from '../model/observation.ts'

/** Looked at for one page, and between two breaths: about a millisecond for a thousand of them. */
const looked = { most: 200_000, atOnce: 5_000 }
/** A larger family is cut off. */
const mostOfFamily = 60

export interface FoundTrace {
  /** The pipeline that began it, where it is stored, and those that it triggered. */
  readonly cards: readonly RunCard[]
  /** Set where no more were looked at: the place to go on from, and up to when all were. */
  readonly next?: { readonly id: number; readonly createdAt: Millis } | undefined
}

export function isTraceId(text: string | undefined): text is string {
  return /^[0-9a-f]{32}$/i.test(text ?? '') && !/^0+$/.test(text ?? '')
}

/** `before`: where the search before this one ended. */
export async function searchTrace(
  parts: Pick<PagesParts, 'views' | 'runs' | 'isTraceOf'>,
  given: string,
  before?: number,
): Promise<FoundTrace> {
  const traceId = given.toLowerCase()
  const isOf = (key: RunKey): boolean => parts.isTraceOf(traceId, key)
  let from = before
  for (let count = 0; count < looked.most; count += looked.atOnce) {
    const keys = await parts.views.listedKeys(looked.atOnce, from)
    for (const { instance, pipelineId, parentId } of keys) {
      if (isOf({ instance, pipelineId })) return { cards: await familyBelow(parts, { instance, pipelineId }) }
      // The pipeline that began it may have been pruned.
      if (parentId === undefined || !isOf({ instance, pipelineId: parentId })) continue
      return { cards: await familyBelow(parts, { instance, pipelineId: parentId }) }
    }
    const last = keys.at(-1)
    if (last === undefined || keys.length < looked.atOnce) return { cards: [] }
    from = last.id
    if (count + looked.atOnce >= looked.most) return { cards: [], next: { id: last.id, createdAt: last.createdAt } }
    await breathe()
  }
  return { cards: [] }
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
