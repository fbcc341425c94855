// The parts of the deployments feature that run in the daemon: one counter each for deployments, changes and incidents, the incident poller, and the
// table of the daemon's own metrics about them. Only the deployment counter and the poller send requests to the platform.
import { changes } from './sql/changes.ts'
import { clientWithin } from '../../core/find/poll-scope.ts'
import { countedChanges, countedIncidents, createOnceCounter, type Counting } from './counter.ts'
import { createCapabilities } from '../../core/complete/capability.ts'
import { createCommitsReading, createDeploymentCounter } from './deployment-counter.ts'
import { createIncidentPoller, incidentCursors, type IncidentPoller } from './incident-poller.ts'
import { deployments } from './sql/deployments.ts'
import { incidentReporter, incidents } from './sql/incidents.ts'
import { productionBy, type Deployment, type IsProduction } from './model/deployment.ts'
import { reportedIncident } from './model/incident.ts'
import { reportsBy } from '../../core/store/ports/reporter.ts'
import { addressBelow, nameOf, type Condition } from '../../model/condition.ts'
import type { DeploymentFigures } from './model/deployment-figures.ts'
import type { DeploymentOptions } from './options.ts'
import type { CountOf, Part, PartContext, TokenContext } from '../../daemon/feature.ts'

const why = (things: string): string => `${things} that were not counted yet are counted after the next start`

export const counters: readonly Part<DeploymentOptions>[] = [
  { why: why('deployments'), create: deploymentCounter },
  {
    why: why('changes'),
    create: (_, context) => createOnceCounter(countedChanges, context.store.on(changes), countingOf(context)),
  },
  {
    why: why('incidents'),
    create: (_, context) => createOnceCounter(countedIncidents, context.store.on(incidents), countingOf(context)),
  },
]

function deploymentCounter(options: DeploymentOptions, context: PartContext) {
  const isProduction = productionBy(options.production)
  const { refusedEndpoints } = context.store.repositories
  return createDeploymentCounter({
    ...{ ...countingOf(context), isProduction, deployments: context.store.on(deployments) },
    tokens: context.tokens().map(({ client, scope, territory, errors }) => ({
      ...{ territory, errors },
      readCommits: createCommitsReading(client, createCapabilities(refusedEndpoints, scope), options.leadTime),
    })),
    reports: (id, deployment, figures) => context.notifier.reports(ofDeployment(id, deployment, figures, isProduction)),
  })
}

function countingOf({ measure, queues, profile, events, clock, log }: PartContext): Counting {
  const to = queues.flatMap(({ signal, ...rest }) => (signal === 'metrics' ? [{ ...rest, signal }] : []))
  return { measure, to, profile, onCounted: () => events.pending.emit(), clock, log }
}

/** The tiers of environments where a failed deployment concerns only the author of a change. */
const personal: ReadonlySet<string | undefined> = new Set(['development', 'testing'])

/**
 * Returns the condition of a deployment's environment, which is `broken` if the deployment failed. `id` is the id of the deployment's row. Returns
 * undefined for environments in the development and testing tiers, unless they are production.
 */
function ofDeployment(
  id: number,
  { instance, project, job, event }: Deployment,
  figures: DeploymentFigures,
  isProduction: IsProduction,
): Condition | undefined {
  const { environment, tier, outcome, finishedAt } = figures
  if (personal.has(tier) && !isProduction({ environment, tier })) return undefined
  const isBroken = outcome === 'failed'
  const revision = job?.revision ?? event?.facts.revision
  const user = event?.facts.user ?? job?.user
  const of = revision === undefined ? '' : ` of ${revision.slice(0, 8)}`
  return {
    ...{ kind: 'deployments', instance, project, subject: environment, at: finishedAt },
    state: isBroken ? 'broken' : 'fixed',
    version: [Math.round(finishedAt), id],
    title: `${nameOf(project)}: ${isBroken ? `a deployment to ${environment} failed` : `${environment} is deployed again`}`,
    text: `The deployment${of}${user === undefined ? '' : ` by ${user}`} ${isBroken ? 'failed' : 'succeeded'}.`,
    url: job === undefined ? undefined : addressBelow(instance, project, `jobs/${job.span.jobId}`),
    details: {
      ...{ 'deployment.environment.name': environment, 'vcs.ref.head.revision': revision, 'user.name': user },
      'cicd.pipeline.task.run.id': job && String(job.span.jobId),
    },
  }
}

/** Returns the incident poller, or undefined if the configured events do not include issues. */
export function incidentPoller(_: unknown, context: TokenContext): IncidentPoller | undefined {
  const { config, client, territory, scope, store, taking, errors, leaseOf, clock, log } = context
  if (!config.events.includes('issue')) return undefined
  return createIncidentPoller({
    ...{ scope, errors, clock, log, cursors: store.repositories.of(incidentCursors), leases: store.leases },
    client: clientWithin(client, territory),
    name: leaseOf('incidents'),
    take: async found => {
      const reported = found
        .filter(({ project, instance }) => taking.selection.project(project.path, instance))
        .flatMap(one => reportedIncident(one) ?? [])
        .map(report => ({ report, countIn: taking.rules.wait }))
      if (reported.length > 0) await store.runs.transact([], { reports: reportsBy(incidentReporter, reported) })
    },
    interval: config.poll.interval,
  })
}

export const counts: readonly CountOf[] = [
  {
    ...{ name: 'pipespan.deployments', unit: '{deployment}' },
    description:
      "Deployments that ended: counted, skipped (neither success nor failure, or no environment), or counted without the platform's list of commits.",
    counter: {
      attribute: 'outcome',
      values: { counted: 'counted', passed_over: 'passedOver', without_commits: 'withoutCommits' },
    },
  },
  {
    ...{ name: 'pipespan.deployments.requests', unit: '{request}', counter: 'commitRequests' },
    description: 'Requests to the platform for the commits of deployments.',
  },
  {
    ...{ name: 'pipespan.changes', unit: '{change}' },
    description:
      'Changes (merge requests) that were counted: with their first `pipeline`, their first `approval`, their `merge`, their time in the merge `train`.',
    counter: {
      attribute: 'measure',
      values: { pipeline: 'pipeline', approval: 'approval', merge: 'merge', train: 'train' },
    },
  },
  {
    ...{ name: 'pipespan.incidents', unit: '{incident}' },
    description:
      'Incidents that were counted: once when they were `opened`, and once, with the time they were open, when they were `closed`.',
    counter: { attribute: 'measure', values: { opened: 'opened', closed: 'closed' } },
  },
  {
    ...{ name: 'pipespan.incidents.requests', unit: '{request}', counter: 'incidentRequests' },
    description: 'Requests to the platform for incidents that have changed.',
  },
]
