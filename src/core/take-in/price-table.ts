// The configured prices of runner time. A job's rate comes from the first rule that matches the job.
import { projectGlobs, type PlatformOf } from '../../lib/chooser.ts'
import type { JobView } from '../../model/job.ts'
import type { Rate, RateOf } from '../../model/runner-time.ts'

export interface PriceRule extends Rate {
  readonly match: {
    /** The tags that the rule requires. The job must have all of them, as runner tags or as its own tags. */
    readonly tags?: readonly string[] | undefined
    readonly type?: string | undefined
    /** Glob patterns matched against the project's full path. */
    readonly project?: readonly string[] | undefined
  }
}

/** Returns the price table, or undefined if there are no rules, so that no job has a cost. */
export function createPriceTable(
  rules: readonly PriceRule[],
  platformOf: PlatformOf = () => undefined,
): RateOf | undefined {
  if (rules.length === 0) return undefined
  const ready = rules.map(rule => {
    const { tags = [], type, project = [] } = rule.match
    const isOfProject = projectGlobs(project, platformOf)
    const matches = (job: JobView, path: string | undefined, instance: string): boolean =>
      (type === undefined || job.runner?.type === type) &&
      tags.every(tag => hasTag(job, tag)) &&
      // A project with an unknown path matches no glob.
      (project.length === 0 || (path !== undefined && isOfProject(path, instance)))
    return { rule, matches }
  })
  return (job, { path }, instance = '') => ready.find(({ matches }) => matches(job, path, instance))?.rule
}

function hasTag({ runner, tags }: JobView, tag: string): boolean {
  return runner?.tags?.includes(tag) === true || tags?.includes(tag) === true
}
