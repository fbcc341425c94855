// One line of text for each job with what was read inside it: its sections or test suites with their durations. These spans arrive
// after the job's own span.
import { durationText } from '../model/instant.ts'
import type { ReceivedSpan } from './received.ts'

/** The instrumentation scopes of spans inside jobs: those of Pipespan, and those that jobs made themselves. */
const scopes: readonly string[] = ['pipespan.job', 'pipespan.job.own']
/** How many names of jobs are remembered. */
const remembered = 10_000

export class InsideBook {
  readonly #names = new Map<string, string>()
  /** The number of jobs whose sections have arrived. */
  jobs = 0

  /** Adds the spans of one request; answers the lines to print. */
  add(received: readonly ReceivedSpan[]): string[] {
    for (const span of received) {
      if (isInside(span)) continue
      this.#names.set(span.spanId, span.name)
      const [oldest] = this.#names.keys()
      if (this.#names.size > remembered && oldest !== undefined) this.#names.delete(oldest)
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
