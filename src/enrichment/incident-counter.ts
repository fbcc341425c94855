// Counts incidents, each once that it was opened and once how long it was open: writes what that adds to the project's totals, or has it sent, in the
// transaction that marks it as counted.
import { createLeasedWork, createRests, type LeasedWork } from './leased-work.ts'
import { eventVersion, type AnyChunk, type EventChunk } from '../model/event.ts'
import type { Clock } from '../lib/clock.ts'
import type { CountedIncident, Incidents } from '../store/ports/incidents.ts'
import type { Incident, IncidentFigures } from '../model/incident.ts'
import type { Log } from '../lib/log.ts'
import type { ProjectIncrements } from '../model/totals.ts'
import type { ReceivedEvent } from '../store/ports/events.ts'

export interface IncidentCounterOptions {
  readonly incidents: Pick<Incidents, 'take' | 'extend' | 'count'>
  /** What is counted adds to totals by this; undefined: no metrics are kept. */
  readonly measure: ((chunk: AnyChunk) => ProjectIncrements | undefined) | undefined
  /** Destinations that take the points of each incident by themselves. */
  readonly to: ReceivedEvent['to']
  readonly profile: string
  /** Called after something was put into the outbox. */
  readonly onCounted: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start. */
export interface IncidentCounters {
  opened: number
  closed: number
}

export interface IncidentCounter extends LeasedWork {
  readonly counters: Readonly<IncidentCounters>
}

const places = 4

export function createIncidentCounter(options: IncidentCounterOptions): IncidentCounter {
  const { incidents, measure, to, profile, clock, log } = options
  const counters: IncidentCounters = { opened: 0, closed: 0 }

  function decide(id: number, { instance, project }: Incident, figures: IncidentFigures): CountedIncident {
    const { at, isOpening, duration } = figures
    const chunk: EventChunk = {
      ...{ version: eventVersion, kind: 'event', key: { instance }, project, trace: { profile } },
      event: { kind: 'incident_figures', name: 'platform.issue', severity: 'info', body: '', attributes: {} },
      ...{ incident: figures, at, observedAt: at },
    }
    const what = [isOpening && 'opening', duration !== undefined && 'end'].filter(Boolean).join(' and ')
    const key = `${what} of incident ${id}`
    const totals = measure?.(chunk)
    const sent = { event: { object: key, key, content: '' }, chunk, arrival: 0, to }
    return { ...(totals && { totals }), ...(to.length > 0 && { sent }) }
  }

  const work = createLeasedWork<{ readonly id: number }>({
    name: 'incident counter',
    takes: [
      async (inFlight, leaseMs) => (inFlight.length < places ? incidents.take(places - inFlight.length, leaseMs) : []),
    ],
    nameOf: ({ id }) => String(id),
    work: async ({ id }) => {
      const figures = await incidents.count(id, (incident, counted) => decide(id, incident, counted))
      if (figures === undefined) return
      if (figures.isOpening) counters.opened += 1
      if (figures.duration !== undefined) counters.closed += 1
      options.onCounted()
    },
    onError: ({ id }, error) => log.error({ err: error, incident: id }, 'an incident could not be counted'),
    extend: async (due, leaseMs) =>
      incidents.extend(
        due.map(({ id }) => id),
        leaseMs,
      ),
    rests: createRests(clock),
    clock,
    log,
  })
  return { ...work, counters }
}
