// Fetches what is missing of one run, with as few requests as possible: jobs and bridges if a webhook reported the pipeline's end, and also the
// pipeline if it was found in a list. The answer is an observation. A pipeline whose details are refused, or fail, is answered without them.
import { allOf } from '../platform/rest/pages.ts'
import { PlatformError, type CallOptions, type ErrorThrottle, type Page } from '../platform/port.ts'
import type { RestClient } from '../platform/rest/client.ts'
import { observedRun, mergeRun, type Run } from '../model/run.ts'
import { isAtEnd, isOpen } from '../model/attempt.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import { normalizeRest } from '../platform/rest/normalize.ts'
import { errorOfDetails } from '../platform/rest/error-messages.ts'
import { isFromRest } from '../model/pipeline.ts'
import { versionOfField } from '../model/versioned.ts'
import type { DetailLevel } from '../store/ports/enrichment-queue.ts'
import type { Capabilities } from './capability.ts'
import type { Observation } from '../model/observation.ts'
import type { RestBridge, RestJob } from '../platform/rest/schemas.ts'

export interface FetchOptions {
  readonly client: RestClient
  readonly capabilities: Capabilities
  readonly errors: Pick<ErrorThrottle, 'failed' | 'answered'>
  /** Ask for a TRACEPARENT variable too, where no webhook has shown it. */
  readonly traceparent: boolean
  /** Called with a pipeline that has ended before its details are fetched, so that its export waits for them no longer than the deadline. */
  readonly onEnd: (state: Observation) => Promise<void>
}

export interface Fetched {
  /** Undefined: there was nothing to ask. */
  readonly observation?: Observation | undefined
  /** Why jobs, bridges or the traceparent are missing. `refused`: by this project, which is remembered. `cut`: there are more than are read. */
  readonly missing?: PlatformError | 'refused' | 'cut' | undefined
}

/** Rejects with a PlatformError if the pipeline itself is not answered. */
export async function fetchRun(
  run: Run,
  detail: DetailLevel,
  call: CallOptions,
  options: FetchOptions,
): Promise<Fetched> {
  if (detail === 'family' || (detail === 'pipeline' && run.pipeline !== undefined)) return {}
  const { client } = options
  const { key, project } = run
  const { instance, pipelineId } = key
  const { listedMergeRequest: mergeRequest } = run
  const listed = mergeRequest && { mergeRequest }
  const about = { instance, project: project.facts, pipelineId, extra: listed }
  const askPipeline = async () => client.pipeline(project.facts.id, pipelineId, call)
  const isEndKnown = detail === 'details' && isAtEnd(run)
  let pipeline = isEndKnown ? undefined : await askPipeline()
  let known = run
  if (pipeline !== undefined) {
    const state = normalizeRest({ ...about, pipeline })
    known = mergeRun(run, observedRun(state))
    if (!(detail === 'details' ? isOver(known) : isUnexported(known))) return { observation: state }
    if (isAtEnd(known)) await options.onEnd(state)
  }
  const details = await fetchDetails(known, askPipeline, call, options, isEndKnown && bridgesAreListed(run))
  let { missing } = details
  if (pipeline === undefined && missing === undefined && mayBeMisconfigured(run, details))
    pipeline = await askPipeline()
  let traceparent: string | undefined
  if ((missing === undefined || missing === 'cut') && options.traceparent && mayHaveTraceparent(run)) {
    const asked = await traceparentOf(run, call, client)
    if (asked instanceof PlatformError) missing = asked
    else traceparent = asked
  }
  const { jobs, bridges } = details
  const observation = normalizeRest({
    ...{ ...about, pipeline, jobs, bridges },
    extra: { ...listed, ...(traceparent !== undefined && { traceparent }) },
  })
  return { observation, missing }
}

function mayHaveTraceparent({ attempts, pipeline }: Run): boolean {
  return attempts.length === 0 && (pipeline === undefined || isFromRest(pipeline.record.version))
}

/** A token without access to variables is fine: the traceparent is optional. An error if it may be answered later. */
async function traceparentOf(
  run: Run,
  call: CallOptions,
  client: RestClient,
): Promise<string | PlatformError | undefined> {
  try {
    return await client.pipelineTraceparent(run.project.facts.id, run.key.pipelineId, call)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return error.passing ? error : undefined
  }
}

interface Listed<T> extends Pick<Fetched, 'missing'> {
  readonly items: readonly T[]
}

/** Each list by itself: a token may read the one and not the other. `askPipeline` rejects if the pipeline was deleted. */
async function fetchDetails(
  run: Run,
  askPipeline: () => Promise<unknown>,
  call: CallOptions,
  { client, capabilities, errors }: FetchOptions,
  bridgesAreListed: boolean,
): Promise<{ jobs: readonly RestJob[]; bridges: readonly RestBridge[] } & Pick<Fetched, 'missing'>> {
  const { id, path } = run.project.facts
  const { pipelineId } = run.key

  async function list<T>(what: 'jobs' | 'bridges', pages: () => AsyncIterable<Page<T>>): Promise<Listed<T>> {
    const asked = { what, project: id, path }
    const subject = `${what} of project ${path ?? id}`
    if (!(await capabilities.mayAsk(asked))) return { items: [], missing: 'refused' }
    try {
      const { items, left } = await allOf(pages())
      await capabilities.answered(asked)
      errors.answered(subject)
      return { items, missing: left > 0 ? 'cut' : undefined }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      if (error.kind !== 'forbidden' && error.kind !== 'not-found') return { items: [], missing: error }
      // A pipeline that was deleted answers 404 too, to everything.
      if (error.kind === 'not-found') await askPipeline()
      const refusal = errorOfDetails(what, error)
      await capabilities.refused(asked, refusal)
      errors.failed(subject, refusal)
      return { items: [], missing: 'refused' }
    }
  }

  const { items: jobs, missing } = await list('jobs', () => client.pipelineJobs(id, pipelineId, call))
  // What failed for the jobs would fail for the bridges too.
  if (bridgesAreListed || missing instanceof PlatformError) return { jobs, bridges: [], missing }
  const bridges = await list('bridges', () => client.pipelineBridges(id, pipelineId, call))
  return { jobs, bridges: bridges.items, missing: bridges.missing ?? missing }
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
