// Fetches the missing data of one run with as few requests as possible: jobs and bridges if a webhook reported the pipeline's end, and also the
// pipeline itself if it was found in a list. The result is an observation. If the platform rejects the requests for a pipeline's details, or those
// requests fail, the observation lacks the details.
import {
  PlatformError,
  type CallOptions,
  type ErrorThrottle,
  type PipelineAnswers,
  type PlatformClient,
} from '../../platform/port.ts'
import { lastAttempt, observedRun, mergeRun, type Run } from '../../model/run.ts'
import { isAtEnd, isOpen } from '../../model/attempt.ts'
import { isBlocked, isTerminal, hasFailed } from '../../model/status.ts'
import { isFromRest } from '../../model/pipeline.ts'
import { newestSecondOf, versionOfField } from '../../model/versioned.ts'
import type { DetailLevel } from '../store/ports/enrichment-queue.ts'
import type { Capabilities } from './capability.ts'
import type { MergeRequest, Observation } from '../../model/observation.ts'

export interface FetchOptions {
  readonly client: Pick<PlatformClient, 'about'>
  readonly capabilities: Capabilities
  readonly errors: Pick<ErrorThrottle, 'failed' | 'answered'>
  /** Whether to request the TRACEPARENT variable too, if no webhook has reported it. */
  readonly traceparent: boolean
  /** Whether to request the jobs and bridges of a pipeline that has not ended and whose jobs no webhook reports. Default: false. */
  readonly activeDetails?: boolean | undefined
  /**
   * Whether rules for attributes need the labels of merge requests and the variables of pipelines. They are requested unless a webhook has reported
   * them.
   */
  readonly wants: { readonly labels: boolean; readonly variables: boolean }
  /** Called with a pipeline that has ended, before its details are fetched, so that its export waits for them no longer than the deadline. */
  readonly onEnd: (state: Observation) => Promise<void>
}

export interface Fetched {
  /** The fetched data; undefined if there was nothing to request. */
  readonly observation?: Observation | undefined
  /**
   * Why jobs, bridges or the traceparent are missing. `refused`: the platform rejects requests for them in this project, which is recorded. `cut`:
   * the list exceeds the maximum number of items that are read.
   */
  readonly missing?: PlatformError | 'refused' | 'cut' | undefined
}

/** Fetches the missing data of a run. Rejects with a PlatformError if the platform does not return the pipeline itself. */
export async function fetchRun(
  run: Run,
  detail: DetailLevel,
  call: CallOptions,
  options: FetchOptions,
): Promise<Fetched> {
  if (detail === 'family' || (detail === 'pipeline' && run.pipeline !== undefined)) return {}
  const { key, project, listedMergeRequest: mergeRequest } = run
  const answers = options.client.about({ pipelineId: key.pipelineId, project: project.facts, mergeRequest })
  // A pipeline known from a list is requested too, because the list does not prove that it has ended, and lacks some of its facts.
  const isEndKnown = detail === 'details' && isAtEnd(run) && run.listed === undefined
  let known = run
  if (!isEndKnown) {
    await answers.ask('pipeline', call)
    const state = answers.observation()
    known = mergeRun(run, observedRun(state))
    if (!(detail === 'details' ? isOver(known) : isUnexported(known))) {
      // If details of an active pipeline are missing now, they are requested again when the pipeline has ended.
      if (options.activeDetails === true && !isOver(known)) await askDetails(known, answers, call, options, false)
      return { observation: answers.observation() }
    }
    if (isAtEnd(known)) await options.onEnd(state)
  }
  let missing = await askDetails(known, answers, call, options, isEndKnown && bridgesAreListed(run))
  if (isEndKnown && missing === undefined && mayBeMisconfigured(run, answers)) await answers.ask('pipeline', call)
  const { traceparent, wants } = options
  const change = wants.labels ? unlabelledChange(known) : undefined
  const optional = [
    ...(traceparent && mayHaveVariables(run) ? [async () => answers.ask('traceparent', call)] : []),
    ...(wants.variables && mayHaveVariables(run) ? [async () => answers.ask('variables', call)] : []),
    ...(change === undefined ? [] : [async () => answers.askLabels(change, call)]),
  ]
  for (const ask of optional) {
    if (missing === undefined || missing === 'cut') missing = (await askOptional(answers, call, ask)) ?? missing
  }
  return { observation: answers.observation(), missing }
}

function mayHaveVariables({ attempts, pipeline }: Run): boolean {
  return attempts.length === 0 && (pipeline === undefined || isFromRest(pipeline.record.version))
}

/** Returns the merge request of the run if its labels are not known yet. */
function unlabelledChange({ pipeline }: Run): MergeRequest | undefined {
  const { mergeRequest, labels } = pipeline?.record.facts ?? {}
  return labels === undefined ? mergeRequest : undefined
}

/**
 * Requests variables and labels. They are optional, because a token may lack the permission to read them. Returns an error if a later request may
 * succeed.
 */
async function askOptional(
  answers: PipelineAnswers,
  call: CallOptions,
  ask: () => Promise<unknown>,
): Promise<PlatformError | undefined> {
  try {
    // Variables and labels are stored with the pipeline, so the pipeline is also requested, unless this fetch has requested it already.
    if (answers.observation().pipeline === undefined) await answers.ask('pipeline', call)
    await ask()
    return undefined
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return error.passing ? error : undefined
  }
}

/** Requests the jobs and the bridges separately, because a token may be allowed to read only one of the two lists. */
async function askDetails(
  run: Run,
  answers: PipelineAnswers,
  call: CallOptions,
  { capabilities, errors }: FetchOptions,
  bridgesAreListed: boolean,
): Promise<Fetched['missing']> {
  const { id, path } = run.project.facts

  async function list(what: 'jobs' | 'bridges'): Promise<Fetched['missing']> {
    const asked = { what, project: id, path }
    const subject = `${what} of project ${path ?? id}`
    if (!(await capabilities.mayAsk(asked))) return 'refused'
    try {
      const isWhole = await answers.ask(what, call)
      await capabilities.answered(asked)
      errors.answered(subject)
      return isWhole ? undefined : 'cut'
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      if (error.kind !== 'forbidden' && error.kind !== 'not-found') return error
      // The platform also responds with 404 if the whole pipeline was deleted. In that case, this request for the pipeline itself throws.
      if (error.kind === 'not-found') await answers.ask('pipeline', call)
      await capabilities.refused(asked, error)
      errors.failed(subject, error)
      return 'refused'
    }
  }

  const missing = await list('jobs')
  // A request for the bridges would fail with the same error as the request for the jobs.
  if (bridgesAreListed || missing instanceof PlatformError) return missing
  return (await list('bridges')) ?? missing
}

/** True if the newest webhook lists the bridges. The list in an older webhook may be incomplete. */
function bridgesAreListed({ pipeline }: Run): boolean {
  return pipeline !== undefined && versionOfField(pipeline.record, 'bridgesAreListed') === pipeline.record.version
}

/** If a pipeline failed without any job, its configuration probably has errors. Only the pipeline itself reports them. */
function mayBeMisconfigured({ pipeline, jobs }: Run, answers: PipelineAnswers): boolean {
  const { status, yamlErrors } = pipeline?.record.facts ?? {}
  return hasFailed(status) && yamlErrors === undefined && jobs.size === 0 && answers.observation().jobs.length === 0
}

function isOver(run: Run): boolean {
  const status = run.pipeline?.record.facts.status ?? ''
  return isTerminal(status) || isBlocked(status)
}

/** True if the pipeline has ended, or is manual or scheduled, and this state has not been exported yet. */
function isUnexported(run: Run): boolean {
  const { record } = run.pipeline ?? {}
  if (record === undefined || !isBlocked(record.facts.status)) return isOpen(run) && isAtEnd(run)
  // Only the jobs of a blocked pipeline show whether it has run on since its last snapshot.
  const last = lastAttempt(run)
  return last === undefined || newestSecondOf(record.version) > last.newestSecond
}
