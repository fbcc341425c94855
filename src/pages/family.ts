// A pipeline's family: up to the pipeline that started it all, and down to whatever that triggered.
import { maxGenerations, parentOf } from '../model/family.ts'
import { runCard, type RunCard } from './run-card.ts'
import type { PagesSources } from './ports.ts'
import type { StoredRun } from '../store/ports/runs.ts'

export interface FamilyMember {
  readonly card: RunCard
  /** The parent's job or bridge that triggered it, where it is known. */
  readonly triggeredBy?: number | undefined
  readonly children: readonly FamilyMember[]
  /** Pipelines that it triggered and that are left out, since the family is too large. */
  readonly left: number
}

/** A larger family is cut off; its pipelines have pages of their own. */
const most = 60

/** The root with all below it, as far as the store knows them. */
export async function familyOf(parts: Pick<PagesSources, 'views' | 'runs'>, asked: StoredRun): Promise<FamilyMember> {
  let root = asked
  for (let generation = 0; generation < maxGenerations; generation += 1) {
    const parent = parentOf(root.run)
    if (parent === undefined) break
    const found = await parts.runs.get({ instance: root.run.key.instance, pipelineId: parent.pipelineId })
    if (found?.run.pipeline === undefined) break
    root = found
  }
  const seen = new Set<number>()
  const grow = async (run: StoredRun): Promise<FamilyMember> => {
    seen.add(run.run.key.pipelineId)
    const children: FamilyMember[] = []
    let left = 0
    for (const child of await parts.views.children(run.run.key)) {
      if (seen.has(child.run.key.pipelineId)) continue
      if (seen.size >= most) left += 1
      else children.push(await grow(child))
    }
    return { card: runCard(run), triggeredBy: parentOf(run.run)?.jobId, children, left }
  }
  return grow(root)
}

/** The root and all below, each once. */
export function membersOf(member: FamilyMember): FamilyMember[] {
  return [member, ...member.children.flatMap(membersOf)]
}
