// Collects spans in order to draw each trace as a whole: child pipelines wait until the root pipeline of their trace has arrived. Spans from inside
// jobs, which arrive after the spans of the jobs, become one line of text per job, with its sections or test suites and their durations.
import type { ReceivedSpan } from './received.ts'
import type { WaterfallSpan } from './waterfall-span.ts'
import { durationText } from '../model/instant.ts'

/** The maximum number of traces that are kept. Late spans of an evicted trace are drawn as a separate trace. */
const maxTraces = 1_000

interface Trace {
  rooted: boolean
  held: WaterfallSpan[]
}

export class TraceBook {
  readonly #traces = new Map<string, Trace>()
  /** The last status of every pipeline whose span has arrived, by pipeline id. */
  readonly statuses = new Map<number, string>()
  /** The number of job spans that have arrived. */
  jobs = 0
  /** The number of jobs that ran and failed. */
  failed = 0

  /** Adds the spans of one request. Returns the spans that can be drawn now, as one list for each trace. */
  add(received: readonly ReceivedSpan[]): WaterfallSpan[][] {
    const drawable: WaterfallSpan[][] = []
    const own = received.filter(span => !isInside(span))
    for (const [traceId, spans] of Map.groupBy(own, span => span.traceId)) {
      const trace = this.#trace(traceId)
      for (const span of spans) {
        trace.held.push(span)
        if (span.kind === 'job') {
          this.jobs += 1
          if (span.attributes['job.status'] === 'failed' && span.end > span.start) this.failed += 1
          continue
        }
        trace.rooted ||= span.parentSpanId === undefined
        this.statuses.set(Number(span.attributes['pipeline.id']), String(span.attributes['pipeline.status']))
      }
      if (!trace.rooted) continue
      drawable.push(trace.held)
      trace.held = []
    }
    return drawable
  }

  /** Returns the spans that still wait for the root pipeline of their trace, as one list for each trace. */
  rest(): WaterfallSpan[][] {
    return [...this.#traces.values()].map(({ held }) => held).filter(held => held.length > 0)
  }

  #trace(traceId: string): Trace {
    const known = this.#traces.get(traceId)
    if (known !== undefined) return known
    const trace: Trace = { rooted: false, held: [] }
    this.#traces.set(traceId, trace)
    const [oldest] = this.#traces.keys()
    if (this.#traces.size > maxTraces && oldest !== undefined) this.#traces.delete(oldest)
    return trace
  }
}

/** The instrumentation scopes of spans inside jobs: the scope of Pipespan's own spans, and the scope of spans that jobs created themselves. */
const scopes: readonly string[] = ['pipespan.job', 'pipespan.job.own']
const maxNames = 10_000

export class InsideBook {
  readonly #names = new Map<string, string>()
  /** The number of jobs whose sections have arrived. */
  jobs = 0

  /** Adds the spans of one request. Returns the lines to print. */
  add(received: readonly ReceivedSpan[]): string[] {
    for (const span of received) {
      if (isInside(span)) continue
      this.#names.set(span.spanId, span.name)
      const [oldest] = this.#names.keys()
      if (this.#names.size > maxNames && oldest !== undefined) this.#names.delete(oldest)
    }
    const outer = received.filter(isInside).filter(({ parentSpanId }) => this.#names.has(parentSpanId ?? ''))
    const byJob = Map.groupBy(outer, ({ parentSpanId }) => parentSpanId ?? '')
    this.jobs += [...byJob.values()].filter(spans => spans.some(isSection)).length
    return [...byJob].map(([job, sections]) => {
      const shown = sections.map(({ name, start, end, status }) => {
        return `${status === 'error' ? '✗ ' : ''}${name} ${durationText(end - start)}`
      })
      return `  inside of ${this.#names.get(job) ?? ''}: ${shown.join(' · ')}`
    })
  }
}

export function isInside({ scope }: ReceivedSpan): boolean {
  return scopes.includes(scope)
}

function isSection({ attributes }: ReceivedSpan): boolean {
  return Object.keys(attributes).some(name => name.endsWith('.task.section.name'))
}
