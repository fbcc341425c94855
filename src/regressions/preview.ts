// What a rule would have flagged: judges the stored runs of one project, and writes nothing.
import { documentOf, pipelineOf } from './regression-document.ts'
import { judgeProject } from './judge-project.ts'
import { oneOfEach } from './one-of-each.ts'
import { likelyCause } from './likely-cause.ts'
import { day, type Rule } from './rule.ts'
import type { Judging } from '../store/ports/judging.ts'
import type { Millis } from '../model/instant.ts'
import type { Regression } from '../store/ports/regression-documents.ts'

export interface Preview {
  readonly project: string
  /** How many of its pipelines were read, and when the oldest of them ended. */
  readonly pipelines: number
  readonly backTo?: Millis | undefined
  /** The newest first. */
  readonly found: readonly Regression[]
}

/** Undefined for a project without figures of the last 30 days. Reads a limited number of pipelines. `sections`: also judges sections of jobs. */
export async function previewRegressions(
  judging: Judging,
  projectId: number,
  { rule, sections }: { readonly rule: Rule; readonly sections: boolean },
  now: Millis,
): Promise<Preview | undefined> {
  const project = (await judging.projects(now - 30 * day)).find(one => one.projectId === projectId)
  if (project === undefined) return undefined
  const { found, pipelines, backTo } = await judgeProject(judging, project, now, { rule, sections, everything: true })
  const documents = oneOfEach(found).flatMap(group => {
    const { main } = group
    const { resolved, flagged } = main.episode
    const document = documentOf(group, likelyCause(main), flagged.at)
    if (document === undefined || resolved === undefined) return document ?? []
    const pipelineId = pipelineOf(main, resolved.by) ?? document.flagged.pipelineId
    const over = { pipelineId, at: resolved.by.at, how: resolved.how, resolvedAt: resolved.by.at }
    return { ...document, resolved: over }
  })
  return {
    ...{ project: project.project, pipelines, backTo },
    found: documents.sort((a, b) => b.first.at - a.first.at),
  }
}
