// Facts about a job that lists do not show: runner, cost, failure domain, slack.
import { viewJob, type Job } from '../../model/job.ts'
import type { FailureDomain, PagesSettings, PagesSources } from '../ports.ts'
import type { JobSnapshot } from '../../model/chunk.ts'

export interface JobAbout {
  /** Who can fix its failure. */
  readonly failureDomain?: FailureDomain | undefined
  readonly startedBy?: string | undefined
  readonly runnerType?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly environment?: string | undefined
  /** Percent. */
  readonly coverage?: number | undefined
  /** Computed from the price table. */
  readonly cost?: { readonly amount: number; readonly unit: string; readonly rate?: string | undefined } | undefined
  /** Whether it is on the critical path of its attempt. */
  readonly critical?: boolean | undefined
  /** How much later it could have ended without delaying the pipeline's end, ms. */
  readonly slackMs?: number | undefined
}

interface Known {
  readonly known: Job
  /** Its snapshots, one for each of its runs. */
  readonly snapshots: readonly JobSnapshot[]
}

export function aboutOf(
  { known, snapshots }: Known,
  { failureDomain }: Pick<PagesSources, 'failureDomain'>,
  { costUnit = 'min' }: Pick<PagesSettings, 'costUnit'>,
): JobAbout {
  const job = viewJob(known)
  const last = snapshots.at(-1)
  return {
    failureDomain: job.status === 'failed' ? failureDomain(job.failureReason) : undefined,
    startedBy: job.user?.username,
    runnerType: job.runner?.type,
    tags: job.runner?.tags ?? job.tags,
    environment: job.environment?.name,
    coverage: job.coverage,
    cost: last?.cost === undefined ? undefined : { amount: last.cost, unit: costUnit, rate: last.rate },
    critical: last?.critical,
    slackMs: last?.slack,
  }
}
