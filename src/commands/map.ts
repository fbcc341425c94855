// `pipespan map FILE` (or `-` for standard input): shows which telemetry a webhook payload becomes, without a daemon or a backend.
import { platformNames } from '../daemon/connections.ts'
import { buffer } from 'node:stream/consumers'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createPriceTable } from '../core/take-in/price-table.ts'
import { complain, exitCode, isColored, print, printPicture, type Terminal, printJson } from '../lib/terminal.ts'
import { snapshotAttempt } from '../model/snapshot.ts'
import { jobsOf } from '../model/attempt.ts'
import { plainJson, plainLine } from '../lib/plain-text.ts'
import { observedRun, type Run } from '../model/run.ts'
import { eventChunk, type AnyChunk, type EventChunk } from '../model/event.ts'
import { isTerminal } from '../model/status.ts'
import { plainAttributes } from '../core/telemetry/otlp/attribute.ts'
import { signalResourceOf } from '../core/telemetry/resource.ts'
import { toEventRecord } from '../core/telemetry/events.ts'
import { parsePayload } from './platform.ts'
import { exportDestinations } from '../daemon/export.ts'
import { subjectOf } from '../model/route.ts'
import { features } from '../features.ts'
import type { ProfileName } from '../daemon/profile.ts'
import { reasonOf } from '../lib/fault.ts'
import { shownSpans } from '../core/telemetry/shown-span.ts'
import { traceContextOf } from '../model/family.ts'
import { logsAsJson, tracesAsJson } from '../core/telemetry/encode.ts'
import { waterfall } from './terminal/waterfall.ts'
import type { Config } from '../daemon/configuration/options.ts'
import type { Chunk } from '../model/chunk.ts'
import type { Signal } from '../core/store/ports/outbox.ts'
import type { TelemetrySettings } from '../core/telemetry/settings.ts'

interface MapOptions {
  /** The file with the payload, or `-` for standard input. */
  readonly file: string
  /** The event header that was sent with the payload. If undefined, the event is derived from the payload. */
  readonly event?: string | undefined
  /** Prints OTLP/JSON instead of a tree. */
  readonly json: boolean
  /** Also prints the verdict: which job failed, or which jobs took the time. */
  readonly explain: boolean
}

/** Maps the payload as it is, even if the daemon would wait for more events of the pipeline. */
export async function mapFile(
  terminal: Terminal,
  { file, event, json, explain }: MapOptions,
  config: Config<ProfileName>,
  telemetry: TelemetrySettings,
): Promise<number> {
  const name = file === '-' ? 'The standard input' : file
  let body: Uint8Array
  try {
    body = file === '-' ? await buffer(terminal.stdin ?? Readable.from([])) : await readFile(file)
  } catch (error) {
    complain(
      terminal,
      `${name} cannot be read: ${reasonOf(error)}. Give a file with one webhook's JSON body, or - for standard input.`,
    )
    return exitCode.failed
  }
  const parsed = parsePayload({ event, body }, config)
  if (parsed.outcome === 'unparseable' || parsed.outcome === 'no object') {
    complain(terminal, `${name}: ${parsed.reason}`)
    return exitCode.failed
  }
  if (parsed.outcome === 'ignored') {
    const message = `${name}: The daemon answers an event of kind "${parsed.kind}" with 200 and counts it, but exports nothing.`
    return nothing(terminal, json, message)
  }
  if (parsed.outcome === 'event') {
    const chunk = eventChunk(parsed.event, Date.now(), config.platform.profile)
    print(terminal, json ? plainJson(logsAsJson([chunk], telemetry)) : shownEvent(chunk, telemetry))
    const routes = shownRoutes(chunk, config, ['logs'])
    if (!json && routes !== '') print(terminal, routes)
    if (!json && !config.events.includes(parsed.event.kind)) {
      print(terminal, `\nNot exported with this configuration: PIPESPAN_EVENTS does not include ${parsed.event.kind}.`)
    }
    return exitCode.done
  }
  const run = observedRun(parsed.observation)
  if (run.pipeline === undefined) {
    const jobs = [...run.jobs.values()].map(
      ({ id, record }) => `job ${id} ${plainLine(record.facts.name ?? '')} ${record.facts.status}`,
    )
    const message = `${name}: update of pipeline ${run.key.pipelineId}: ${jobs.join(', ')}.`
    return nothing(terminal, json, `${message}\nIt is exported with its pipeline, once a pipeline event arrives.`)
  }
  const chunk = snapshot(run, config)
  if (json) {
    print(terminal, plainJson(tracesAsJson([chunk], telemetry)))
    if (explain) complain(terminal, explanationOf(chunk))
    if (parsed.dropped > 0) complain(terminal, leftOut(parsed.dropped))
    return exitCode.done
  }
  const color = isColored(terminal)
  const width = terminal.stdout.columns ?? 100
  printPicture(terminal, waterfall(shownSpans(chunk, telemetry), { width, color }))
  const custom = shownCustom(chunk, telemetry)
  if (custom.length > 0) print(terminal, `\n${custom.join('\n')}`)
  const routes = shownRoutes(chunk, config)
  if (routes !== '') print(terminal, routes)
  const { status } = chunk.pipeline.facts
  if (explain) print(terminal, `\n${explanationOf(chunk)}`)
  if (!isTerminal(status)) print(terminal, `\nStatus ${status}: the daemon waits for the pipeline to end.`)
  if (parsed.dropped > 0) print(terminal, `\n${leftOut(parsed.dropped)}`)
  return exitCode.done
}

/** Prints why nothing is exported. With JSON, the reason is printed to standard error, and an empty export to standard output. */
function nothing(terminal: Terminal, json: boolean, message: string): number {
  if (!json) print(terminal, message)
  else {
    printJson(terminal, { resourceSpans: [] })
    complain(terminal, message)
  }
  return exitCode.done
}

function explanationOf({ pipeline }: Chunk): string {
  const { verdict, facts } = pipeline
  if (verdict === undefined) return `No verdict: a pipeline with status ${facts.status} has not ended or never ran.`
  return plainLine(`Verdict: ${verdict}.`)
}

function leftOut(jobs: number): string {
  return `Jobs left out, because they have no usable id or status: ${jobs}.`
}

function snapshot(run: Run, config: Config<ProfileName>): Chunk {
  const { traceIds, platform, costs } = config
  const trace = traceContextOf(run, [], { scheme: traceIds, profile: platform.profile, bridgesWillCome: false })
  const { chunks } = snapshotAttempt(run, [...jobsOf(run)], trace, false, Date.now(), {
    chunkSize: Infinity,
    rateOf: createPriceTable(costs.rules, platformNames(config)),
  })
  const [chunk] = chunks
  if (chunk === undefined) throw new Error('a run with a pipeline has at least one chunk')
  return chunk
}

/** Returns the attributes set by the configured rules: first those of the whole pipeline, then those of individual jobs. */
function shownCustom(chunk: Chunk, { custom }: TelemetrySettings): string[] {
  if (custom === undefined) return []
  const { own, points, ofJob } = custom(chunk)
  const ofPipeline = plainAttributes(own)
  const lines = Object.entries(ofPipeline).map(
    ([name, value]) =>
      `  ${name} = ${plainLine(String(value))}${Object.hasOwn(points ?? {}, name) ? ' (also on metrics)' : ''}`,
  )
  const ofJobs = chunk.jobs.flatMap(({ id, name }) =>
    Object.entries(plainAttributes(ofJob(name)))
      .filter(([key, value]) => ofPipeline[key] !== value)
      .map(([key, value]) => `  ${plainLine(`${name ?? id}: ${key} = ${String(value)}`)}`),
  )
  return ['attributes.rules', ...(lines.length + ofJobs.length === 0 ? ['  nothing'] : [...lines, ...ofJobs])]
}

/** Returns the destinations that export the chunk; empty if no destinations are listed in the configuration. */
function shownRoutes(chunk: AnyChunk, config: Config<ProfileName>, only?: readonly Signal[]): string {
  if (config.destinations.length === 0) return ''
  const { destinations, metricDestinations } = exportDestinations(config, features)
  const subject = subjectOf(chunk)
  const lines = destinations.flatMap(({ name, signals, takes }) => {
    const withMetrics = metricDestinations.some(one => one.name === name) ? { metrics: true } : {}
    const taken = Object.keys({ ...signals, ...withMetrics }).filter(one => only?.includes(one as Signal) ?? true)
    return (takes?.(subject) ?? true) && taken.length > 0 ? [`  ${name}: ${taken.join(', ')}`] : []
  })
  return ['', 'destinations', ...(lines.length === 0 ? ['  none takes it'] : lines)].join('\n')
}

/** Returns an event's name and body, its time, and its attributes. The resource attributes come last. */
function shownEvent(chunk: EventChunk, telemetry: TelemetrySettings): string {
  const { eventName, body, timeUnixNano, attributes } = toEventRecord(chunk, telemetry)
  const own = plainAttributes(attributes)
  const resource = plainAttributes(signalResourceOf(chunk, telemetry))
  const line = ([name, value]: [string, unknown]): string => `  ${plainLine(`${name} = ${String(value)}`)}`
  return [
    `${eventName ?? ''}  ${plainLine(String(body))}`,
    `${new Date(timeUnixNano).toISOString()}${chunk.at === chunk.observedAt ? ' (when it was received)' : ''}`,
    ...Object.entries(own).map(line),
    'resource',
    ...Object.entries(resource).map(line),
  ].join('\n')
}
