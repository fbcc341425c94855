// What a collector is: one kind of thing that the platform has, asked about from time to time and exported as gauges. Each is a file of its
// own beside this one and a row of `collectors.ts`; the options, the reference, the doctor and the sources page are made from these rows.
import { segmentOf } from '../rest/query.ts'
import type { Asking } from '../rest/asking.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectFacts } from '../../model/observation.ts'

export interface CollectorHead {
  /** Its key below `inventory` in the configuration: `agents`. */
  readonly kind: string
  /** What its list in the configuration names. */
  readonly of: 'projects' | 'groups' | 'groups or projects'
  /** What it reports: a sentence. */
  readonly says: string
  /** Paths that it asks, for the reference. */
  readonly asks: readonly string[]
  /** From one round to the next, ms. */
  readonly every: Millis
  /** Requests of one round, in words, for people: `1 + agents + tokens`. */
  readonly requests: string
  /** The same without what it finds: what a round takes at least. */
  readonly atLeast: number
  /** What the token's user must be. */
  readonly role: string
  readonly metrics: readonly InventoryMetric[]
}

export interface Collector extends CollectorHead {
  readonly collect: (round: Round) => Promise<Collected>
}

export interface InventoryMetric {
  /** Vendor names under `platform.`. */
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
  /** What the round before left, as JSON; of a version that is not understood it is as if there were none. */
  readonly memory: unknown
}

/** What was configured, as the platform knows it. */
export type Owner =
  | { readonly project: ProjectFacts; readonly group?: undefined }
  | { readonly group: { readonly path: string }; readonly project?: undefined }

export interface Collected {
  readonly points: readonly CollectedPoint[]
  /** Something to be exported once, as a log record. */
  readonly event?: CollectedEvent | undefined
  /** Plain JSON, for the next round. */
  readonly memory?: unknown
  /** The round is not over: it goes on after so many ms, and the points are those of the round before. */
  readonly goesOnIn?: Millis | undefined
}

export interface CollectedPoint {
  readonly metric: string
  readonly attributes: Readonly<Record<string, string | boolean>>
  /** A value; or an instant, of which the gauge says for how many seconds it is over, or how many are left until it. */
  readonly value: number | { readonly since: Millis } | { readonly until: Millis }
}

export interface CollectedEvent {
  /** Distinguishes it from all others of what it is about, also when it is exported again after a kill. */
  readonly key: string
  readonly name: string
  readonly body: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
}

/** A point without attributes. */
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
