// The stored state of ingest tokens: which tokens daemons use, and how far rotations have come. Token values are never stored.
import { z } from 'zod'
import { documentKind } from '../../core/store/ports/repository.ts'

/** The fingerprints (`fingerprintOf`) of the tokens that a running daemon uses. */
const daemonReport = z.object({
  /** Host, process and a random part. */
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

/** In order. A step that ends in -ing is written to the journal before it is done, any other one after. */
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
  /** The ids of all tokens before the creation. */
  before: z.array(z.string()),
  /** True if there are tokens of this name that, as far as is known, were never in this target. */
  shared: z.boolean(),
  /** The new token, from `created` on. */
  token: heldToken.required({ fingerprint: true }).optional(),
  /** When the target was written, Unix ms. */
  writtenAt: z.number().optional(),
  history: z.array(z.object({ step: z.string(), at: z.number() })),
})
export type RotationUnderWay = z.infer<typeof rotationUnderWay>

/** A target's journal: a file beside the target, and a copy in the store. */
export const rotationJournal = z.object({
  version: z.literal(1),
  /** Grows with every change, so the newer copy has the higher revision. */
  revision: z.number(),
  /** As given to `--target`. */
  target: z.string(),
  /** The observability instance that the ids belong to. */
  instance: z.string(),
  /** The token in the target, if its id is known. */
  current: heldToken.optional(),
  /** Earlier tokens, to be revoked when all daemons use the newest one. */
  older: z.array(heldToken),
  /** The rotation under way, or one that was interrupted. */
  rotation: rotationUnderWay.optional(),
})
export type RotationJournal = z.infer<typeof rotationJournal>

/** The history of rotations, for people; rewritten with each step. */
const rotationRecord = z.object({
  id: z.string(),
  target: z.string(),
  name: z.string(),
  startedAt: z.number(),
  updatedAt: z.number(),
  /** The journal's step, or how the rotation ended. */
  state: z.string(),
  tokenId: z.string().optional(),
  fingerprint: z.string().optional(),
})
export type RotationRecord = z.infer<typeof rotationRecord>

/** Written by each daemon. */
export const daemonReports = documentKind('daemon', daemonReport, ['daemon'])
/** Written by `pipespan tokens rotate`. */
export const journals = documentKind('rotation/journal', rotationJournal, ['target'])
export const rotations = documentKind('rotation/record', rotationRecord, ['id'])
