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

/** Its points that name no project which the scope does not see, as the result of a query may. */
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
