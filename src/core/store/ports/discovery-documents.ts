// The state of discovery: how far the poller and sweeps have come, what the platform's hook logs showed, and what is
// left of the API budget. Times are the platform's unless noted.
import { z } from 'zod'
import type { Millis } from '../../../model/instant.ts'

export const polledProject = z.object({
  instance: z.string(),
  /** Its id, or the path from the configuration. */
  project: z.union([z.number(), z.string()]),
  path: z.string().optional(),
  /** All changes before this have been read. */
  seen: z.number(),
  childrenSeen: z.number(),
  /** The latest change of any of its pipelines. */
  ranAt: z.number(),
  /** Ids of active pipelines, and when each was last seen to change. */
  active: z.array(z.tuple([z.number(), z.number()])),
})
export type PolledProject = z.infer<typeof polledProject>

/** The pipelines started by the token's own user. */
export const ownPipelines = z.object({
  instance: z.string(),
  /** When the newest one was created. */
  newest: z.number(),
  /** When the oldest active one was created. */
  oldestActive: z.number().optional(),
})

export const sweep = z.object({
  instance: z.string(),
  group: z.string(),
  startedAt: z.number(),
  /** Changes before this were read by the previous sweep. */
  since: z.number(),
  /** The next page of projects; absent before the first one. */
  next: z.string().optional(),
  /** Projects seen so far. */
  count: z.number(),
  /** Projects of the previous sweep; absent during the first one. */
  before: z.number().optional(),
  done: z.boolean(),
})
export type Sweep = z.infer<typeof sweep>

/** A webhook of the platform that posts to this daemon. */
export const watchedHook = z.object({
  instance: z.string(),
  kind: z.enum(['project', 'group']),
  id: z.number(),
  /** The project or group, as configured: its id or path. */
  owner: z.string(),
  /** Id of the newest delivery that was checked for a failure; 0 as long as nothing is redelivered. */
  newest: z.number(),
  /** Id of the newest delivery that was counted, if it is newer. */
  counted: z.number().optional(),
  /** Its state, as the platform names it: `executable`, `temporarily_disabled`, `disabled`. */
  state: z.string().optional(),
  /** Only of a temporarily disabled webhook. */
  disabledUntil: z.number().optional(),
  /** Histogram of how long its deliveries took since the first look, in seconds. */
  durations: z.object({ began: z.number(), counts: z.array(z.number()), sum: z.number() }).optional(),
  /** When a new delivery was last found; the store's time. */
  lastDeliveryAt: z.number().optional(),
  /** Number of deliveries since the first look by HTTP status, or `no answer`. */
  answers: z.record(z.string(), z.number()),
})
export type WatchedHook = z.infer<typeof watchedHook>

/** A token bucket, see `platform/rest/budget.ts`; the store's times. */
export const apiBudget = z.object({
  /** The token's fingerprint. */
  account: z.string(),
  tokens: z.number(),
  at: z.number(),
  pausedUntil: z.number().optional(),
  announced: z.object({ remaining: z.number(), until: z.number() }).optional(),
})
export type ApiBudget = z.infer<typeof apiBudget>

// Requests about jobs, bridges, the inside of jobs, or audit events that the platform refused, because it lacks the feature or
// the token lacks the permission. Stored for a day, so that they are not repeated in vain, and shown on a page.

/** The store's times. */
export const refusedEndpoint = z.object({
  instance: z.string(),
  /** `jobs` or `bridges` of pipelines, a `JobReadable`, `commits`, or `auditEvents` followed by their source. */
  what: z.string(),
  /** 0: all projects. */
  project: z.number(),
  /** Its full path, as last known; of audit events their source. */
  path: z.string().optional(),
  status: z.number().optional(),
  /** What is wrong, and what would help. */
  message: z.string(),
  /** Refusals in a row. */
  times: z.number(),
  /** Since when it is no longer requested; absent while it is requested. */
  since: z.number().optional(),
})
export type RefusedEndpoint = z.infer<typeof refusedEndpoint>

/** The prefix of `what` for audit events. */
export const auditEvents = 'audit events'

/** After this it is requested again, ms. */
export const refusedFor = 86_400_000

/** True while it is not requested because it was refused. */
export function isInForce(refused: RefusedEndpoint | undefined, now: Millis): boolean {
  const age = refused?.since === undefined ? undefined : now - refused.since
  return age !== undefined && age >= 0 && age < refusedFor
}
