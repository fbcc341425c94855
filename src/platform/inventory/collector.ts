// Declares a collector, which reads one kind of object from the platform and exports it as gauges. Each collector has its own file in this folder and
// an entry in `collectors.ts`. The configuration options, the reference documentation, the doctor's checks and the sources page are all derived from
// these entries.
import { segmentOf } from '../rest/api.ts'
import { PlatformError, type PlatformErrorKind } from '../port.ts'
import type { Asking } from '../port/asking.ts'
import type { Millis } from '../../model/instant.ts'
import type { Collected, CollectedPoint, Owner, OwnerKind } from '../../model/inventory.ts'

export interface CollectorHead {
  /** The collector's key under `inventory` in the configuration, such as `agents`. */
  readonly kind: string
  /** What the configuration lists for this collector: projects, groups or both. */
  readonly of: OwnerKind
  /** True if the list in the configuration may also contain `*`, which stands for the whole instance. */
  readonly hasInstance?: boolean
  /** A sentence that describes what the collector reports. */
  readonly description: string
  /** The API paths that the collector reads. The reference documentation lists them. */
  readonly paths: readonly string[]
  /** Interval from the start of one collection round to the start of the next, ms. */
  readonly every: Millis
  /** A formula for the number of requests in a collection round, such as `1 + agents + tokens`. The reference documentation shows it. */
  readonly requests: string
  /** The role that the token's user needs. */
  readonly role: string
}

/** A collector's requests, and the gauges that are built from the responses. */
interface CollectorRow<Answer> extends CollectorHead {
  /** Minimum number of requests in one collection round. Default: 1. */
  readonly atLeast?: number
  /** Sends the requests. Returns the data from which `metrics` computes the data points, and all other fields of `Collected`. */
  readonly read: (round: Round) => Promise<Answer & Omit<Collected, 'points'>>
  readonly metrics: readonly MetricRow<Answer>[]
}

interface MetricRow<Answer> extends Omit<InventoryMetric, 'number' | 'attributes'> {
  /** The type of the metric's values. Default: `double` for seconds, otherwise `int`. */
  readonly number?: 'int' | 'double'
  /** The names of the metric's attributes. By default the metric has none. */
  readonly attributes?: readonly string[]
  /**
   * Each data point consists of its value and its attribute values, in the order of `attributes`. Points and attributes without a value are omitted.
   */
  readonly points: (answer: Answer) => readonly Point[]
}

type Point = readonly [value: CollectedPoint['value'] | undefined, ...attributes: (string | boolean | undefined)[]]

export interface InventoryMetric {
  /**
   * The name of the metric. It is either a name from the semantic conventions, or it begins with `platform.`, which is replaced by the profile's
   * namespace.
   */
  readonly name: string
  /** The instrument type. By default the metric is a gauge. */
  readonly type?: 'updowncounter'
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
  readonly attributes: readonly string[]
}

/** One collection round for a project, a group or the whole instance. */
export interface Round {
  readonly ask: Asking
  readonly owner: Owner
  /** The path of the project or group under the API's base URL; empty for the instance. */
  readonly path: string
  readonly now: Millis
  /** JSON that the previous collection round stored. A collector ignores it if it cannot be parsed. */
  readonly memory: unknown
}

export interface Collector extends CollectorHead {
  readonly atLeast: number
  readonly metrics: readonly InventoryMetric[]
  readonly collect: (round: Omit<Round, 'path'>) => Promise<Collected>
}

export function collector<Answer extends object>({ read, ...row }: CollectorRow<Answer>): Collector {
  const metrics = row.metrics.map(({ unit, number = unit === 's' ? 'double' : 'int', attributes = [], ...one }) => ({
    ...{ ...one, unit, number, attributes },
  }))
  return {
    ...{ atLeast: 1, ...row, metrics },
    collect: async round => {
      const answer = await read({ ...round, path: pathOf(round.owner) })
      const { omitted, events, problem, memory, continueInMs } = answer
      const points = metrics.flatMap(({ name, attributes, points: pointsOf }) =>
        pointsOf(answer).flatMap(([value, ...values]): CollectedPoint[] => {
          const known = attributes.flatMap((key, at) => {
            const own = values[at]
            return own === undefined ? [] : [[key, own] as const]
          })
          return value === undefined ? [] : [{ metric: name, attributes: Object.fromEntries(known), value }]
        }),
      )
      return { points, omitted, events, problem, memory, continueInMs }
    },
  }
}

/** The value of a data point that is exported as a duration: the time since or until an instant. */
export function since(at: Millis | undefined): Point[0] {
  return at === undefined ? undefined : { since: at }
}

export function until(at: Millis | undefined): Point[0] {
  return at === undefined ? undefined : { until: at }
}

/** The entry in a configured list that stands for the whole instance. */
export const wholeInstance = '*'

function pathOf({ project, group }: Owner): string {
  if (project !== undefined) return `/projects/${project.id}`
  return group === undefined ? '' : `/groups/${segmentOf(group.path)}`
}

/**
 * Returns the response, or undefined if the platform responds with an error of one of these kinds. For example, an object may have been deleted since
 * it was listed, or may require a higher role.
 */
export async function unless<T>(kinds: readonly PlatformErrorKind[], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PlatformError && kinds.includes(error.kind)) return undefined
    throw error
  }
}

/** The error kinds for objects that do not exist or are not visible to the token. */
export const hiddenKinds = ['not-found', 'forbidden'] as const

export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour
