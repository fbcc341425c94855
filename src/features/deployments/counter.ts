// Counts due deployments, changes and incidents, and writes their increments and exports. Many are counted in one transaction. If that fails because
// of the data, they are counted one by one. Changes and incidents need only this counter; deployments also need requests to the platform
// (`deployment-counter.ts`).
import { changeMeasures, uncounted, viewChange } from './model/change.ts'
import type { ChangeMeasure, CountedTimes, Change } from './model/change.ts'
import { createLoop, type Loop } from '../../lib/loop.ts'
import { incidentFigures, viewIncident, type CountedIncident, type Incident } from './model/incident.ts'
import { isOfTheData } from '../../lib/fault.ts'
import { knownOf } from '../../model/versioned.ts'
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import { routed, subjectOf, type Route } from '../../model/route.ts'
import type { AnyChunk, EventChunk } from '../../model/event.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Countable, Counted, Decide, Decided, Due } from './sql/counted.ts'
import type { Log } from '../../lib/log.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { ProjectIncrements } from '../../model/totals.ts'

/** Maximum number of items counted in one transaction. On SQLite, a transaction blocks everything else. */
const maxTogether = 32
const idleMs = 1_000
/** The time by which an item is deferred if it cannot be counted even on its own, ms. */
const retryMs = 90_000

export interface Counting {
  /** Returns the amounts that a chunk adds to the totals of its project. If undefined, no totals are stored. */
  readonly measure: ((chunk: AnyChunk) => ProjectIncrements | undefined) | undefined
  /** Destinations that receive a separate metric point for each counted item. */
  readonly to: readonly Route<'metrics'>[]
  readonly profile: ByInstance<string>
  /** Called after an outbox entry was added. */
  readonly onCounted: () => void
  readonly clock: Clock
  readonly log: Log
}

interface CounterOptions<Of, State, Around, Measure extends string> extends Pick<
  Counting,
  'onCounted' | 'clock' | 'log'
> {
  /** The name of the counted items, for the log. */
  readonly name: string
  readonly store: Pick<Countable<Of, State, Around>, 'countDue' | 'due' | 'count' | 'defer'>
  readonly decide: Decide<Of, State, Around>
  /** The names of the counters that may be incremented when an item is counted. */
  readonly measures: readonly Measure[]
  /** Called if some deployments can only be counted after their commits have been requested. */
  readonly onApart?: () => void
}

export interface Counter<Measure extends string> extends Loop {
  /** Counts all items that are due now. */
  drain(): Promise<void>
  /** Number of counted items since startup, by measure. */
  readonly counters: Record<Measure, number>
}

/** Creates a counter. Its `add` method also updates the counters for items that were counted by other code. */
export function createCounter<Of, State, Around, Measure extends string>({
  name,
  store,
  decide,
  measures,
  onCounted,
  onApart,
  clock,
  log,
}: CounterOptions<Of, State, Around, Measure>): Counter<Measure> & { add(decided: readonly Decided<State>[]): void } {
  const counters = Object.fromEntries(measures.map(measure => [measure, 0])) as Record<Measure, number>

  function add(decided: readonly Decided<State>[]): void {
    const decisions = decided.filter(one => typeof one === 'object')
    for (const measure of decisions.flatMap(one => one.measures)) counters[measure as Measure] += 1
    if (decisions.some(({ written }) => written.length > 0)) onCounted()
    if (decided.includes('apart')) onApart?.()
  }

  /** Counts up to `maxTogether` due items. Returns the number of items that were due. */
  async function countDue(): Promise<number> {
    try {
      const decided = await store.countDue(maxTogether, decide)
      add(decided)
      return decided.length
    } catch (error) {
      if (!isOfTheData(error)) throw error
    }
    const due = await store.due(maxTogether)
    for (const id of due) {
      try {
        const decided = await store.count(id, decide)
        if (decided !== undefined) add([decided])
      } catch (error) {
        if (!isOfTheData(error)) throw error
        log.error({ err: error, [name]: id }, `a ${name} could not be counted`)
        await store.defer(id, retryMs, false)
      }
    }
    return due.length
  }

  const turn = async (): Promise<number> => ((await countDue()) < maxTogether ? idleMs : 0)
  return {
    ...createLoop({ name: `${name} counter`, clock, log, turn }),
    drain: async () => {
      while ((await countDue()) > 0);
    },
    counters,
    add,
  }
}

/** The figures of a counted item, with the time and the job of the event that exports them. */
interface Measured extends Pick<EventChunk, 'at' | 'job'> {
  readonly figures: object
  /** The name of the figures, such as `merge of change 7`. It is not unique, because SQLite may reuse the row number once the row is deleted. */
  readonly name: string
}

/** Returns the increments of the project's totals, and an event that is exported only as metrics. */
export function countedFigures(
  { instance, project }: { readonly instance: string; readonly project: ProjectFacts },
  event: Pick<EventChunk['event'], 'kind' | 'name'>,
  { name, at, ...measured }: Measured,
  { measure, to, profile }: Pick<Counting, 'measure' | 'to' | 'profile'>,
): Counted {
  const key = `${name} at ${at}`
  const chunk: EventChunk = {
    ...{ kind: 'event', key: { instance }, project, trace: { profile: ofInstance(profile, instance) } },
    event: { ...event, severity: 'info', body: '', attributes: {} },
    ...{ ...measured, at, observedAt: at },
  }
  const totals = measure?.(chunk)
  const sent = { event: { object: key, key, content: '' }, chunk, arrival: 0, to: routed(to, subjectOf(chunk)) }
  return { ...(totals && { totals }), ...(sent.to.length > 0 && { sent }) }
}

/** A kind of item that is counted without a request to the platform. `points`: the metric points of an item, each with what it counts. */
interface Kind<Of, State, Measure extends string> {
  /** The name of the kind, which is used in logs and in the key of the exported event. */
  readonly name: string
  readonly event: Pick<EventChunk['event'], 'kind' | 'name'>
  readonly measures: readonly Measure[]
  readonly count: (due: Due<Of, State>) => {
    readonly counted: State
    readonly points: readonly { readonly figures: object; readonly at: number; readonly measures: readonly Measure[] }[]
  }
}

/** A change is counted up to four times: for its first pipeline, its first approval, its merge, and its time in the merge train. */
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

export type IncidentMeasure = 'opened' | 'closed'

/** An incident is counted when it is opened and when it is closed. Often both are counted together. */
export const countedIncidents: Kind<Incident, CountedIncident, IncidentMeasure> = {
  name: 'incident',
  event: { kind: 'incident_figures', name: 'platform.issue' },
  measures: ['opened', 'closed'],
  count: ({ of, knownAt, counted = { opening: false, closing: false } }) => {
    const view = viewIncident(of)
    const figures = incidentFigures(view, counted, knownAt)
    const measures: IncidentMeasure[] = [
      ...(figures?.isOpening === true ? (['opened'] as const) : []),
      ...(figures?.duration === undefined ? [] : (['closed'] as const)),
    ]
    return {
      counted: { opening: true, closing: counted.closing || view.state === 'closed' },
      points: figures === undefined ? [] : [{ figures, at: figures.at, measures }],
    }
  },
}

export function createOnceCounter<Of extends Change | Incident, State, Measure extends string>(
  { name, event, measures, count }: Kind<Of, State, Measure>,
  store: CounterOptions<Of, State, undefined, Measure>['store'],
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
