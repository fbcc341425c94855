// Counts due things, many at a time, each with its increments and exports, in one transaction. If they fail together, they are counted one by one.
import { createLoop, type Loop } from '../../lib/loop.ts'
import type { AnyChunk, EventChunk } from '../../model/event.ts'
import { routed, subjectOf, type Route } from '../../model/route.ts'
import { isOfTheData } from '../../lib/fault.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Countable, Counted, Decide, Decided } from './countable.ts'
import type { Log } from '../../lib/log.ts'
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { ProjectIncrements } from '../../model/totals.ts'

/** How many are counted in one transaction. On SQLite nothing else is done meanwhile. */
const maxTogether = 32
const idleMs = 1_000
/** The delay before one that fails alone is due again, ms. */
const retryMs = 90_000

export interface Counting extends FigureOutlets {
  /** Called after something was put into the outbox. */
  readonly onCounted: () => void
  readonly clock: Clock
  readonly log: Log
}

interface CounterOptions<Of, State, Around, Measure extends string> extends Omit<Counting, keyof FigureOutlets> {
  /** What is counted, in the log. */
  readonly name: string
  readonly store: Countable<Of, State, Around>
  readonly decide: Decide<Of, State, Around>
  /** The possible counters of a decision. */
  readonly measures: readonly Measure[]
  /** Called after some were found to wait for their commits. */
  readonly onApart?: () => void
}

export interface Counter<Measure extends string> extends Loop {
  /** Counts all that is due now. */
  drain(): Promise<void>
  /** Counted since start. */
  readonly counters: Record<Measure, number>
}

/** `add`: adds decisions of other code to the counters. */
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

  /** Returns how many were due. */
  async function countDue(): Promise<number> {
    try {
      const decided = await store.countDue(maxTogether, decide)
      add(decided)
      return decided.length
    } catch {
      return countOneByOne()
    }
  }

  /** Throws if it is the store that fails. */
  async function countOneByOne(): Promise<number> {
    const due = await store.due(maxTogether)
    const failed: { readonly id: number; readonly error: unknown }[] = []
    for (const id of due) {
      try {
        const decided = await store.count(id, decide)
        if (decided !== undefined) add([decided])
      } catch (error) {
        failed.push({ id, error })
      }
    }
    const isBlameless = failed.length === due.length && !failed.some(({ error }) => isOfTheData(error))
    if (failed.length > 1 && isBlameless) throw failed[0]?.error
    for (const { id, error } of failed) {
      log.error({ err: error, [name]: id }, `a ${name} could not be counted`)
      await store.defer(id, retryMs, false)
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

export interface FigureOutlets {
  /** What a chunk adds to totals; undefined: no metrics are kept. */
  readonly measure: ((chunk: AnyChunk) => ProjectIncrements | undefined) | undefined
  /** Destinations that take the points of each by themselves. */
  readonly to: readonly Route<'metrics'>[]
  readonly profile: ByInstance<string>
}

/** Figures of something that was counted. */
interface Measured extends Pick<EventChunk, 'at' | 'job'> {
  readonly figures: object
  /** Names them, such as `merge of change 7`, by a number that SQLite may give again once its row is deleted. */
  readonly name: string
}

/** Increments of the project's totals, and an event that is exported as metrics only. */
export function countedFigures(
  { instance, project }: { readonly instance: string; readonly project: ProjectFacts },
  event: Pick<EventChunk['event'], 'kind' | 'name'>,
  { name, at, ...measured }: Measured,
  { measure, to, profile }: FigureOutlets,
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
