// Counts the times of changes, and incidents. It makes no requests to the platform.
import {
  changeMeasures,
  uncounted,
  viewChange,
  type ChangeMeasure,
  type CountedTimes,
  type Change,
} from './model/change.ts'
import { countedFigures, createCounter, type Counter, type Counting } from './counter.ts'
import { incidentFigures, viewIncident, type CountedIncident, type Incident } from './model/incident.ts'
import { knownOf } from '../../model/versioned.ts'
import type { Countable, Due } from './countable.ts'
import type { EventChunk } from '../../model/event.ts'

/** One metric point, and what it counts for. */
interface Point<Measure> {
  readonly figures: object
  readonly at: number
  readonly measures: readonly Measure[]
}

interface Kind<Of, State, Measure extends string> {
  /** In logs and in the key of what is sent. */
  readonly name: string
  readonly event: Pick<EventChunk['event'], 'kind' | 'name'>
  readonly measures: readonly Measure[]
  readonly count: (due: Due<Of, State>) => { readonly counted: State; readonly points: readonly Point<Measure>[] }
}

export type IncidentMeasure = 'opened' | 'closed'

/** A change is counted up to four times: its first pipeline, its first approval, its merge, its time in the merge train. */
export const countedChanges: Kind<Change, CountedTimes, ChangeMeasure> = {
  name: 'change',
  event: { kind: 'change_figures', name: 'platform.vcs.change' },
  measures: changeMeasures,
  count: ({ of, counted = {} }) => {
    const times = uncounted(of, counted)
    const { head, base } = viewChange(of) ?? {}
    return {
      counted: { ...counted, ...Object.fromEntries(times.map(({ measure, at, took }) => [measure, { at, took }])) },
      points: times.map(time => ({ figures: knownOf({ ...time, head, base }), at: time.at, measures: [time.measure] })),
    }
  },
}

/** An incident is counted when it was opened, and when it has ended; often both at once. */
export const countedIncidents: Kind<Incident, CountedIncident, IncidentMeasure> = {
  name: 'incident',
  event: { kind: 'incident_figures', name: 'platform.issue' },
  measures: ['opened', 'closed'],
  count: ({ of, knownAt, counted = { opening: false, closing: false } }) => {
    const view = viewIncident(of)
    const incident = incidentFigures(view, counted, knownAt)
    const measures: IncidentMeasure[] = [
      ...(incident?.isOpening === true ? (['opened'] as const) : []),
      ...(incident?.duration === undefined ? [] : (['closed'] as const)),
    ]
    return {
      counted: { opening: true, closing: counted.closing || view.state === 'closed' },
      points: incident === undefined ? [] : [{ figures: incident, at: incident.at, measures }],
    }
  },
}

export function createOnceCounter<Of extends Change | Incident, State, Measure extends string>(
  { name, event, measures, count }: Kind<Of, State, Measure>,
  store: Countable<Of, State>,
  options: Counting,
): Counter<Measure> {
  return createCounter({
    ...{ ...options, name, measures, store },
    decide: due => {
      const { counted, points } = count(due)
      const written = points.map(({ measures: of, ...point }) => {
        const named = { ...point, name: `${of.join(' and ')} of ${name} ${due.id}` }
        return countedFigures(due.of, event, named, options)
      })
      return { counted, written, measures: points.flatMap(point => point.measures) }
    },
  })
}
