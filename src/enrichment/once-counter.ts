// Counts what is reported many times and counted once: how long changes took, and incidents. It makes no requests to the platform.
import { changeMeasures, type ChangeFigures, type ChangeMeasure } from '../model/change-figures.ts'
import { countedFigures, type FigureOutlets } from './counted-figures.ts'
import { createLeasedWork, createRests, type LeasedWork } from './leased-work.ts'
import type { Clock } from '../lib/clock.ts'
import type { Countable } from '../store/ports/counted.ts'
import type { EventChunk } from '../model/event.ts'
import type { IncidentFigures } from '../model/incident.ts'
import type { Log } from '../lib/log.ts'
import type { ProjectFacts } from '../model/observation.ts'

interface Kind<Figures, Measure extends string> {
  /** In logs and in the key of what is sent. */
  readonly name: string
  readonly event: Pick<EventChunk['event'], 'kind' | 'name'>
  readonly measures: readonly Measure[]
  /** The measures that these figures count for. */
  readonly measured: (figures: Figures) => readonly Measure[]
  readonly part: (figures: Figures) => Pick<EventChunk, 'change' | 'incident'>
}

export type IncidentMeasure = 'opened' | 'closed'

/** A change is counted up to three times: its first pipeline, its first approval, its merge. */
export const countedChanges: Kind<ChangeFigures, ChangeMeasure> = {
  name: 'change',
  event: { kind: 'change_figures', name: 'platform.vcs.change' },
  measures: changeMeasures,
  measured: ({ measure }) => [measure],
  part: change => ({ change }),
}

/** An incident is counted when it was opened, and when it has ended; often both at once. */
export const countedIncidents: Kind<IncidentFigures, IncidentMeasure> = {
  name: 'incident',
  event: { kind: 'incident_figures', name: 'platform.issue' },
  measures: ['opened', 'closed'],
  measured: ({ isOpening, duration }) => [
    ...(isOpening ? (['opened'] as const) : []),
    ...(duration === undefined ? [] : (['closed'] as const)),
  ],
  part: incident => ({ incident }),
}

export interface OnceCounterOptions<Of, Figures> extends FigureOutlets {
  readonly store: Countable<Of, Figures>
  /** Called after something was put into the outbox. */
  readonly onCounted: () => void
  readonly clock: Clock
  readonly log: Log
}

export interface OnceCounter<Measure extends string> extends LeasedWork {
  /** Counted since start. */
  readonly counters: Readonly<Record<Measure, number>>
}

export type ChangeCounters = OnceCounter<ChangeMeasure>['counters']
export type IncidentCounters = OnceCounter<IncidentMeasure>['counters']

const places = 4

export function createOnceCounter<
  Of extends { readonly instance: string; readonly project: ProjectFacts },
  Figures extends { readonly at: number },
  Measure extends string,
>(
  { name, event, measures, measured, part }: Kind<Figures, Measure>,
  { store, onCounted, clock, log, ...outlets }: OnceCounterOptions<Of, Figures>,
): OnceCounter<Measure> {
  const counters = Object.fromEntries(measures.map(measure => [measure, 0])) as Record<Measure, number>
  const work = createLeasedWork<{ readonly id: number }>({
    name: `${name} counter`,
    queues: [{ places, take: async (limit, leaseMs) => store.take(limit, leaseMs) }],
    nameOf: ({ id }) => String(id),
    work: async ({ id }) => {
      const counted = await store.count(id, (of, figures) => {
        const key = `${measured(figures).join(' and ')} of ${name} ${id}`
        return countedFigures(of, event, { ...part(figures), at: figures.at, key }, outlets)
      })
      if (counted === undefined) return
      for (const measure of measured(counted)) counters[measure] += 1
      onCounted()
    },
    onError: ({ id }, error) => log.error({ err: error, [name]: id }, `a figure of the ${name} could not be counted`),
    extend: async (due, leaseMs) =>
      store.extend(
        due.map(({ id }) => id),
        leaseMs,
      ),
    rests: createRests(clock),
    clock,
    log,
  })
  return { ...work, counters }
}
