// What people may be notified about, as conditions: the table of titles, sentences and details. Pure.
import { branchClassOf } from '../../model/pipeline.ts'
import { carriesPipeline, type Chunk } from '../../model/chunk.ts'
import { hasFailed, hasSucceeded } from '../../model/status.ts'
import { ownInstance, tokenNotice, type Condition } from '../../model/condition.ts'
import type { Deployment, IsProduction } from '../../model/deployment.ts'
import type { DeploymentFigures } from '../../model/deployment-figures.ts'
import type { FlakyTest } from '../../model/job-tests.ts'
import type { Millis } from '../../model/instant.ts'
import type { PlatformEvent } from '../../model/event.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { Regression } from '../../core/store/ports/regression-documents.ts'

/** The result of a pipeline of the default branch. Not of child pipelines, whose results are part of their parents', and of none that was canceled or skipped. */
export function ofDefaultBranch(chunk: Chunk): Condition | undefined {
  const { key, project, attempt, pipeline } = chunk
  const { facts, end, verdict } = pipeline
  const { status, ref = '', sha, source, url, user, name } = facts
  const isOver = !pipeline.incomplete && (hasFailed(status) || hasSucceeded(status))
  if (!carriesPipeline(chunk) || !isOver || source === 'parent_pipeline') return undefined
  if (branchClassOf(facts, project) !== 'default') return undefined
  const isBroken = hasFailed(status)
  return {
    ...{ kind: 'default-branch', instance: key.instance, project, subject: ref, at: end, url },
    state: isBroken ? 'broken' : 'fixed',
    // As on the platform, a retry of an older pipeline does not make it the newest.
    version: [key.pipelineId, attempt],
    title: `${nameOf(project)}: ${ref} ${isBroken ? 'is broken' : 'works again'}`,
    text: `Pipeline ${key.pipelineId} ${isBroken ? (verdict ?? 'failed') : 'succeeded'}.`,
    details: {
      ...{ 'cicd.pipeline.run.id': String(key.pipelineId), 'cicd.pipeline.name': name, 'vcs.ref.head.name': ref },
      ...{ 'vcs.ref.head.revision': sha, 'user.name': user?.username },
    },
  }
}

/** Environments where a failure concerns nobody but the author of a change. */
const personal: ReadonlySet<string | undefined> = new Set(['development', 'testing'])

/** `id`: of the stored deployment. Undefined for an environment of tier development or testing that is not production. */
export function ofDeployment(
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
    url: job === undefined ? undefined : below(instance, project, `jobs/${job.span.jobId}`),
    details: {
      ...{ 'deployment.environment.name': environment, 'vcs.ref.head.revision': revision, 'user.name': user },
      'cicd.pipeline.task.run.id': job && String(job.span.jobId),
    },
  }
}

/** `sentence`: what became worse, or was. */
export function ofRegression(regression: Regression, which: 'detected' | 'resolved', sentence: string): Condition {
  const { instance, projectId, project, webUrl, id, resolved, flagged, cause, first } = regression
  const isOver = which === 'resolved'
  return {
    ...{ kind: 'regressions', instance, project: { id: projectId, path: project, webUrl }, subject: id },
    ...{ state: isOver ? 'fixed' : 'broken', version: [isOver ? 1 : 0] },
    at: ((isOver ? resolved : undefined) ?? flagged).at,
    title: `${project}: ${sentence}`,
    text: isOver ? undefined : `Since pipeline ${first.pipelineId}: ${cause}`,
    url: first.url,
    details: {
      ...{ 'platform.cicd.regression.id': id, 'platform.cicd.regression.kind': regression.kind },
      ...{ 'cicd.pipeline.task.name': regression.job || undefined, 'cicd.pipeline.run.id': String(first.pipelineId) },
    },
  }
}

/** A test that failed and passed on the same code. It is never over: a test that passes may still be flaky. */
export function ofFlakyTests(
  { key, project }: Chunk,
  { id, name = '', end }: FlakyJob,
  tests: readonly FlakyTest[],
): Condition[] {
  return tests.map(({ suite, name: test, within }) => ({
    ...{ kind: 'flaky-tests', instance: key.instance, project, subject: JSON.stringify([suite, test]), at: end },
    ...{ state: 'broken', version: [Math.round(end)] },
    title: `${nameOf(project)}: test ${test} is flaky`,
    text: `It failed and passed ${within === 'report' ? 'in one run of' : 'on the same revision in'} job ${name}.`,
    url: below(key.instance, project, `jobs/${id}`),
    details: {
      ...{ 'test.case.name': test, 'test.suite.name': suite, 'cicd.pipeline.task.name': name },
      'cicd.pipeline.task.run.id': String(id),
    },
  }))
}

interface FlakyJob {
  readonly id: number
  readonly name?: string | undefined
  readonly end: Millis
}

const day = 86_400_000
/** An access token of a project or group that the platform announces. Each expiry is announced once; nothing reports that a token was replaced. */
export function ofAnnouncedToken(event: PlatformEvent, receivedAt: Millis): Condition | undefined {
  if (event.kind !== 'access_token') return undefined
  const { instance, project, group, attributes, object } = event
  const expires = String(attributes['platform.access_token.expires_at'] ?? '')
  const expiresAt = Date.parse(expires)
  // It is announced at the beginning of a day.
  if (!(expiresAt - receivedAt <= tokenNotice + day)) return undefined
  const name = String(attributes['platform.access_token.name'] ?? '')
  return {
    ...{ kind: 'tokens', instance, project, group, subject: `${object} ${expires}`, at: event.at ?? receivedAt },
    ...{ state: 'broken', version: [Math.round(receivedAt)] },
    title: `${project === undefined ? (group ?? instance) : nameOf(project)}: access token ${name} expires on ${expires}`,
    details: { 'platform.access_token.name': name, 'platform.access_token.expires_at': expires },
  }
}

export function ofDeadLetters(destination: string, dead: number, now: Millis): Condition {
  const isBroken = dead > 0
  return {
    ...{ kind: 'dead-letters', instance: ownInstance, subject: destination, at: now, version: [Math.round(now)] },
    state: isBroken ? 'broken' : 'fixed',
    title: isBroken
      ? `Destination ${destination} refused ${dead === 1 ? 'an export' : `${dead} exports`} for good`
      : `Destination ${destination} has no refused exports any more`,
    text: isBroken ? 'The page of exports and pipespan dead-letters list show its answers.' : undefined,
    details: { destination },
  }
}

function nameOf({ path, name, id }: ProjectFacts): string {
  return path ?? name ?? String(id)
}

function below(instance: string, { webUrl, path }: ProjectFacts, rest: string): string | undefined {
  const project = webUrl?.replace(/\/+$/, '') ?? (path === undefined ? undefined : `${instance}/${path}`)
  return project === undefined ? undefined : `${project}/-/${rest}`
}
