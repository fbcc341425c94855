// What discovery remembers: how far the poller, the sweeps and backfills have come, what the platform's records of its hooks
// showed, and what is left of the API budget. Times are the platform's, but where the store's are named.
import { z } from 'zod'

export const polledProject = z.object({
  instance: z.string(),
  /** How it is asked for: its id, or the path the operator gave. */
  project: z.union([z.number(), z.string()]),
  path: z.string().optional(),
  /** All changes before this have been seen. */
  seen: z.number(),
  childrenSeen: z.number(),
  /** The last change of anything in it. */
  ranAt: z.number(),
  /** Pipelines under way, and when they were last seen to change. */
  active: z.array(z.tuple([z.number(), z.number()])),
})
export type PolledProject = z.infer<typeof polledProject>

/** Of the pipelines that the token's own user started. */
export const ownPipelines = z.object({
  instance: z.string(),
  /** Creation of the newest one seen. */
  newest: z.number(),
  /** Creation of the oldest one under way; absent when none is. */
  oldestActive: z.number().optional(),
})
export type OwnPipelines = z.infer<typeof ownPipelines>

export const sweep = z.object({
  instance: z.string(),
  group: z.string(),
  startedAt: z.number(),
  /** Changes before this were seen by the sweep before. */
  since: z.number(),
  /** The page of projects that comes next; absent at the first one. */
  next: z.string().optional(),
  /** Projects seen by this sweep so far. */
  count: z.number(),
  /** Projects of the sweep before; absent during the first one. */
  before: z.number().optional(),
  done: z.boolean(),
})
export type Sweep = z.infer<typeof sweep>

/** A hook of the platform that leads here. */
export const watchedHook = z.object({
  instance: z.string(),
  kind: z.enum(['project', 'group']),
  id: z.number(),
  /** The project or group, as configured: its id or path. */
  owner: z.string(),
  /** The newest of its deliveries that was read for what failed; 0 while nothing is redelivered. */
  newest: z.number(),
  /** The newest that was counted, where that is a newer one. */
  counted: z.number().optional(),
  /** As the platform calls it: `executable`, `temporarily_disabled`, `disabled`. */
  state: z.string().optional(),
  /** While it is switched off for now: until when. */
  disabledUntil: z.number().optional(),
  /** How long its deliveries took since it was first looked at, in buckets of seconds. */
  durations: z.object({ began: z.number(), counts: z.array(z.number()), sum: z.number() }).optional(),
  /** When something new was last found; the store's time. */
  lastDeliveryAt: z.number().optional(),
  /** Deliveries since it was first looked at, by HTTP status, or `no answer`. */
  answers: z.record(z.string(), z.number()),
})
export type WatchedHook = z.infer<typeof watchedHook>

/** One under way. */
export const backfill = z.object({
  instance: z.string(),
  /** Derived from what it was asked to look over: the same command goes on with it. */
  name: z.string(),
  since: z.number(),
  until: z.number(),
  startedAt: z.number(),
  /** Projects up to this id are done. */
  after: z.number(),
  /** How far the next one has been read. */
  seen: z.number().optional(),
})
export type Backfill = z.infer<typeof backfill>

/** See `platform/rest/budget.ts` for how it is reckoned; the store's times. */
export const apiBudget = z.object({
  /** The token's fingerprint. */
  account: z.string(),
  tokens: z.number(),
  at: z.number(),
  pausedUntil: z.number().optional(),
  announced: z.object({ remaining: z.number(), until: z.number() }).optional(),
})
export type ApiBudget = z.infer<typeof apiBudget>
