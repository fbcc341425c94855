// The platform's last response for each inventory item, as gauge points. The points are stored, so that any replica can send the metrics, and so that
// a restart leaves no gap.
import { z } from 'zod'
import { namesAny } from '../../../lib/named-paths.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Scope } from './scope.ts'

const point = z.object({
  /** The name of the metric. Vendor-specific names start with `platform.`. */
  metric: z.string(),
  /** The attributes in export order. Vendor-specific names start with `platform.`. */
  attributes: z.record(z.string(), z.union([z.string(), z.boolean()])),
  value: z.union([
    z.number(),
    // An instant in ms. The value of the gauge is the number of seconds since or until the instant, at the time of sending.
    z.object({ since: z.number() }),
    z.object({ until: z.number() }),
    // A cumulative histogram. Its metric is also declared as a histogram.
    z.object({ began: z.number(), bounds: z.array(z.number()), counts: z.array(z.number()), sum: z.number() }),
  ]),
})
export type GaugePoint = z.infer<typeof point>

/** The facts about a project that metrics show. */
export const shownProject = z.object({
  id: z.number(),
  name: z.string().optional(),
  path: z.string().optional(),
  webUrl: z.string().optional(),
  defaultBranch: z.string().optional(),
})

export const gaugeReading = z.object({
  instance: z.string(),
  /** The kind of inventory item, which is the name of its collector: `agents`, `feature_flags`, … */
  kind: z.string(),
  /** The subject of the request: the path of a project or a group, or a name from the configuration. */
  of: z.string(),
  /** The profile that determines the names of the attributes. */
  profile: z.string(),
  project: shownProject.optional(),
  /** The path of the group, if the reading does not belong to a project. */
  group: z.string().optional(),
  /** When the platform responded, on the store's clock. */
  at: z.number(),
  /** How long the reading may be sent, in ms. An old reading must not be mistaken for a current one. */
  goodFor: z.number(),
  points: z.array(point),
})
export type GaugeReading = z.infer<typeof gaugeReading>

/**
 * Returns the points of a reading, without points that name a project outside the scope. The result of a configured query may contain such points.
 */
export function pointsWithin({ sees }: Scope, { instance, points }: GaugeReading): GaugePoint[] {
  const isHidden = (path: string): boolean => !sees({ instance, path })
  return points.filter(
    ({ attributes }) =>
      !Object.values(attributes).some(value => typeof value === 'string' && namesAny(value, isHidden)),
  )
}

/** True while a reading may be sent. If its time is in the future, it was written while a clock was ahead, and it counts as new. */
export function isGood({ at, goodFor }: Pick<GaugeReading, 'at' | 'goodFor'>, now: Millis): boolean {
  return now - at <= goodFor
}

// The state of one inventory item: when it is due next, why requests for it were rejected, and the state that one round passes to the next. It is
// shown on a page.

/** The state of an inventory item. Its times are on the store's clock. */
export const inventoryState = z.object({
  instance: z.string(),
  /** The name of the collector, such as `agents`; `query` for a configured query. */
  kind: z.string(),
  /** The project, group or query, as it is named in the configuration. */
  of: z.string(),
  /** The project or group as the platform reports it, and when it was looked up. It is looked up again once a day. */
  owner: z.object({ project: shownProject.optional(), group: z.object({ path: z.string() }).optional() }).optional(),
  ownerAt: z.number().optional(),
  answeredAt: z.number().optional(),
  /** The number of points in the last response beyond the maximum. They are not exported. */
  omitted: z.number().optional(),
  nextAt: z.number(),
  /** The number of consecutive failed rounds. */
  failures: z.number(),
  /** Why the last round failed, or which data its responses lacked. */
  refusal: z
    .object({
      status: z.number().optional(),
      /** A message that states the problem and how to fix it. */
      message: z.string(),
      /** Whether the problem is permanent. If so, the request is retried only once a day. */
      lasts: z.boolean(),
    })
    .optional(),
  /** The state that the last round passes to the next round. */
  memory: z.unknown().optional(),
})
export type InventoryState = z.infer<typeof inventoryState>

// The recent gauge series of active runs and jobs. After a series has ended, the replica that flushes sends it as 0 for a while.

const owner = {
  key: z.object({ instance: z.string(), projectId: z.number() }),
  project: shownProject,
}

export const recentRuns = z.object({
  /** The time since which runs are counted, on the store's clock. */
  since: z.number(),
  seen: z.array(
    z.object({
      runs: z.object({
        ...owner,
        name: z.string().optional(),
        status: z.string(),
        count: z.number(),
      }),
      /** When the series last had an active run. */
      at: z.number(),
    }),
  ),
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
  /** The jobs that have waited longest, each with the time at which it began to wait. */
  pending: z.array(z.object({ instance: z.string(), job: z.number(), since: z.number() })).optional(),
})
export type RecentRuns = z.infer<typeof recentRuns>
