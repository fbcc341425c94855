// Jobs, as pipeline events list them and as job events spell them out, in the model's words.
import { anyKnown, known } from './known.ts'
import type { HookEnvironment, HookJob, HookRunner, HookUser, JobHook } from './hook-payload.ts'
import type { Environment, HeardJob, JobFacts, Person, Runner } from '../model/observation.ts'

/** A job or bridge of a pipeline event. */
export function normalizeHookJob(job: HookJob, kind: JobFacts['kind']): HeardJob {
  return {
    id: job.id,
    facts: known({
      kind,
      status: job.status,
      name: job.name,
      stage: job.stage,
      duration: job.duration,
      queuedDuration: job.queued_duration,
      manual: job.manual,
      allowFailure: job.allow_failure,
      failureReason: failureReasonOf(job.status, job.failure_reason),
      when: job.when,
      user: personOf(job.user),
      runner: runnerOf(job.runner),
      artifacts: job.artifacts_file && known(job.artifacts_file),
      environment: environmentOf(job.environment),
      downstream: downstreamOf(job.downstream_pipeline),
    }),
    times: known({ createdAt: job.created_at, startedAt: job.started_at, finishedAt: job.finished_at }),
  }
}

/** The one job of a job event. Bridges send none. */
export function normalizeJobEvent(hook: JobHook): HeardJob {
  return {
    id: hook.build_id,
    facts: known({
      kind: 'job' as const,
      status: hook.build_status,
      name: hook.build_name,
      stage: hook.build_stage,
      duration: hook.build_duration,
      queuedDuration: hook.build_queued_duration,
      allowFailure: hook.build_allow_failure,
      failureReason: failureReasonOf(hook.build_status, hook.build_failure_reason),
      user: personOf(hook.user),
      runner: runnerOf(hook.runner),
      environment: environmentOf(hook.environment),
    }),
    times: known({
      createdAt: hook.build_created_at ?? hook.build_created_at_iso,
      startedAt: hook.build_started_at ?? hook.build_started_at_iso,
      finishedAt: hook.build_finished_at ?? hook.build_finished_at_iso,
    }),
  }
}

function downstreamOf(pipeline: HookJob['downstream_pipeline']): JobFacts['downstream'] {
  return pipeline && known({ pipelineId: pipeline.id, projectId: pipeline.project_id })
}

/** Who it was, undefined when neither id nor name is told. */
export function personOf(user: HookUser | undefined): Person | undefined {
  return user && anyKnown({ id: user.id, username: user.username })
}

/** Job events give `unknown_failure` whatever the outcome. */
function failureReasonOf(status: string, reason: string | undefined): string | undefined {
  return status === 'failed' ? reason : undefined
}

function runnerOf(runner: HookRunner | undefined): Runner | undefined {
  if (runner === undefined) return undefined
  const { id, description, tags, runner_type: type, active, is_shared: isShared } = runner
  return known({ id, description, tags, type, active, isShared })
}

function environmentOf(environment: HookEnvironment | undefined): Environment | undefined {
  if (environment === undefined) return undefined
  const { name, action, deployment_tier: deploymentTier } = environment
  return known({ name, action, deploymentTier })
}
