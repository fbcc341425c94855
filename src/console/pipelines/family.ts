// A pipeline's family: the root pipeline, and everything that it triggered, directly or indirectly.
import { z } from 'zod'
import { maxGenerations, parentOf } from '../../model/family.ts'
import { runCard, runCardShape } from './run-card.ts'
import type { Shaped } from '../layout/shape.ts'
import type { PagesParts } from '../ports.ts'
import type { StoredRun } from '../../core/store/ports/runs.ts'

export const familyMemberShape = z
  .object({
    card: runCardShape,
    triggeredBy: z.number().optional(),
    get children() {
      return z.array(familyMemberShape)
    },
    left: z.number(),
  })
  .meta({ id: 'FamilyMember' })
export type FamilyMember = Shaped<typeof familyMemberShape>

/** How many pipelines of a family are shown. */
const maxMembers = 60

/** The root with all stored pipelines below it. */
export async function familyOf(
  parts: Pick<PagesParts, 'views' | 'runs' | 'clocks'>,
  asked: StoredRun,
): Promise<FamilyMember> {
  let root = asked
  for (let generation = 0; generation < maxGenerations; generation += 1) {
    const parent = parentOf(root.run)
    if (parent === undefined) break
    const found = await parts.runs.get({ instance: root.run.key.instance, pipelineId: parent.pipelineId })
    if (found?.run.pipeline === undefined) break
    root = found
  }
  const clock = await parts.clocks()
  const seen = new Set<number>()
  const grow = async (run: StoredRun): Promise<FamilyMember> => {
    seen.add(run.run.key.pipelineId)
    const children: FamilyMember[] = []
    let left = 0
    for (const child of await parts.views.children(run.run.key)) {
      if (seen.has(child.run.key.pipelineId)) continue
      if (seen.size >= maxMembers) left += 1
      else children.push(await grow(child))
    }
    return { card: runCard(run, clock), triggeredBy: parentOf(run.run)?.jobId, children, left }
  }
  return grow(root)
}

/** The member and all below it. */
export function membersOf(member: FamilyMember): FamilyMember[] {
  return [member, ...member.children.flatMap(membersOf)]
}
