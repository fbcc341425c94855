// What is known here of what could be fixed: jobs that always fail, and superseded pipelines.
import { addressWith } from '../../../console/layout/address.ts'
import { costsIn } from '../cost/sql.ts'
import { number } from '../../../console/layout/format.ts'
import { day, type TrendTotal } from '../counting/figures.ts'
import { trendsIn } from '../reading/sql.ts'
import type { FixSource, FoundFix } from '../../../console/overview/fix-source.ts'

/** A job with fewer failures may only be new; one with a smaller share passes sometimes. */
const always = { failures: 5, share: 0.9 }
/** How many jobs and projects are read, the most expensive of each. */
const maxRead = { failing: 50, projects: 500 }

export const ownSources: readonly FixSource[] = [
  {
    kind: 'failing',
    read: async (parts, since, until) => {
      const jobs = await trendsIn(parts).jobs('failing', { step: day, since, until }, maxRead.failing)
      return jobs
        .filter(({ runs, failed }) => failed >= always.failures && failed >= runs * always.share)
        .map(failingJob)
    },
  },
  {
    kind: 'superseded',
    read: async (parts, since, until) => {
      const projects = await costsIn(parts).lines('project', { since, until }, maxRead.projects)
      return projects.map(({ projectId, project, wasted: { superseded } }) => ({
        ...{ subject: 'Superseded pipelines', project, weekMs: superseded.totalMs, cost: superseded.cost },
        why: 'Jobs ran for pipelines that were canceled because their branch had a newer one.',
        path: addressWith('/cost', { project: projectId }),
      }))
    },
  },
]

function failingJob({ projectId, project, job, runs, failed, totalMs }: TrendTotal): FoundFix {
  return {
    ...{ subject: job, project, of: { projectId, job }, weekMs: (totalMs * failed) / runs },
    why: `Failed in ${failed === runs ? `all ${number(runs)}` : `${number(failed)} of ${number(runs)}`} runs.`,
    path: addressWith('/trends', { project: projectId, job }),
  }
}
