// `pipespan traceparent`: prints the W3C traceparent of the CI job in which it runs. With it, spans that the job creates become children of the job's
// span.
//
// Ids are derived, not assigned, so the job can compute them before its pipeline is exported. The platform's predefined variables contain all values
// from which the ids are derived, except the root of a child pipeline.
import { jobSpanId, traceIdOf } from '../core/telemetry/otlp/ids.ts'
import { normalizeInstance } from '../model/instance.ts'
import { complain, exitCode, print, type Terminal } from '../lib/terminal.ts'
import { validTraceparent, type TraceContext } from '../model/trace-context.ts'

export interface TraceparentOptions {
  /** The value of the daemon's `PIPESPAN_TRACE_IDS`. */
  readonly ids?: string | undefined
  /** The id of the root pipeline of the family, if another pipeline triggered this one. */
  readonly root?: number | undefined
  /** The base URL of the instance as configured in the daemon, if it differs from `CI_SERVER_URL`. */
  readonly instance?: string | undefined
}

/** The traceparent of a job, or the reasons why there is none. `faults` contains a sentence for each missing or invalid value. */
type JobTraceparent =
  { readonly ok: true; readonly traceparent: string } | { readonly ok: false; readonly faults: readonly string[] }

/**
 * Prints only the traceparent. It never guesses: if a value is missing or invalid, it prints the reasons to standard error, and the exit code is 2.
 */
export function traceparent(terminal: Terminal, options: TraceparentOptions): number {
  const result = jobTraceparent(terminal.env, options)
  if (result.ok) {
    print(terminal, result.traceparent)
    return exitCode.done
  }
  for (const fault of result.faults) complain(terminal, fault)
  return exitCode.misused
}

/** Computes the traceparent from the variables that the platform sets in every job. Options take precedence. */
export function jobTraceparent(env: NodeJS.ProcessEnv, options: TraceparentOptions): JobTraceparent {
  const faults: string[] = []
  const scheme = (options.ids ?? filled(env.PIPESPAN_TRACE_IDS) ?? 'instance') as TraceContext['scheme']
  if (!['instance', 'platform'].includes(scheme)) {
    faults.push(
      `"${scheme}" is not a trace ID scheme. Use instance or platform, the same as the daemon's PIPESPAN_TRACE_IDS.`,
    )
  }
  const pipelineId = number(env, 'CI_PIPELINE_ID', faults)
  const jobId = number(env, 'CI_JOB_ID', faults)
  const instance = normalizeInstance(options.instance ?? env.CI_SERVER_URL ?? '')
  if (scheme === 'instance' && instance === undefined) {
    faults.push(
      "CI_SERVER_URL is not an http(s) URL. Give --instance with the platform's base URL as configured in the daemon.",
    )
  }
  const root = options.root ?? rootOf(env, faults)
  if (faults.length > 0) return { ok: false, faults }
  const trace: TraceContext = {
    scheme,
    profile: '',
    rootPipelineId: root ?? pipelineId,
    // If the daemon runs with PIPESPAN_TRACEPARENT=true, it joins the trace in `TRACEPARENT`. The job must then set PIPESPAN_TRACEPARENT=true as
    // well.
    ...(env.PIPESPAN_TRACEPARENT === 'true' && { traceparent: validTraceparent(env.TRACEPARENT ?? '') }),
  }
  const key = { instance: instance ?? '', pipelineId }
  const spanId = jobSpanId({ key, trace }, { id: jobId, kind: 'job' })
  return { ok: true, traceparent: `00-${traceIdOf(trace, key.instance)}-${spanId}-01` }
}

/** Returns the id of the root pipeline, or undefined if the pipeline is its own root. */
function rootOf(env: NodeJS.ProcessEnv, faults: string[]): number | undefined {
  if (filled(env.PIPESPAN_ROOT_PIPELINE_ID) !== undefined) return number(env, 'PIPESPAN_ROOT_PIPELINE_ID', faults)
  const source = env.CI_PIPELINE_SOURCE
  if (source !== 'parent_pipeline' && source !== 'pipeline') return undefined
  faults.push(
    "Another pipeline triggered this one, and no predefined variable has the root pipeline's ID. " +
      'Pass PIPESPAN_ROOT_PIPELINE_ID: $CI_PIPELINE_ID from the trigger job, or give --root.',
  )
  return undefined
}

function number(env: NodeJS.ProcessEnv, name: string, faults: string[]): number {
  const value = Number(filled(env[name]))
  if (Number.isSafeInteger(value) && value > 0) return value
  faults.push(`${name} is not set to a number. The platform sets it in every CI job; outside a job, set it yourself.`)
  return 0
}

function filled(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text.trim()
}
