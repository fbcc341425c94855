// A collector reads one kind of thing that the platform has and exports it as gauges. Each is a file beside this one and a row of `collectors.ts`,
// from which the options, the reference, the doctor and the sources page are made.
import { segmentOf } from '../rest/query.ts'
import type { Asking } from '../rest/asking.ts'
import type { Millis } from '../../model/instant.ts'
import type { Collected, CollectedPoint, Owner, OwnerKind } from '../../model/inventory.ts'

export interface CollectorHead {
  /** Its key below `inventory` in the configuration: `agents`. */
  readonly kind: string
  /** What its list in the configuration names. */
  readonly of: OwnerKind
  /** What it reports: a sentence. */
  readonly description: string
  /** The API paths that it reads, for the reference. */
  readonly asks: readonly string[]
  /** Between two rounds, ms. */
  readonly every: Millis
  /** Requests of one round, for people: `1 + agents + tokens`. */
  readonly requests: string
  /** The least number of requests of a round. */
  readonly atLeast: number
  /** The role that the token's user needs. */
  readonly role: string
  readonly metrics: readonly InventoryMetric[]
}

export interface Collector extends CollectorHead {
  readonly collect: (round: Round) => Promise<Collected>
}

export interface InventoryMetric {
  /** With the prefix `platform.`, which stands for the profile's namespace. */
  readonly name: string
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
  /** Names of its attributes. */
  readonly attributes: readonly string[]
}

/** One round about one project or group. */
export interface Round {
  readonly ask: Asking
  readonly owner: Owner
  readonly now: Millis
  /** What the round before stored, as JSON. A collector ignores what it cannot parse. */
  readonly memory: unknown
}

export function point(
  metric: string,
  value: CollectedPoint['value'],
  attributes: CollectedPoint['attributes'] = {},
): CollectedPoint {
  return { metric, attributes, value }
}

/** The path of what is configured, below the API's base. */
export function pathOf({ project, group }: Owner): string {
  return project === undefined ? `/groups/${segmentOf(group.path)}` : `/projects/${project.id}`
}

export const minute = 60_000
export const hour = 60 * minute
