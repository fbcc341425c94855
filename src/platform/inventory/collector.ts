// Declares a collector: it reads one kind of thing from the platform and exports it as gauges. Each collector has a file beside this one and a row in
// `collectors.ts`. The options, the reference, the doctor and the sources page are made from these rows.
import { segmentOf } from '../rest/api.ts'
import { PlatformError, type PlatformErrorKind } from '../port.ts'
import type { Asking } from '../rest/api.ts'
import type { Millis } from '../../model/instant.ts'
import type { Collected, CollectedPoint, Owner, OwnerKind } from '../../model/inventory.ts'

export interface CollectorHead {
  /** The collector's key below `inventory` in the configuration, such as `agents`. */
  readonly kind: string
  /** What the configuration lists for this collector: projects, groups or both. */
  readonly of: OwnerKind
  /** True if the list may also contain `*`: the whole instance. */
  readonly hasInstance?: boolean
  /** A sentence that says what the collector reports. */
  readonly description: string
  /** The API paths that the collector reads, for the reference. */
  readonly paths: readonly string[]
  /** Interval between the starts of two rounds, ms. */
  readonly every: Millis
  /** How many requests one round sends, as the reference shows it: `1 + agents + tokens`. */
  readonly requests: string
  /** Minimum number of requests in one round. */
  readonly atLeast: number
  /** The role that the token's user needs. */
  readonly role: string
  readonly metrics: readonly InventoryMetric[]
}

export interface Collector extends CollectorHead {
  readonly collect: (round: Round) => Promise<Collected>
}

export interface InventoryMetric {
  /** A convention's name, or one that begins with `platform.`, which is replaced by the profile's namespace. */
  readonly name: string
  /** Default: a gauge. */
  readonly type?: 'updowncounter'
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
  /** Names of the metric's attributes. */
  readonly attributes: readonly string[]
}

/** One reading of one project or group. */
export interface Round {
  readonly ask: Asking
  readonly owner: Owner
  readonly now: Millis
  /** JSON that the previous round stored. A collector ignores JSON that it cannot parse. */
  readonly memory: unknown
}

export function point(
  metric: string,
  value: CollectedPoint['value'],
  attributes: CollectedPoint['attributes'] = {},
): CollectedPoint {
  return { metric, attributes, value }
}

/** The list entry that names the whole instance. */
export const wholeInstance = '*'

/** The path of a project or group below the API's base; empty for the instance. */
export function pathOf({ project, group }: Owner): string {
  if (project !== undefined) return `/projects/${project.id}`
  return group === undefined ? '' : `/groups/${segmentOf(group.path)}`
}

/** Undefined if the answer is an error of one of these kinds: a thing may be deleted after it was listed, or need a higher role. */
export async function unless<T>(kinds: readonly PlatformErrorKind[], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PlatformError && kinds.includes(error.kind)) return undefined
    throw error
  }
}

/** The kinds of errors for things that do not exist, or are not shown to the token. */
export const hidden = ['not-found', 'forbidden'] as const

export const minute = 60_000
export const hour = 60 * minute
