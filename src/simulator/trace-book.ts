// Collects spans to draw each trace as a whole: child pipelines wait until the root pipeline of their trace has arrived.
import { isInside } from './inside-book.ts'
import type { ReceivedSpan } from './received.ts'
import type { WaterfallSpan } from './waterfall-span.ts'

/** How many traces are remembered. Spans of an older one that arrive later are drawn as a trace of their own. */
const remembered = 1_000

interface Trace {
  rooted: boolean
  held: WaterfallSpan[]
}

export class TraceBook {
  readonly #traces = new Map<string, Trace>()
  /** The last status of every pipeline that arrived, by its id. */
  readonly statuses = new Map<number, string>()
  /** How many job spans arrived. */
  jobs = 0
  /** How many of them ran and failed. */
  failed = 0

  /** Adds the spans of one request; answers what can be drawn now, a list for each trace. */
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

  /** The spans that still wait for a root. */
  rest(): WaterfallSpan[][] {
    return [...this.#traces.values()].map(({ held }) => held).filter(held => held.length > 0)
  }

  #trace(traceId: string): Trace {
    const known = this.#traces.get(traceId)
    if (known !== undefined) return known
    const trace: Trace = { rooted: false, held: [] }
    this.#traces.set(traceId, trace)
    const [oldest] = this.#traces.keys()
    if (this.#traces.size > remembered && oldest !== undefined) this.#traces.delete(oldest)
    return trace
  }
}
