// What a rule would have flagged: judges the stored runs of one project, and writes nothing.
import { documentOf, withResolution } from './regression-document.ts'
import { judgeProject, type Judgement } from './judge-project.ts'
import { oneOfEach } from './one-of-each.ts'
import { likelyCause } from './likely-cause.ts'
import { day, type Rule } from './rule.ts'
import type { Judging } from './judging.ts'
import type { Millis } from '../../model/instant.ts'
import type { Regression } from './documents.ts'

interface Preview extends Pick<Judgement, 'pipelines' | 'backTo'> {
  readonly project: string
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
    const document = documentOf(group, likelyCause(main), main.episode.flagged.at)
    return document === undefined ? [] : withResolution(document, main)
  })
  return {
    ...{ project: project.project, pipelines, backTo },
    found: documents.sort((a, b) => b.first.at - a.first.at),
  }
}
