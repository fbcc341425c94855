// What is inside of jobs, as a line of text for each job: its sections or test suites with their times, which come after the job's own span.
import { durationText } from '../terminal/waterfall-bar.ts'
import type { ReceivedSpan } from './otlp-traces.ts'

/** The scope of what is inside of jobs. */
const scope = 'pipespan.job'
/** Names of jobs that are remembered. */
const remembered = 10_000

export class InsideBook {
  readonly #names = new Map<string, string>()
  /** Of how many jobs sections arrived. */
  jobs = 0

  /** Takes in what one request brought; answers the lines of what is inside of jobs. */
  add(received: readonly ReceivedSpan[]): string[] {
    for (const { spanId, name, scope: own } of received) {
      if (own.name === scope) continue
      this.#names.set(spanId, name)
      const [oldest] = this.#names.keys()
      if (this.#names.size > remembered && oldest !== undefined) this.#names.delete(oldest)
    }
    const inside = received.filter(({ scope: own }) => own.name === scope)
    const outer = inside.filter(({ parentSpanId }) => this.#names.has(parentSpanId ?? ''))
    const byJob = Map.groupBy(outer, ({ parentSpanId }) => parentSpanId ?? '')
    this.jobs += [...byJob.values()].filter(spans => spans.some(isSection)).length
    return [...byJob].map(([job, sections]) => {
      const shown = sections.map(({ name, start, end, status }) => {
        return `${status === 'error' ? '✗ ' : ''}${name} ${durationText(end - start).trim()}`
      })
      return `  inside of ${this.#names.get(job) ?? ''}: ${shown.join(' · ')}`
    })
  }
}

export function isInside({ scope: own }: ReceivedSpan): boolean {
  return own.name === scope
}

function isSection({ attributes }: ReceivedSpan): boolean {
  return Object.keys(attributes).some(name => name.endsWith('.task.section.name'))
}
