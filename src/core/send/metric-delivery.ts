// Sends one flush of metrics to one destination. Requests that are rejected for their content are split. If the backend is down, the flush ends: the
// next flush sends all totals anyway.
import { packed } from './pack.ts'
import { sentenceOf } from './verdict.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Subject } from '../../model/route.ts'
import type { Destination, HeaderValues } from './destination.ts'
import type { ExportStats } from './export-stats.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Sender, Sent } from './sender.ts'
import type { TripCause } from './circuit-breaker.ts'

/** A destination for metrics, with the outcome of its last flush. */
export interface FlushTarget extends Pick<Destination, 'name' | 'takes' | 'headerValues'> {
  readonly isCumulative: boolean
  readonly sender: Sender
  readonly stats: ExportStats
  /** Why the last flush failed, as one of the circuit breaker's causes; undefined before the first flush and after a successful one. */
  cause: TripCause | undefined
  hasAccepted: boolean
  /** The time on the `elapsed` clock before which no flush is sent, because the backend asked for a pause. */
  nextTry: Millis
}

/** The metrics of one project, or of a group or an instance. */
export interface EncodedProject extends Subject {
  /** The name of the project in log messages. */
  readonly project: string
  readonly bytes: Uint8Array
}

interface TakenProject extends EncodedProject {
  readonly values: HeaderValues | undefined
}

/** The maximum size of one request in bytes before compression. */
const batchBytes = 4 * 1024 * 1024
/** The number of rejected projects after which a flush ends. */
const maxRefused = 16

export class MetricDelivery {
  readonly #target: FlushTarget
  readonly #clock: Clock
  readonly #log: Log
  #refused = 0

  constructor(target: FlushTarget, clock: Clock, log: Log) {
    this.#target = target
    this.#clock = clock
    this.#log = log
  }

  /** Sends the metrics of these projects. Returns false if the flush ends early; the next flush contains all metrics. */
  async send(projects: readonly EncodedProject[]): Promise<boolean> {
    const { takes, headerValues } = this.#target
    const taken = projects.filter(one => takes?.(one) ?? true).map(one => ({ ...one, values: headerValues?.(one) }))
    for (const pack of packed(taken, batchBytes)) if (!(await this.#deliver(pack))) return false
    return true
  }

  async #deliver(projects: readonly TakenProject[]): Promise<boolean> {
    const body = Buffer.concat(projects.map(({ bytes }) => bytes))
    const { sender, stats } = this.#target
    const { length } = body
    const sent = await sender.send(body, projects[0]?.values)
    stats.answered(sent, projects.length, length)
    switch (sent.verdict.as) {
      case 'delivered':
        stats.count('delivered', projects.length)
        this.#target.hasAccepted = true
        if (this.#refused === 0) this.#become(undefined, sent)
        return true
      case 'unacceptable':
        return this.#divide(projects, sent)
      case 'unauthorized':
        this.#become('unauthorized', sent)
        return false
      case 'later':
        stats.count('later', projects.length)
        this.#target.nextTry = elapsed(this.#clock) + (sent.verdict.retryAfterMs ?? 0)
        this.#become('unavailable', sent)
        return false
    }
  }

  /**
   * Splits a rejected request, so that a rejected project does not delay the others. If a destination rejects everything, most projects are not tried
   * separately.
   */
  async #divide(projects: readonly TakenProject[], sent: Sent): Promise<boolean> {
    const [only, ...others] = projects
    if (only !== undefined && others.length === 0) {
      this.#refused += 1
      this.#target.stats.count('later', 1)
      this.#become('unacceptable', sent, only.project)
      return this.#target.hasAccepted && this.#refused < maxRefused
    }
    const middle = Math.ceil(projects.length / 2)
    return (await this.#deliver(projects.slice(0, middle))) && (await this.#deliver(projects.slice(middle)))
  }

  #become(cause: TripCause | undefined, { verdict }: Sent, project?: string): void {
    const target = this.#target
    if (cause === target.cause) return
    target.cause = cause
    const facts = { destination: target.name, signal: 'metrics' }
    if (cause !== undefined) {
      const status = 'status' in verdict ? verdict.status : undefined
      const reason = sentenceOf({ message: verdict.message ?? '', status })
      this.#log.warn(
        { ...facts, project, cause, reason },
        'metrics could not be sent; the totals stay in the store until the next flush',
      )
    } else this.#log.info(facts, 'metrics can be sent again')
  }
}
