// A collector reads one kind of thing that the platform has and exports it as gauges. Each is a file beside this one and a row of `collectors.ts`,
// from which the options, the reference, the doctor and the sources page are made.
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

/** What was configured, as the platform knows it. */
export type Owner =
  | { readonly project: ProjectFacts; readonly group?: undefined }
  | { readonly group: { readonly path: string }; readonly project?: undefined }

export interface Collected {
  readonly points: readonly CollectedPoint[]
  /** Points that were left out, because there are more than are exported. */
  readonly omitted?: number | undefined
  /** Something to be exported once, as a log record. */
  readonly event?: CollectedEvent | undefined
  /** Plain JSON, for the next round. */
  readonly memory?: unknown
  /** The round continues after so many ms; until then the points of the round before stay. */
  readonly goesOnIn?: Millis | undefined
}

export interface CollectedPoint {
  readonly metric: string
  readonly attributes: Readonly<Record<string, string | boolean>>
  /** A number; or an instant, exported as the seconds since it or until it. */
  readonly value: number | { readonly since: Millis } | { readonly until: Millis }
}

export interface CollectedEvent {
  /** Identifies it, also if it is exported again after a kill. */
  readonly key: string
  readonly name: string
  readonly body: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
}

/** Points of one round that are exported. */
export const maxPoints = 10_000

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
