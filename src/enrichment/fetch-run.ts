// What is asked about one run, and no more: a pipeline whose end a webhook told costs its jobs and its bridges, one that was
// only noticed also itself. The answers come as observations.
import { allOf } from '../platform/rest/pages.ts'
import { observedRun, mergeRun, type Run } from '../model/run.ts'
import { isAtEnd, isOpen } from '../model/attempt.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import { normalizeRest } from '../platform/rest/normalize.ts'
import { PlatformError } from '../platform/rest/platform-error.ts'
import { versionOfField } from '../model/versioned.ts'
import type { DetailLevel } from '../store/ports/enrichment-queue.ts'
import type { CallOptions } from '../platform/rest/request.ts'
import type { Observation } from '../model/observation.ts'
import type { PlatformClient } from '../platform/rest/client.ts'
import type { RestBridge, RestJob } from '../platform/rest/schemas.ts'

export interface AskRunOptions {
  readonly client: PlatformClient
  /** Ask for a TRACEPARENT variable too, where no webhook has shown it. */
  readonly traceparent: boolean
}

/** What was answered; undefined when there was nothing to ask. Rejects with a PlatformError. */
export async function askAbout(
  run: Run,
  wants: DetailLevel,
  call: CallOptions,
  options: AskRunOptions,
): Promise<Observation | undefined> {
  if (wants === 'family' || (wants === 'pipeline' && run.pipeline !== undefined)) return undefined
  const { key, project } = run
  const { instance, pipelineId } = key
  const about = { instance, project: project.facts }
  if (wants === 'details' && isAtEnd(run)) {
    return normalizeRest({ ...about, pipelineId, ...(await askDetails(run, call, options, bridgesAreTold(run))) })
  }
  const pipeline = await options.client.pipeline(project.facts.id, pipelineId, call)
  const state = normalizeRest({ ...about, pipeline })
  const known = mergeRun(run, observedRun(state))
  if (!(wants === 'details' ? isOver(known) : isNews(known))) return state
  const details = await askDetails(known, call, options, false)
  const asks = options.traceparent && run.pipeline === undefined
  const traceparent = asks ? await traceparentOf(run, call, options.client) : undefined
  return normalizeRest({ ...about, pipeline, ...details, ...(traceparent && { besides: { traceparent } }) })
}

/** A token that may not read variables is no fault: they are an extra. */
async function traceparentOf(run: Run, call: CallOptions, client: PlatformClient): Promise<string | undefined> {
  try {
    return await client.pipelineTraceparent(run.project.facts.id, run.key.pipelineId, call)
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'forbidden') return undefined
    throw error
  }
}

async function askDetails(
  { key: { pipelineId }, project }: Run,
  call: CallOptions,
  { client }: AskRunOptions,
  bridgesAreTold: boolean,
): Promise<{ jobs: RestJob[]; bridges: RestBridge[] }> {
  const { id } = project.facts
  return {
    jobs: await allOf(client.pipelineJobs(id, pipelineId, call)),
    bridges: bridgesAreTold ? [] : await allOf(client.pipelineBridges(id, pipelineId, call)),
  }
}

/** By the very word of its end: what an earlier one told of bridges is old. */
function bridgesAreTold({ pipeline }: Run): boolean {
  return pipeline !== undefined && versionOfField(pipeline.record, 'bridgesAreListed') === pipeline.record.version
}

function isOver(run: Run): boolean {
  const status = run.pipeline?.record.facts.status ?? ''
  return isTerminal(status) || isBlocked(status)
}

/** It has ended, or waits, in a way that is not exported yet. */
function isNews(run: Run): boolean {
  const status = run.pipeline?.record.facts.status ?? ''
  return isOpen(run) && (isAtEnd(run) || (isBlocked(status) && run.attempts.length === 0))
}
