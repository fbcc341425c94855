// Fetches what is missing of one run, with as few requests as possible: jobs and bridges if a webhook reported the pipeline's end, and also the
// pipeline if it was found in a list. The answer is an observation.
import { allOf } from '../platform/rest/pages.ts'
import { observedRun, mergeRun, type Run } from '../model/run.ts'
import { isAtEnd, isOpen } from '../model/attempt.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import { normalizeRest } from '../platform/rest/normalize.ts'
import { PlatformError } from '../platform/rest/platform-error.ts'
import { versionOfField } from '../model/versioned.ts'
import type { DetailLevel } from '../store/ports/enrichment-queue.ts'
import type { CallOptions } from '../platform/rest/call.ts'
import type { Observation } from '../model/observation.ts'
import type { PlatformClient } from '../platform/rest/client.ts'
import type { RestBridge, RestJob } from '../platform/rest/schemas.ts'

export interface FetchOptions {
  readonly client: PlatformClient
  /** Ask for a TRACEPARENT variable too, where no webhook has shown it. */
  readonly traceparent: boolean
}

/** What was answered; undefined when there was nothing to ask. Rejects with a PlatformError. */
export async function fetchRun(
  run: Run,
  detail: DetailLevel,
  call: CallOptions,
  options: FetchOptions,
): Promise<Observation | undefined> {
  if (detail === 'family' || (detail === 'pipeline' && run.pipeline !== undefined)) return undefined
  const { key, project } = run
  const { instance, pipelineId } = key
  const { listedMergeRequest: mergeRequest } = run
  const listed = mergeRequest && { mergeRequest }
  const about = { instance, project: project.facts, extra: listed }
  if (detail === 'details' && isAtEnd(run)) {
    const details = await fetchDetails(run, call, options, bridgesAreListed(run))
    if (!mayBeMisconfigured(run, details)) return normalizeRest({ ...about, pipelineId, ...details })
    const pipeline = await options.client.pipeline(project.facts.id, pipelineId, call)
    return normalizeRest({ ...about, pipeline, ...details })
  }
  const pipeline = await options.client.pipeline(project.facts.id, pipelineId, call)
  const state = normalizeRest({ ...about, pipeline })
  const known = mergeRun(run, observedRun(state))
  if (!(detail === 'details' ? isOver(known) : isUnexported(known))) return state
  const details = await fetchDetails(known, call, options, false)
  const asks = options.traceparent && run.pipeline === undefined
  const traceparent = asks ? await traceparentOf(run, call, options.client) : undefined
  return normalizeRest({ ...about, pipeline, ...details, extra: { ...listed, ...(traceparent && { traceparent }) } })
}

/** A token without access to variables is fine: the traceparent is optional. */
async function traceparentOf(run: Run, call: CallOptions, client: PlatformClient): Promise<string | undefined> {
  try {
    return await client.pipelineTraceparent(run.project.facts.id, run.key.pipelineId, call)
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'forbidden') return undefined
    throw error
  }
}

async function fetchDetails(
  { key: { pipelineId }, project }: Run,
  call: CallOptions,
  { client }: FetchOptions,
  bridgesAreListed: boolean,
): Promise<{ jobs: RestJob[]; bridges: RestBridge[] }> {
  const { id } = project.facts
  return {
    jobs: await allOf(client.pipelineJobs(id, pipelineId, call)),
    bridges: bridgesAreListed ? [] : await allOf(client.pipelineBridges(id, pipelineId, call)),
  }
}

/** True if the newest webhook lists the bridges; an older list may be incomplete. */
function bridgesAreListed({ pipeline }: Run): boolean {
  return pipeline !== undefined && versionOfField(pipeline.record, 'bridgesAreListed') === pipeline.record.version
}

/** A pipeline that failed without any job probably has errors in its configuration, which only the pipeline itself reports. */
function mayBeMisconfigured(
  { pipeline, jobs }: Run,
  asked: { readonly jobs: readonly RestJob[]; readonly bridges: readonly RestBridge[] },
): boolean {
  const { status, yamlErrors } = pipeline?.record.facts ?? {}
  const hasJobs = jobs.size > 0 || asked.jobs.length > 0 || asked.bridges.length > 0
  return status === 'failed' && yamlErrors === undefined && !hasJobs
}

function isOver(run: Run): boolean {
  const status = run.pipeline?.record.facts.status ?? ''
  return isTerminal(status) || isBlocked(status)
}

/** True if it has ended, or is manual or scheduled, and this was not exported yet. */
function isUnexported(run: Run): boolean {
  const status = run.pipeline?.record.facts.status ?? ''
  return isOpen(run) && (isAtEnd(run) || (isBlocked(status) && run.attempts.length === 0))
}
