// `pipespan traceparent`: prints the W3C traceparent of the CI job it runs in. With it, spans that the job creates become children of the job's span.
//
// Ids are derived, not assigned, so the job can compute them before its pipeline is exported. The platform's predefined
// variables have everything that the ids are derived from, except the root of a child pipeline.
import { jobSpanId, traceIdOf } from '../core/telemetry/otlp/ids.ts'
import { normalizeInstance } from '../model/instance.ts'
import { complain, exitCode, print, type Terminal } from '../lib/terminal.ts'
import { validTraceparent, type TraceContext } from '../model/trace-context.ts'

export interface TraceparentOptions {
  /** The value of the daemon's `PIPESPAN_TRACE_IDS`. */
  readonly ids?: string | undefined
  /** The root pipeline of the family, if another pipeline triggered this one. */
  readonly root?: number | undefined
  /** The instance's base URL as configured in the daemon, if it differs from `CI_SERVER_URL`. */
  readonly instance?: string | undefined
}

/** `faults`: what is missing or wrong, in sentences. */
type JobTraceparent =
  { readonly ok: true; readonly traceparent: string } | { readonly ok: false; readonly faults: readonly string[] }

/** Prints only the value. It never guesses: if something is missing, it prints faults to standard error, and the exit code is 2. */
export function traceparent(terminal: Terminal, options: TraceparentOptions): number {
  const result = jobTraceparent(terminal.env, options)
  if (result.ok) {
    print(terminal, result.traceparent)
    return exitCode.done
  }
  for (const fault of result.faults) complain(terminal, fault)
  return exitCode.misused
}

/** Reads the variables that the platform sets in every job; options take precedence. */
export function jobTraceparent(env: NodeJS.ProcessEnv, options: TraceparentOptions): JobTraceparent {
  const faults: string[] = []
  const scheme = (options.ids ?? filled(env.PIPESPAN_TRACE_IDS) ?? 'instance') as TraceContext['scheme']
  if (!['instance', 'platform'].includes(scheme)) {
    faults.push(`The ids cannot be "${scheme}". Use instance or platform, like the daemon's PIPESPAN_TRACE_IDS.`)
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
    // The daemon joins this trace only with PIPESPAN_TRACEPARENT=true, which must then be set in the job as well.
    ...(env.PIPESPAN_TRACEPARENT === 'true' && { traceparent: validTraceparent(env.TRACEPARENT ?? '') }),
  }
  const key = { instance: instance ?? '', pipelineId }
  const spanId = jobSpanId({ key, trace }, { id: jobId, kind: 'job' })
  return { ok: true, traceparent: `00-${traceIdOf(trace, key.instance)}-${spanId}-01` }
}

/** The root pipeline; undefined for a pipeline that is its own root. */
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
