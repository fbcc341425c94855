// What is remembered of ingest tokens, never a token's value: which ones daemons use, and how far rotations have come.
import { z } from 'zod'

/** Which tokens a running daemon sends, by `fingerprintOf`. */
export const daemonReport = z.object({
  /** Names the daemon: host, process and a random part. */
  daemon: z.string(),
  fingerprints: z.array(z.string()),
  /** The store's time. */
  at: z.number(),
})
export type DaemonReport = z.infer<typeof daemonReport>

const heldToken = z.object({
  id: z.string(),
  /** Undefined for adopted tokens: their values were never seen. */
  fingerprint: z.string().optional(),
  /** When it was created, or adopted; Unix ms. */
  since: z.number(),
})
export type HeldToken = z.infer<typeof heldToken>

/** In the order of the sequence; each stands in the journal before or after its step is taken. */
export const rotationSteps = [
  'creating',
  'created',
  'writing',
  'written',
  'proved',
  'waiting',
  'seen',
  'revoking',
] as const
export type RotationStep = (typeof rotationSteps)[number]

const rotationUnderWay = z.object({
  id: z.string(),
  name: z.string(),
  startedAt: z.number(),
  step: z.enum(rotationSteps),
  /** Every token listed before the creation. */
  before: z.array(z.string()),
  /** True when tokens of this name were listed that this target is not known to have held. */
  shared: z.boolean(),
  /** The new token, from `created` on. */
  token: heldToken.required({ fingerprint: true }).optional(),
  /** When the target was written, Unix ms. */
  writtenAt: z.number().optional(),
  history: z.array(z.object({ step: z.string(), at: z.number() })),
})
export type RotationUnderWay = z.infer<typeof rotationUnderWay>

/** A target's journal: it stands beside the target, and a copy of it in the store. */
export const rotationJournal = z.object({
  version: z.literal(1),
  /** Grows with every change: of two copies the higher one is newer. */
  revision: z.number(),
  /** As given to `--target`. */
  target: z.string(),
  /** The observability instance that the ids belong to. */
  instance: z.string(),
  /** The token in the target, as far as its id is known. */
  current: heldToken.optional(),
  /** Held before, to be revoked as soon as the newest one is in use everywhere. */
  older: z.array(heldToken),
  /** The rotation under way, or the one that died. */
  rotation: rotationUnderWay.optional(),
})
export type RotationJournal = z.infer<typeof rotationJournal>

/** A rotation as it is remembered: replaced as it goes on. */
export const rotationRecord = z.object({
  id: z.string(),
  target: z.string(),
  name: z.string(),
  startedAt: z.number(),
  updatedAt: z.number(),
  /** The journal's step, or how it ended. */
  state: z.string(),
  tokenId: z.string().optional(),
  fingerprint: z.string().optional(),
})
export type RotationRecord = z.infer<typeof rotationRecord>
