// Fetches the commits that a deployment to production brought, with a priority below all that pipelines need of the API.
import { PlatformError, type PlatformClient } from '../../platform/port.ts'
import type { Capabilities } from '../../core/complete/capability.ts'
import type { DeployedCommits, LeadTimeDefinition } from './model/deployment-figures.ts'
import type { ProjectFacts } from '../../model/observation.ts'

export type CommitsAnswer =
  | { readonly as: 'read'; readonly commits: DeployedCommits }
  /** The platform refuses, or does not have these commits: the deployment is counted without them. */
  | { readonly as: 'refused' }
  /** It may answer later. */
  | { readonly as: 'later'; readonly error: PlatformError }

/** Asks for the commits that `to` has and `from` has not. */
export type ReadCommits = (
  project: ProjectFacts,
  range: { readonly from: string; readonly to: string },
  call: { readonly signal: AbortSignal; readonly onSend: () => void },
) => Promise<CommitsAnswer>

/** Most pages of 100 commits. */
const maxPages = 5

export function createCommitsReading(
  client: Pick<PlatformClient, 'commits'>,
  capabilities: Capabilities,
  definition: LeadTimeDefinition,
): ReadCommits {
  return async (project, range, call) => {
    const asked = { what: 'commits', project: project.id, path: project.path } as const
    if (!(await capabilities.mayAsk(asked))) return { as: 'refused' }
    const times: number[] = []
    try {
      let pages = 0
      const query = { ...range, firstParent: definition === 'merge' }
      for await (const { items } of client.commits(project.id, query, { priority: 'inside', ...call })) {
        for (const { committedAt, authoredAt } of items) {
          const time = definition === 'authored' ? (authoredAt ?? committedAt) : committedAt
          if (time !== undefined) times.push(time)
        }
        pages += 1
        if (pages === maxPages) break
      }
      await capabilities.answered(asked)
      return { as: 'read', commits: { definition, times } }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      if (error.kind === 'forbidden' || error.kind === 'not-found') {
        await capabilities.refused(asked, error)
        return { as: 'refused' }
      }
      return error.passing || error.kind === 'unauthorized' ? { as: 'later', error } : { as: 'refused' }
    }
  }
}
