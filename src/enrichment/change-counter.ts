// Counts what changes took, each of their times once: writes what it adds to the project's totals, or has it sent, in the transaction that marks
// it as counted. It asks nobody.
import { createLeasedWork, createRests, type LeasedWork } from './leased-work.ts'
import { eventVersion, type AnyChunk, type EventChunk } from '../model/event.ts'
import type { Change } from '../model/change.ts'
import type { ChangeFigures, ChangeMeasure } from '../model/change-figures.ts'
import type { Changes, CountedChange } from '../store/ports/changes.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { ProjectIncrements } from '../model/totals.ts'
import type { ReceivedEvent } from '../store/ports/events.ts'

export interface ChangeCounterOptions {
  readonly changes: Pick<Changes, 'take' | 'extend' | 'count'>
  /** What is counted adds to totals by this; undefined: no metrics are kept. */
  readonly measure: ((chunk: AnyChunk) => ProjectIncrements | undefined) | undefined
  /** Destinations that take the points of each change by themselves. */
  readonly to: ReceivedEvent['to']
  readonly profile: string
  /** Called after something was put into the outbox. */
  readonly onCounted: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start, by what was measured. */
export type ChangeCounters = Record<ChangeMeasure, number>

export interface ChangeCounter extends LeasedWork {
  readonly counters: Readonly<ChangeCounters>
}

const places = 4

export function createChangeCounter({
  changes,
  measure,
  to,
  profile,
  ...options
}: ChangeCounterOptions): ChangeCounter {
  const { clock, log } = options
  const counters: ChangeCounters = { pipeline: 0, approval: 0, merge: 0 }

  function decide(id: number, { instance, project }: Change, figures: ChangeFigures): CountedChange {
    const { at } = figures
    const chunk: EventChunk = {
      ...{ version: eventVersion, kind: 'event', key: { instance }, project, trace: { profile } },
      event: { kind: 'change_figures', name: 'platform.vcs.change', severity: 'info', body: '', attributes: {} },
      ...{ change: figures, at, observedAt: at },
    }
    const key = `${figures.measure} of change ${id}`
    const totals = measure?.(chunk)
    const sent = { event: { object: key, key, content: '' }, chunk, arrival: 0, to }
    return { ...(totals && { totals }), ...(to.length > 0 && { sent }) }
  }

  const work = createLeasedWork<{ readonly id: number }>({
    name: 'change counter',
    takes: [
      async (inFlight, leaseMs) => (inFlight.length < places ? changes.take(places - inFlight.length, leaseMs) : []),
    ],
    nameOf: ({ id }) => String(id),
    work: async ({ id }, signal) => {
      for (let more = true; more && !signal.aborted;) {
        const done = await changes.count(id, (change, figures) => decide(id, change, figures))
        if (done === undefined) return
        counters[done.figures.measure] += 1
        options.onCounted()
        ;({ more } = done)
      }
    },
    onError: ({ id }, error) => log.error({ err: error, change: id }, 'a change could not be counted'),
    extend: async (due, leaseMs) =>
      changes.extend(
        due.map(({ id }) => id),
        leaseMs,
      ),
    rests: createRests(clock),
    clock,
    log,
  })
  return { ...work, counters }
}
