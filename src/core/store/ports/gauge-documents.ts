// The platform's last answer for each inventory item, as points of gauges. Stored, so that any replica can send
// the metrics, and a restart leaves no gap.
import { z } from 'zod'
import { namesAny } from '../../../lib/named-paths.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Scope } from './scope.ts'

const point = z.object({
  /** Vendor names under `platform.`. */
  metric: z.string(),
  /** In the order in which they are exported; vendor names under `platform.`. */
  attributes: z.record(z.string(), z.union([z.string(), z.boolean()])),
  value: z.union([
    z.number(),
    // Instants in ms: the gauge is the number of seconds since or until then, at the time of sending.
    z.object({ since: z.number() }),
    z.object({ until: z.number() }),
    // A cumulative histogram; its metric is declared as one.
    z.object({ began: z.number(), bounds: z.array(z.number()), counts: z.array(z.number()), sum: z.number() }),
  ]),
})
export type GaugePoint = z.infer<typeof point>

/** What metrics show of a project. */
export const shownProject = z.object({
  id: z.number(),
  name: z.string().optional(),
  path: z.string().optional(),
  webUrl: z.string().optional(),
  defaultBranch: z.string().optional(),
})

export const gaugeReading = z.object({
  instance: z.string(),
  /** The collector: `agents`, `feature_flags`, … */
  kind: z.string(),
  /** What was asked about: the path of a project or a group, or a name from the configuration. */
  of: z.string(),
  /** The profile that names the attributes. */
  profile: z.string(),
  project: shownProject.optional(),
  /** Path of the group, if it is about no project. */
  group: z.string().optional(),
  /** When the platform answered; the store's time. */
  at: z.number(),
  /** How long it may be sent, ms: an old answer must not be taken for a current one. */
  goodFor: z.number(),
  points: z.array(point),
})
export type GaugeReading = z.infer<typeof gaugeReading>

/** Its points, without those that name a project outside the scope, as the result of a query may. */
export function pointsWithin({ sees }: Scope, { instance, points }: GaugeReading): GaugePoint[] {
  const isHidden = (path: string): boolean => !sees({ instance, path })
  return points.filter(
    ({ attributes }) =>
      !Object.values(attributes).some(value => typeof value === 'string' && namesAny(value, isHidden)),
  )
}

/** True while it may be sent. An answer from the future was written while a clock was ahead, and counts as new. */
export function isGood({ at, goodFor }: Pick<GaugeReading, 'at' | 'goodFor'>, now: Millis): boolean {
  return now - at <= goodFor
}

// The state of one thing that is requested: when it is due next, what was refused, and what one round passes to the next. A page shows it.

/** The store's times. */
export const inventoryState = z.object({
  instance: z.string(),
  /** The collector: `agents`, …; `query` for a configured query. */
  kind: z.string(),
  /** The project, group or query, as configured. */
  of: z.string(),
  /** The project or group as the platform reports it, and when that was: it is looked up again once a day. */
  owner: z.object({ project: shownProject.optional(), group: z.object({ path: z.string() }).optional() }).optional(),
  ownerAt: z.number().optional(),
  /** When the platform answered last. */
  answeredAt: z.number().optional(),
  /** Points of the last answer beyond the maximum, which are not exported. */
  omitted: z.number().optional(),
  /** When it is due. */
  nextAt: z.number(),
  /** Rounds without an answer in a row. */
  failures: z.number(),
  /** Why the last round had no answer, or what its answers lacked. */
  refusal: z
    .object({
      status: z.number().optional(),
      /** What is wrong, and what would help. */
      message: z.string(),
      /** It will not pass by itself, so the request is tried only once a day. */
      lasts: z.boolean(),
    })
    .optional(),
  /** What the last round passes to the next. */
  memory: z.unknown().optional(),
})
export type InventoryState = z.infer<typeof inventoryState>

// The recent series of the gauges of active runs and jobs: a series that ended is sent as 0 for a while by the replica that flushes.

const owner = {
  key: z.object({ instance: z.string(), projectId: z.number() }),
  project: shownProject,
}

export const recentRuns = z.object({
  /** Since when runs are counted; the store's times. */
  since: z.number(),
  seen: z.array(
    z.object({
      runs: z.object({
        ...owner,
        name: z.string().optional(),
        status: z.string(),
        count: z.number(),
      }),
      /** When it last had a run. */
      at: z.number(),
    }),
  ),
  /** The series of active jobs. */
  jobs: z
    .array(
      z.object({
        jobs: z.object({
          ...owner,
          state: z.enum(['pending', 'running']),
          workerType: z.string().optional(),
          tagSet: z.string().optional(),
          count: z.number(),
          oldest: z.number().optional(),
        }),
        at: z.number(),
      }),
    )
    .optional(),
  /** The jobs that have waited longest, and since when. */
  pending: z.array(z.object({ instance: z.string(), job: z.number(), since: z.number() })).optional(),
})
export type RecentRuns = z.infer<typeof recentRuns>
