// The state of discovery: how far the poller and sweeps have read, what the platform's records of webhook deliveries showed, and how much of the API
// budget is left. Times are on the platform's clock unless noted.
import { z } from 'zod'
import type { Millis } from '../../../model/instant.ts'

export const polledProject = z.object({
  instance: z.string(),
  /** The id of the project, or its path from the configuration. */
  project: z.union([z.number(), z.string()]),
  path: z.string().optional(),
  /** The time up to which all changes of the project's pipelines, except child pipelines, have been read. */
  seen: z.number(),
  childrenSeen: z.number(),
  /** The time of the latest change of any pipeline in the project. */
  ranAt: z.number(),
  /** The ids of active pipelines, each with the time of its last observed change. */
  active: z.array(z.tuple([z.number(), z.number()])),
})
export type PolledProject = z.infer<typeof polledProject>

/** The polling state of the pipelines that the user of the token started. */
export const ownPipelines = z.object({
  instance: z.string(),
  /** When the newest pipeline of the token's user was created. */
  newest: z.number(),
  /** When the oldest active pipeline of the token's user was created. */
  oldestActive: z.number().optional(),
})

export const sweep = z.object({
  instance: z.string(),
  group: z.string(),
  startedAt: z.number(),
  /** The time up to which the previous sweep has read all changes. */
  since: z.number(),
  /** The next page of projects; absent before the first page has been read. */
  next: z.string().optional(),
  /** The number of projects read so far in this sweep. */
  count: z.number(),
  /** The number of projects in the previous sweep; absent during the first sweep. */
  before: z.number().optional(),
  done: z.boolean(),
})
export type Sweep = z.infer<typeof sweep>

/** A webhook of the platform that posts to this daemon. */
export const watchedHook = z.object({
  instance: z.string(),
  kind: z.enum(['project', 'group']),
  id: z.number(),
  /** The project or group of the webhook, as configured: its id or path. */
  owner: z.string(),
  /** The id of the newest delivery that was checked for a failure; 0 if failed deliveries are not taken in. */
  newest: z.number(),
  /**
   * The id of the newest delivery that was counted. It is set only if that delivery is newer than the newest delivery that was checked for a failure.
   */
  counted: z.number().optional(),
  /** The state of the webhook as the platform names it: `executable`, `temporarily_disabled`, `disabled`. */
  state: z.string().optional(),
  /** The time until which a temporarily disabled webhook is disabled; absent in other states. */
  disabledUntil: z.number().optional(),
  /** A histogram of the durations of the webhook's deliveries since the first round, in seconds. */
  durations: z.object({ began: z.number(), counts: z.array(z.number()), sum: z.number() }).optional(),
  /** When a new delivery was last found, on the store's clock. */
  lastDeliveryAt: z.number().optional(),
  /** The number of deliveries since the first round, by HTTP status. Those without a response are counted as `no answer`. */
  answers: z.record(z.string(), z.number()),
})
export type WatchedHook = z.infer<typeof watchedHook>

/** A token bucket for the API budget (`platform/rest/budget.ts`). Times are on the store's clock. */
export const apiBudget = z.object({
  /** The fingerprint of the API token. */
  account: z.string(),
  tokens: z.number(),
  at: z.number(),
  pausedUntil: z.number().optional(),
  announced: z.object({ remaining: z.number(), until: z.number() }).optional(),
})
export type ApiBudget = z.infer<typeof apiBudget>

// Requests that the platform rejected because it lacks the feature, or because the token lacks the permission. They concern jobs, bridges, job
// internals (such as logs), or audit events. They are stored for a day, so that they are not repeated in vain, and are shown on a page.

/** A rejected request. Its times are on the store's clock. */
export const refusedEndpoint = z.object({
  instance: z.string(),
  /**
   * The kind of data that was denied: `jobs` or `bridges` of pipelines, `commits`, a part of a job such as `log` or `tests`, or `audit events of` a
   * source.
   */
  what: z.string(),
  /** The id of the project; 0 means all projects. */
  project: z.number(),
  /** The last known full path of the project. For audit events it is their source. */
  path: z.string().optional(),
  status: z.number().optional(),
  /** A message that states the problem and how to fix it. */
  message: z.string(),
  /** The number of consecutive rejections. */
  times: z.number(),
  /** When requests for the data were stopped; absent while the data is still requested. */
  since: z.number().optional(),
})
export type RefusedEndpoint = z.infer<typeof refusedEndpoint>

/** The prefix of `what` for rejected requests for audit events. */
export const auditEvents = 'audit events'

/** The time in ms after which data that the platform denied is requested again. */
export const refusedFor = 86_400_000

/** True while the data is not requested because the platform denied it. */
export function isInForce(refused: RefusedEndpoint | undefined, now: Millis): boolean {
  const age = refused?.since === undefined ? undefined : now - refused.since
  return age !== undefined && age >= 0 && age < refusedFor
}
