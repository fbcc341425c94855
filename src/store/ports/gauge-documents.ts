// What was found when something on the platform was last asked about, as points of gauges: one document for each thing that is asked,
// so that whichever replica sends the metrics knows it, and a restart leaves no gap.
import { z } from 'zod'
import type { Millis } from '../../model/instant.ts'

const point = z.object({
  /** Vendor names under `platform.`. */
  metric: z.string(),
  /** In the order in which they are exported; vendor names under `platform.`. */
  attributes: z.record(z.string(), z.union([z.string(), z.boolean()])),
  /** A value; or an instant in ms, of which the gauge says for how many seconds it is over, or how many are left until it. */
  value: z.union([
    z.number(),
    z.object({ since: z.number() }),
    z.object({ until: z.number() }),
    // A histogram of all since it began; its metric is declared as one.
    z.object({ began: z.number(), bounds: z.array(z.number()), counts: z.array(z.number()), sum: z.number() }),
  ]),
})
export type GaugePoint = z.infer<typeof point>

export const gaugeReading = z.object({
  instance: z.string(),
  /** Who asked: `agents`, `feature_flags`, … */
  kind: z.string(),
  /** What it was asked about: the path of a project or a group, or a name from the configuration. */
  of: z.string(),
  /** The profile that names the attributes. */
  profile: z.string(),
  project: z
    .object({
      id: z.number(),
      name: z.string().optional(),
      path: z.string().optional(),
      webUrl: z.string().optional(),
      defaultBranch: z.string().optional(),
    })
    .optional(),
  /** Path of the group, where it is about no project. */
  group: z.string().optional(),
  /** When the platform answered; the store's time. */
  at: z.number(),
  /** For so long it may be sent, ms: what is older is left out, so that nobody takes it for today's. */
  goodFor: z.number(),
  points: z.array(point),
})
export type GaugeReading = z.infer<typeof gaugeReading>

/** True while it may be sent. One from a time to come was written by a clock that was ahead: it counts as new. */
export function isGood({ at, goodFor }: Pick<GaugeReading, 'at' | 'goodFor'>, now: Millis): boolean {
  return now - at <= goodFor
}
